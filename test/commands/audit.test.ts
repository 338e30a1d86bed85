import assert from 'node:assert/strict'
import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { generateKeyPairSync } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test, type TestContext } from 'node:test'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { auditExitCode, auditJson, AuditUnreadable, describeAudit, verifyAudit, type AuditReport } from '../../src/commands/audit.ts'
import { openAudit, type Audit } from '../../src/telemetry/audit.ts'
import { chainHash } from '../../src/telemetry/audit-row.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { attemptEvent, callEvent, intentEvent, refusalEvent, resultEvent } from '../telemetry/events.ts'

const openIn = (folder: string): Promise<Audit> => openAudit(
  { folder, keyId: 'hmac-1', metrics: createMetrics().audit, onFault: () => {}, segmentBytesMax: 2_500 },
)

async function work (audit: Audit, name: string): Promise<void> {
  for (let index = 0; index < 4; index += 1) {
    audit.call(refusalEvent())
    await audit.intent(intentEvent(`att_${name}_${index}`))
    audit.call(resultEvent(`att_${name}_${index}`))
    await audit.sync()
  }
}

/**
 * Three processes, one after the other: the first was closed, the second died with half a line behind its last row, the third was closed. Answers the
 * writers in this order.
 */
async function history (folder: string): Promise<string[]> {
  const first = await openIn(join(folder, 'live'))
  await work(first, 'a')
  await first.close()
  const second = await openIn(join(folder, 'live'))
  await work(second, 'b')
  // The folder as it is at the moment of death: what a process had in its memory is not in it.
  await cp(join(folder, 'live'), join(folder, 'audit'), { recursive: true })
  await second.close()
  const segments = (await readdir(join(folder, 'audit'))).filter(name => name.startsWith(second.writer) && name.endsWith('.jsonl')).sort()
  const last = join(folder, 'audit', segments.at(-1)!)
  await writeFile(last, `${await readFile(last, 'utf8')}{"action":{"def`)
  const third = await openIn(join(folder, 'audit'))
  await work(third, 'c')
  await third.close()
  return [first.writer, second.writer, third.writer]
}

let root = ''
let whole = ''
let writers: string[] = []

before(async () => {
  root = await mkdtemp(join(tmpdir(), 'aval-verify-'))
  writers = await history(root)
  whole = join(root, 'audit')
})
after(() => rm(root, { recursive: true, force: true }))

/** A copy of the history that a test may spoil. */
async function copy (t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'aval-spoiled-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await cp(whole, folder, { recursive: true })
  return folder
}

const filesOf = async (folder: string, ...endings: string[]): Promise<string[]> => (await readdir(folder)).filter(
  name => endings.some(ending => name.endsWith(ending)),
).sort()
const kindsOf = ({ findings }: AuditReport): string[] => findings.map(({ kind }) => kind)

/** What verification says of a folder with one file changed; the file is as it was afterwards. */
async function spoiled (folder: string, name: string, change: (bytes: Buffer) => Buffer): Promise<AuditReport | 'unreadable'> {
  const path = join(folder, name)
  const bytes = await readFile(path)
  await writeFile(path, change(Buffer.from(bytes)))
  try {
    return await verifyAudit(folder)
  } catch (error) {
    if (error instanceof AuditUnreadable) return 'unreadable'
    throw error
  } finally {
    await writeFile(path, bytes)
  }
}

const isFound = (report: AuditReport | 'unreadable'): boolean => report === 'unreadable' || report.findings.length > 0

describe('an audit that nobody touched', () => {
  test('is in order: a closed chain, one of a process that died, and another closed one', async () => {
    const report = await verifyAudit(whole)
    assert.deepEqual(report.findings, [])
    assert.deepEqual(
      report.writers.map(({ writer, state }) => [writer, state]), [[writers[0], 'closed'], [writers[1], 'recovered'], [writers[2], 'closed']],
    )
    assert.equal(auditExitCode(report), 0)
    assert.ok((await filesOf(whole, '.jsonl')).length > 6, 'the chains have several segments')
  })

  test('is told in words and as JSON', async () => {
    const report = await verifyAudit(whole)
    const lines = describeAudit(report)
    assert.ok(lines.some(line => line.startsWith(`ok: ${report.rows} rows in 3 chains`)))
    assert.ok(lines.some(line => line.includes('--pubkey')), 'a key from the folder itself is worth a warning')
    const parsed = JSON.parse(auditJson(report)) as { ok: boolean, rows: number, trust: string, writers: unknown[] }
    assert.deepEqual([parsed.ok, parsed.rows, parsed.trust, parsed.writers.length], [true, report.rows, 'folder', 3])
  })

  test('is in order with the key that was kept elsewhere, and no warning is given', async t => {
    const folder = await copy(t)
    const kept = join(folder, 'kept.pem')
    await rename(join(folder, 'checkpoint.pub'), kept)
    const report = await verifyAudit(folder, { publicKeyFile: kept })
    assert.deepEqual(report.findings, [])
    assert.ok(!describeAudit(report).some(line => line.includes('--pubkey')))
  })

  test('may still be written while it is verified', async t => {
    const folder = await copy(t)
    const audit = await openIn(folder)
    audit.call(callEvent())
    await audit.sync()
    const report = await verifyAudit(folder)
    assert.deepEqual(report.findings, [])
    assert.equal(report.writers.at(-1)!.state, 'open')
    await audit.close()
  })
})

describe('a change is found', () => {
  test('whatever single byte it changes, in rows or in checkpoints (F8)', async t => {
    const folder = await copy(t)
    const names = await filesOf(folder, '.jsonl', '.checkpoints')
    await fc.assert(fc.asyncProperty(fc.constantFrom(...names), fc.nat(), fc.integer({ min: 1, max: 255 }), async (name, at, mask) => {
      const report = await spoiled(folder, name, bytes => {
        bytes[at % bytes.length]! ^= mask
        return bytes
      })
      return isFound(report)
    }), { numRuns: 150 })
  })

  const lineChanges: Record<string, (lines: string[], at: number) => string[]> = {
    deletes: (lines, at) => lines.toSpliced(at, 1),
    repeats: (lines, at) => lines.toSpliced(at, 0, lines[at]!),
    'swaps with the next': (lines, at) => at + 1 < lines.length ? lines.with(at, lines[at + 1]!).with(at + 1, lines[at]!) : lines.toSpliced(at, 1),
    'edits and hashes anew': (lines, at) => lines.with(at, rehashed(lines[at]!)),
    'pads with a space': (lines, at) => lines.with(at, `${lines[at]!} `),
  }
  for (const [what, change] of Object.entries(lineChanges)) {
    test(`whatever line it ${what} (F8)`, async t => {
      const folder = await copy(t)
      const names = await filesOf(folder, '.jsonl')
      await fc.assert(fc.asyncProperty(fc.constantFrom(...names), fc.nat(), async (name, at) => {
        return isFound(await spoiled(folder, name, bytes => {
          const lines = bytes.toString('latin1').split('\n')
          const rest = lines.pop()!
          return Buffer.from([...change(lines, at % lines.length), rest].join('\n'), 'latin1')
        }))
      }), { numRuns: 30 })
    })
  }

  test('wherever it cuts a file off, in the middle of a line or between two (F8)', async t => {
    const folder = await copy(t)
    const names = await filesOf(folder, '.jsonl')
    await fc.assert(fc.asyncProperty(fc.constantFrom(...names), fc.nat(), fc.boolean(), async (name, at, between) => {
      return isFound(await spoiled(folder, name, bytes => {
        const cut = at % bytes.length
        return bytes.subarray(0, between ? bytes.subarray(0, cut).lastIndexOf(0x0a) + 1 : cut)
      }))
    }), { numRuns: 60 })
  })

  test('whatever file it takes away', async t => {
    const folder = await copy(t)
    for (const name of await filesOf(folder, '.jsonl')) {
      await rename(join(folder, name), join(folder, 'away'))
      assert.ok(isFound(await verifyAudit(folder)), name)
      await rename(join(folder, 'away'), join(folder, name))
    }
  })

  test('and the first bad row is named', async t => {
    const folder = await copy(t)
    const [name] = await filesOf(folder, '.jsonl')
    const report = await spoiled(folder, name!, bytes => Buffer.from(bytes.toString().replace('"seq":3,', '"seq":7,')))
    assert.ok(report !== 'unreadable')
    assert.deepEqual(
      report.findings.slice(0, 1).map(({ kind, writer, seq, file }) => ({ kind, writer, seq, file })),
      [{ kind: 'broken', writer: writers[0], seq: 3, file: name }],
    )
    assert.equal(auditExitCode(report), 1)
    assert.match(describeAudit(report)[0]!, /^broken \S+ row 3: /)
  })

  const firstBad: ReadonlyArray<readonly [string, (lines: string[]) => string[], string, number]> = [
    ['edited', lines => lines.with(3, lines[3]!.replace('"time":"20', '"time":"19')), 'broken', 4],
    ['edited and hashed anew, which the next does not follow', lines => lines.with(3, rehashed(lines[3]!)), 'broken', 5], ['deleted', lines => lines.toSpliced(3, 1), 'gap', 4],
    ['put before the one before it', lines => lines.with(2, lines[3]!).with(3, lines[2]!), 'gap', 3], ['repeated', lines => lines.toSpliced(3, 0, lines[2]!), 'gap', 4],
  ]
  for (const [what, change, kind, seq] of firstBad) {
    test(`and of a chain with a row that was ${what} the first bad row is named (F8)`, async t => {
      const folder = await copy(t)
      const [name] = await filesOf(folder, '.jsonl')
      const report = await spoiled(folder, name!, bytes => Buffer.from(change(bytes.toString().split('\n')).join('\n')))
      assert.ok(report !== 'unreadable')
      assert.deepEqual(report.findings.slice(0, 1).map(one => [one.kind, one.seq, one.writer]), [[kind, seq, writers[0]]])
    })
  }

  test('and a missing row is a gap', async t => {
    const folder = await copy(t)
    const [name] = await filesOf(folder, '.jsonl')
    const report = await spoiled(folder, name!, bytes => Buffer.from(bytes.toString().split('\n').toSpliced(2, 1).join('\n')))
    assert.ok(report !== 'unreadable')
    assert.deepEqual(report.findings.slice(0, 1).map(({ kind, seq }) => [kind, seq]), [['gap', 3]])
  })

  test('and rows cut off the end are truncated (F8)', async t => {
    const folder = await copy(t)
    const name = (await filesOf(folder, '.jsonl')).at(-1)!
    const report = await spoiled(folder, name, bytes => bytes.subarray(0, bytes.lastIndexOf(0x0a, bytes.length - 2) + 1))
    assert.ok(report !== 'unreadable')
    assert.deepEqual(kindsOf(report), ['truncated'])
  })

  test('and a chain that is gone is missed by the one that came after', async t => {
    const folder = await copy(t)
    for (const name of await readdir(folder)) if (name.startsWith(writers[0]!)) await rm(join(folder, name))
    assert.deepEqual(kindsOf(await verifyAudit(folder)), ['missing_writer'])
  })
})

describe('somebody who can write the folder but not sign', () => {
  /** The only segment of a chain, its first lines, and no checkpoint of it. */
  async function forge (folder: string, writer: string, change: (lines: string[]) => string[]): Promise<void> {
    await rm(join(folder, `${writer}.checkpoints`))
    const names = (await filesOf(folder, '.jsonl')).filter(name => name.startsWith(writer))
    const lines = (await Promise.all(names.map(name => readFile(join(folder, name), 'utf8')))).join('').split('\n').filter(line => line.endsWith('}'))
    for (const name of names.slice(1)) await rm(join(folder, name))
    await writeFile(join(folder, names[0]!), change(lines).map(line => `${line}\n`).join(''))
  }

  test('cannot write a chain anew: the one that came after has seen its head', async t => {
    const folder = await copy(t)
    await forge(folder, writers[0]!, rechained)
    assert.deepEqual(kindsOf(await verifyAudit(folder)), ['broken'])
  })

  test('cannot cut a chain and its checkpoints: the one that came after has seen more', async t => {
    const folder = await copy(t)
    await forge(folder, writers[0]!, lines => lines.slice(0, 5))
    assert.ok(kindsOf(await verifyAudit(folder)).includes('truncated'))
  })

  test('cannot keep the one that comes after from stating a chain that was cut', async t => {
    const folder = await mkdtemp(join(tmpdir(), 'aval-hushed-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const first = await openIn(folder)
    await work(first, 'a')
    await first.close()
    await forge(folder, first.writer, lines => lines.slice(0, 3))
    // As if a process had stated it already.
    const [name] = await filesOf(folder, '.jsonl')
    await writeFile(join(folder, `${first.writer}.stated`), JSON.stringify({ segment: 1, size: (await readFile(join(folder, name!))).length }))
    const second = await openIn(folder)
    await second.close()
    assert.ok(kindsOf(await verifyAudit(folder)).includes('unsealed'))
  })
})

/** Another history of the same length: each row follows from the one before, and its hash is right. */
function rechained (lines: string[]): string[] {
  let prev: string | null = null
  return lines.map(line => {
    const { hash: stated, ...body } = JSON.parse(line) as { hash: string, prev: string, code?: string }
    const changed: Record<string, unknown> = { ...body, prev: prev ?? body.prev, ...(body.code !== undefined && { code: 'OUT_OF_SCOPE' }) }
    const text = canonicalize(changed)!
    prev = chainHash(changed['prev'] as string, text)
    return canonicalize({ ...changed, hash: prev })!
  })
}

/** The row with another outcome and a hash that fits it: only its place in the chain and the checkpoints speak against it. */
function rehashed (line: string): string {
  const { hash: stated, ...body } = JSON.parse(line) as { hash: string, prev: string }
  const changed = { ...body, time: '2020-01-01T00:00:00.000Z' }
  return canonicalize({ ...changed, hash: chainHash(body.prev, canonicalize(changed)!) })!
}

describe('a folder that was rolled back whole', () => {
  async function rolledBack (t: TestContext): Promise<{ folder: string, kept: string }> {
    const folder = await copy(t)
    const kept = join(folder, 'kept.txt')
    await writeFile(kept, await readFile(join(folder, `${writers[2]}.checkpoints`)))
    // As if the third process had never been.
    for (const name of await readdir(folder)) if (name.startsWith(writers[2]!)) await rm(join(folder, name))
    return { folder, kept }
  }

  test('is found by checkpoints that were kept elsewhere (F8)', async t => {
    const { folder, kept } = await rolledBack(t)
    assert.ok(kindsOf(await verifyAudit(folder, { checkpointsFile: kept })).includes('missing_writer'))
  })

  test('to an earlier moment of a chain is found by them too (F8)', async t => {
    const folder = await copy(t)
    const kept = join(folder, 'kept.txt')
    const own = join(folder, `${writers[2]}.checkpoints`)
    const notes = await readFile(own, 'utf8')
    await writeFile(kept, notes)
    await writeFile(own, `${notes.split('\n').slice(0, 7).join('\n')}\n`)
    for (const [index, name] of (await filesOf(folder, '.jsonl')).filter(file => file.startsWith(writers[2]!)).entries()) {
      const bytes = await readFile(join(folder, name))
      if (index > 0) await rm(join(folder, name))
      else await writeFile(join(folder, name), `${bytes.toString().split('\n').slice(0, 2).join('\n')}\n`)
    }
    assert.deepEqual(kindsOf(await verifyAudit(folder)), [], 'nothing inside the folder speaks against it')
    assert.deepEqual(new Set(kindsOf(await verifyAudit(folder, { checkpointsFile: kept }))), new Set(['truncated']))
  })
})

describe('keys', () => {
  test('that are not the right ones are said to be unknown', async t => {
    const folder = await copy(t)
    const other = join(folder, 'other.pem')
    await writeFile(other, generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }))
    assert.deepEqual(new Set(kindsOf(await verifyAudit(folder, { publicKeyFile: other }))), new Set(['unknown_key']))
  })

  test('of another kind, or none, cannot verify anything', async t => {
    const folder = await copy(t)
    const other = join(folder, 'other.pem')
    await writeFile(other, generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ type: 'spki', format: 'pem' }))
    await assert.rejects(verifyAudit(folder, { publicKeyFile: other }), AuditUnreadable)
    await writeFile(other, 'no key')
    await assert.rejects(verifyAudit(folder, { publicKeyFile: other }), AuditUnreadable)
    await assert.rejects(verifyAudit(folder, { publicKeyFile: join(folder, 'none.pem') }), AuditUnreadable)
  })
})

describe('writes', () => {
  async function audited (t: TestContext, tell: (audit: Audit) => Promise<void>): Promise<AuditReport> {
    const folder = await mkdtemp(join(tmpdir(), 'aval-writes-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const audit = await openIn(folder)
    await tell(audit)
    await audit.close()
    return verifyAudit(folder)
  }

  test('that were about to leave and have no end are listed, with what was last heard of them', async t => {
    const report = await audited(t, async audit => {
      for (const id of ['att_ended', 'att_gone', 'att_unknown', 'att_escalated', 'att_resolved']) await audit.intent(intentEvent(id))
      audit.call(resultEvent('att_ended'))
      for (const id of ['att_unknown', 'att_escalated', 'att_resolved']) audit.call(resultEvent(id, { outcome: 'unknown', attemptState: 'unknown' }))
      audit.attempt(attemptEvent('att_escalated', { state: 'escalated', outcome: 'unknown' }))
      audit.attempt(attemptEvent('att_resolved'))
    })
    assert.deepEqual(report.findings.map(({ kind, attemptId, message }) => [kind, attemptId, message.split(' ').at(-1)]), [
      ['intent_without_result', 'att_gone', 'leaving'],
      ['intent_without_result', 'att_unknown', 'unknown'],
      ['intent_without_result', 'att_escalated', 'escalated'],
    ])
    assert.equal(auditExitCode(report), 1)
  })

  test('with two ends are a finding; repeats that hear of an end are none', async t => {
    const report = await audited(t, async audit => {
      for (const id of ['att_once', 'att_twice']) await audit.intent(intentEvent(id))
      audit.call(resultEvent('att_once'))
      audit.call(resultEvent('att_once', { duplicate: true }))
      audit.call(resultEvent('att_twice'))
      audit.attempt(attemptEvent('att_twice'))
    })
    assert.deepEqual(report.findings.map(({ kind, attemptId }) => [kind, attemptId]), [['result_twice', 'att_twice']])
  })

  test('that were refused at the last moment have an end, and the sweep that follows is no second one', async t => {
    const report = await audited(t, async audit => {
      for (const id of ['att_a', 'att_b']) {
        await audit.intent(intentEvent(id))
        audit.call(resultEvent(id, { outcome: 'rejected', code: 'STATE_UNAVAILABLE', step: 'reserve', attemptState: 'prepared', sent: false }))
      }
      audit.attempt(attemptEvent('att_b', { by: 'sweeper', outcome: 'rejected', sent: false }))
    })
    assert.deepEqual(report.findings, [])
  })
})

test('a folder without an audit cannot be verified', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'aval-empty-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await assert.rejects(verifyAudit(folder), AuditUnreadable)
  await assert.rejects(verifyAudit(join(folder, 'none')), AuditUnreadable)
})
