// The verifier of the audit: whatever is done to the files of a clean audit is found: a flipped bit, a row that is gone, moved, doubled or cut.
import assert from 'node:assert/strict'
import { closeSync, ftruncateSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { openAudit } from '../../src/telemetry/audit.ts'
import { chainHash } from '../../src/telemetry/audit-row.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { AuditUnreadable, verifyAudit } from '../../src/telemetry/verify-audit.ts'
import { attemptEvent, callEvent, intentEvent, refusalEvent, resultEvent } from '../telemetry/events.ts'
import type { Count, Target } from './target.ts'

/** By name: the open file, and what stands in it when nothing was done to it. */
interface Kept { readonly file: number, readonly text: Buffer }

const root = { folder: '', keyFile: '', checkpointsFile: '', files: new Map<string, Kept>() }

/** Two processes, one after the other, each with a few rows of every kind. */
async function makeAudit (): Promise<() => Promise<void>> {
  const top = mkdtempSync(join(tmpdir(), 'aval-fuzz-audit-'))
  root.folder = join(top, 'audit')
  let publicKeyPem = ''
  for (const process of ['one', 'two']) {
    const audit = await openAudit({ folder: root.folder, keyId: 'hmac-1', metrics: createMetrics().audit, onFault: () => {} })
    publicKeyPem = audit.publicKeyPem
    audit.call(callEvent())
    audit.call(refusalEvent())
    await audit.intent(intentEvent(`att_${process}_1`))
    audit.call(resultEvent(`att_${process}_1`))
    await audit.intent(intentEvent(`att_${process}_2`))
    audit.attempt(attemptEvent(`att_${process}_2`))
    await audit.close()
  }
  // Kept elsewhere, as an auditor does.
  root.keyFile = join(top, 'key.pem')
  writeFileSync(root.keyFile, publicKeyPem)
  root.checkpointsFile = join(top, 'checkpoints')
  const checkpoints = readdirSync(root.folder).filter(name => name.includes('checkpoints'))
  writeFileSync(root.checkpointsFile, Buffer.concat(checkpoints.map(name => readFileSync(join(root.folder, name)))))
  for (const name of readdirSync(root.folder)) {
    if (name.endsWith('.jsonl')) root.files.set(name, { file: openSync(join(root.folder, name), 'r+'), text: readFileSync(join(root.folder, name)) })
  }
  assert.deepEqual((await verify(root.folder)).map(({ kind }) => kind), [], 'clean as it was written')
  return async () => {
    for (const { file } of root.files.values()) closeSync(file)
    root.files.clear()
    rmSync(top, { recursive: true, force: true })
  }
}

function write (file: number, bytes: Buffer): void {
  ftruncateSync(file, bytes.length)
  writeSync(file, bytes, 0, bytes.length, 0)
}

const verify = async (folder: string) => (await verifyAudit(folder, { publicKeyFile: root.keyFile, checkpointsFile: root.checkpointsFile })).findings

interface Harm {
  readonly kind: 'flip' | 'remove' | 'swap' | 'double' | 'cut' | 'insert' | 'rewrite' | 'rewrite_on'
  readonly file: number
  readonly at: number
  readonly by: number
}

const harms: fc.Arbitrary<Harm> = fc.record({
  kind: fc.oneof(
    { weight: 3, arbitrary: fc.constant<Harm['kind']>('flip') },
    { weight: 2, arbitrary: fc.constantFrom<Harm['kind']>('remove', 'swap', 'double', 'cut', 'insert', 'rewrite', 'rewrite_on') },
  ),
  file: fc.nat(99), at: fc.nat(1_000_000), by: fc.nat(1_000),
})

/** By somebody who knows how hashes are made: a row says something else, and it and those after it, up to the last, are hashed anew. */
function rewritten (lines: readonly string[], first: number, last: number): readonly string[] {
  const rows = lines.map(line => JSON.parse(line) as { [name: string]: unknown })
  // A file of checkpoints has no chain of hashes, but signatures.
  if (rows.some(row => typeof row['hash'] !== 'string')) return lines.toSpliced(first, 1)
  rows[first]!['time'] = new Date(Date.parse(rows[first]!['time'] as string) - 1).toISOString()
  for (let at = first; at <= last; at++) {
    const { hash: _hash, ...body } = { ...rows[at]!, ...(at === first ? {} : { prev: rows[at - 1]!['hash'] }) } as { [name: string]: unknown }
    rows[at] = { ...body, hash: chainHash(body['prev'] as string, canonicalize(body)!) }
  }
  return rows.map(row => canonicalize(row)!)
}

function harmed (text: Buffer, { kind, at, by }: Harm): Buffer {
  const lines = text.toString('latin1').split('\n').slice(0, -1)
  const line = at % lines.length
  const joined = (from: readonly string[]): Buffer => Buffer.from(from.map(one => `${one}\n`).join(''), 'latin1')
  switch (kind) {
    case 'flip': {
      const spoilt = Buffer.from(text)
      spoilt[at % text.length]! ^= 1 << (by % 8)
      return spoilt
    }
    case 'remove': return joined(lines.toSpliced(line, 1))
    case 'swap': {
      const other = (line + 1 + by % Math.max(1, lines.length - 1)) % lines.length
      return joined(lines.with(line, lines[other]!).with(other, lines[line]!))
    }
    case 'double': return joined(lines.toSpliced(line, 0, lines[line]!))
    case 'rewrite': return joined(rewritten(lines, line, line))
    case 'rewrite_on': return joined(rewritten(lines, line, lines.length - 1))
    case 'cut': return text.subarray(0, at % text.length)
    case 'insert': return Buffer.concat([text.subarray(0, at % text.length), Buffer.from([by % 256]), text.subarray(at % text.length)])
  }
}

export const auditVerifier: Target = {
  name: 'audit',
  holds: 'any flipped bit of an audit is found, and any row that is gone, moved, doubled, cut, put in or written anew',
  prepare: makeAudit,
  property: (count: Count) => fc.asyncProperty(harms, async harm => {
    const names = [...root.files.keys()]
    const name = names[harm.file % names.length]!
    const { file, text } = root.files.get(name)!
    const spoilt = harmed(text, harm)
    fc.pre(!spoilt.equals(text))
    write(file, spoilt)
    try {
      const findings = await verify(root.folder).catch((error: unknown) => {
        assert.ok(error instanceof AuditUnreadable, String(error))
        return [error]
      })
      assert.ok(findings.length > 0, `${harm.kind} in ${name} at ${harm.at % text.length} of ${text.length}`)
    } finally {
      write(file, text)
    }
    count(harm.kind)
  }),
  shortRuns: 150,
  least: { flip: 0.2, remove: 0.005, swap: 0.005, double: 0.005, cut: 0.005, insert: 0.005, rewrite: 0.005, rewrite_on: 0.005 },
}
