// `aval audit verify`: what verification found, in words, and the exit code that says it to a script.
import type { AuditFinding, AuditReport } from '../telemetry/verify-audit.ts'

export { AuditUnreadable, verifyAudit, type AuditFinding, type AuditReport } from '../telemetry/verify-audit.ts'

const TRUST_WARNING = 'The public key came from the folder itself, so whoever can write there can sign. Give --pubkey with a copy kept elsewhere.'

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
    ...(report.trust === 'key' ? [] : [TRUST_WARNING]),
  ]
}

function describeFinding ({ kind, writer, seq, file, message }: AuditFinding): string {
  // Most file names begin with the writer's.
  const foreign = file !== null && (writer === null || !file.startsWith(writer))
  return [kind, ...(writer === null ? [] : [writer]), ...(foreign ? [file] : []), ...(seq === null ? [] : [`row ${seq}`])].join(' ') + `: ${message}`
}

/** For `--json`. */
export function auditJson (report: AuditReport): string {
  return JSON.stringify({
    ok: report.findings.length === 0,
    trust: report.trust,
    rows: report.rows,
    findings: report.findings.map(({ attemptId, ...finding }) => ({ ...finding, attempt_id: attemptId })),
    writers: report.writers.map(({ writer, rows, state, firstTime, lastTime, checkpointedSeq }) =>
      ({ writer, rows, state, first_time: firstTime, last_time: lastTime, checkpointed_seq: checkpointedSeq })),
  })
}

const count = (n: number, word: string): string => `${n} ${word}${n === 1 ? '' : 's'}`
