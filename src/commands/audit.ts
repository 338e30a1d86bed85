// `aval audit verify`: what verification found, in words, and the exit code that says it to a script.
import type { AuditFinding, AuditReport } from '../telemetry/verify-audit.ts'

export { AuditUnreadable, verifyAudit, type AuditFinding, type AuditReport } from '../telemetry/verify-audit.ts'

/** 0: every row is as it was written and every write has an end. 1: there are findings. */
export function auditExitCode (report: AuditReport): 0 | 1 {
  return report.findings.length === 0 ? 0 : 1
}

/** Lines for a person: findings first, then the chains. */
export function describeAudit (report: AuditReport): readonly string[] {
  const { rows, writers, findings } = report
  return [
    ...findings.map(describeFinding),
    ...writers.map(({ writer, rows: own, state, checkpointedSeq, firstTime, lastTime }) =>
      `${writer}: ${count(own, 'row')}, ${state}, signed up to ${checkpointedSeq}${firstTime === null ? '' : `, ${firstTime} to ${lastTime}`}`),
    findings.length === 0
      ? `ok: ${count(rows, 'row')} in ${count(writers.length, 'chain')}`
      : `${count(findings.length, 'finding')} in ${count(rows, 'row')} of ${count(writers.length, 'chain')}`,
    ...(report.trust === 'key' ? [] : ['The public key was taken from the folder itself: whoever can write there can sign. Give --pubkey with a copy kept elsewhere.']),
  ]
}

function describeFinding ({ kind, writer, seq, file, message }: AuditFinding): string {
  const place = [writer, file !== null && !file.startsWith(writer ?? '\0') ? file : null, seq === null ? null : `row ${seq}`].filter(part => part !== null).join(' ')
  return `${kind} ${place}: ${message}`
}

/** For `--json`. */
export function auditJson (report: AuditReport): string {
  return JSON.stringify({
    ok: report.findings.length === 0,
    trust: report.trust,
    rows: report.rows,
    findings: report.findings.map(({ attemptId, ...finding }) => ({ ...finding, attempt_id: attemptId })),
    writers: report.writers.map(({ firstTime, lastTime, checkpointedSeq, ...writer }) => ({ ...writer, first_time: firstTime, last_time: lastTime, checkpointed_seq: checkpointedSeq })),
  })
}

const count = (n: number, word: string): string => `${n} ${word}${n === 1 ? '' : 's'}`
