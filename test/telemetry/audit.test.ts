import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { StateUnavailable } from '../../src/store/store.ts'
import { openAudit, ROOM_ROWS, type Audit, type AuditOptions } from '../../src/telemetry/audit.ts'
import type { AuditFile } from '../../src/telemetry/audit-chain.ts'
import { chainHash, NO_HASH, readRow, writeRow, type ReadRow } from '../../src/telemetry/audit-row.ts'
import { verifyAudit } from '../../src/telemetry/verify-audit.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { openDoorKeeper } from '../../src/telemetry/audit-door.ts'
import type { Actor } from '../../src/telemetry/telemetry.ts'
import { AGENT, attemptEvent, callEvent, consentEvent, doorEvent, intentEvent, NOBODY, personEvent, refusalEvent, resultEvent } from './events.ts'
import { proposal } from '../store/proposal-drafts.ts'

type Row = ReadRow & { readonly [name: string]: unknown }

async function auditFolder (t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'aval-audit-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'audit')
}

/** Opens an audit that is closed at the end of the test, whatever happens in it. */
async function opened (t: TestContext, folder: string, options: Partial<AuditOptions> = {}): Promise<Audit> {
  const audit = await openAudit({ folder, keyId: 'hmac-1', metrics: createMetrics().audit, onFault: () => {}, ...options })
  t.after(() => audit.close())
  return audit
}

async function rowsOf (folder: string, writer: string): Promise<Row[]> {
  const names = (await readdir(folder)).filter(name => name.startsWith(`${writer}.`) && name.endsWith('.jsonl')).sort()
  const texts = await Promise.all(names.map(name => readFile(join(folder, name), 'utf8')))
  return texts.join('').split('\n').filter(line => line !== '').map(line => {
    const row = readRow(line)
    if (typeof row === 'string') throw new Error(`${row}: ${line}`)
    return row as Row
  })
}

const findingsOf = async (folder: string): Promise<string[]> => (await verifyAudit(folder)).findings.map(({ kind }) => kind)

/** A real file that fails when told to, as a disk does. */
function failingDisk (): {
  openFile: (path: string) => Promise<AuditFile>, fail: 'never' | 'write' | 'half_write' | 'sync', syncs: number, held: Promise<void>,
} {
  const disk = {
    fail: 'never' as 'never' | 'write' | 'half_write' | 'sync',
    syncs: 0,
    held: Promise.resolve(),
    async openFile (path: string): Promise<AuditFile> {
      const file = await open(path, 'wx', 0o600)
      let lastPosition: number | null = null
      let lastLength = 0
      return {
        async write (buffer, offset, length, position) {
          if (disk.fail === 'write') throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
          if (disk.fail === 'half_write') {
            await file.write(buffer, offset, Math.ceil(length / 2), position)
            throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
          }
          lastPosition = position
          lastLength = length
          return file.write(buffer, offset, length, position)
        },
        async datasync () {
          if (disk.fail === 'sync' && lastPosition !== null) {
            // The page was dropped and is clean now: a second fsync alone would succeed without the bytes.
            await file.write(Buffer.alloc(lastLength), 0, lastLength, lastPosition)
          }
          if (disk.fail === 'sync') throw Object.assign(new Error('disk'), { code: 'EIO' })
          await disk.held
          if (path.endsWith('.jsonl')) disk.syncs += 1
          return file.datasync()
        },
        close: () => file.close(),
      }
    },
  }
  return disk
}

describe('a row', () => {
  test('is canonical JSON, whatever it says', () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 })
    fc.assert(fc.property(text, text, fc.double(), fc.nat(), (asked, code, ms, seq) => {
      const fields = {
        event: 'action.refused' as const, asked: asked.replace(/[^\x20-\x5b\x5d-\x7e]/gu, '?'), code: code.replace(/[^\x20-\x5b\x5d-\x7e]/gu, '?'),
        ms: Number.isFinite(ms) ? ms : 0, sent: false,
      }
      const { line, hash } = writeRow(fields, { writer: 'w', seq, prev: NO_HASH, timeMs: 0 })
      assert.equal(canonicalize(JSON.parse(line)), line)
      const { hash: stated, ...body } = JSON.parse(line) as { hash: string }
      assert.equal(stated, hash)
      assert.equal(hash, chainHash(NO_HASH, canonicalize(body)!))
      assert.notEqual(typeof readRow(line), 'string')
    }))
  })

  test('of each event is canonical JSON and ASCII', async t => {
    const folder = await auditFolder(t)
    const audit = await opened(t, folder)
    await tellEverything(audit)
    await audit.close()
    const rows = await rowsOf(folder, audit.writer)
    assert.deepEqual([...new Set(rows.map(({ event }) => event))].sort(), [
      'action.called', 'action.refused', 'audit.closed', 'audit.opened', 'execution.escalated', 'execution.intent', 'execution.pending',
      'execution.resolved', 'execution.result',
      'execution.unknown', 'integrity.alarm', 'person.refused', 'person.signed_in', 'person.signed_out', 'plane.violation', 'proposal.consumed', 'proposal.decided', 'proposal.ended', 'proposal.extended', 'proposal.made',
      'proposal.revoked', 'proposal.viewed', 'response.withheld', 'run.stopped', 'sheet.reloaded',
    ])
    assert.deepEqual(await findingsOf(folder), [])
  })
})

test('of what nobody does at a door only so much is kept, of what somebody does everything', () => {
  let now = 0
  const keeper = openDoorKeeper(() => now)
  const kept = (actor: Actor): number => Array.from({ length: 100 }, () => keeper.fieldsOf(doorEvent({ actor }))).filter(row => row !== null).length
  assert.equal(kept(NOBODY), 60)
  assert.equal(kept(AGENT), 100)
  now = 60_001
  assert.equal(kept(NOBODY), 60)
})

test('what people are asked: who saw what, what they said to which content, what used it up, and what ended by itself', async t => {
  const folder = await auditFolder(t)
  const audit = await opened(t, folder)
  const record = proposal()
  audit.consent(consentEvent(record, 'pending'))
  audit.person(personEvent())
  audit.person(personEvent({ what: 'denied', reasonCode: 'suspicious', msOnPage: 2_345.5, surface: 'terminal' }))
  audit.person(personEvent({ what: 'revoked', surface: null, renderer: null }))
  for (const type of ['voted', 'approved', 'denied', 'extended'] as const) audit.consent(consentEvent(record, type))
  audit.consent(consentEvent({ ...record, state: 'invalidated', cause: 'target_changed' }, 'invalidated'))
  audit.consent({ type: 'committed', record, outcome: 'completed' })
  audit.consent({ type: 'locked', epoch: 2, atMs: 1 })
  await audit.intent(intentEvent('att_1', { approval: { id: record.id, digest: record.digest } }))
  audit.call(resultEvent('att_1', { proposalId: record.id }))
  await audit.close()
  const rows = (await rowsOf(folder, audit.writer)) as unknown as ReadonlyArray<Record<string, unknown>>
  const told = rows.filter(({ event }) => !String(event).startsWith('audit.'))
  assert.deepEqual(told.map(({ event, what, code, proposal, shown, attempt }) => ({ event, what, code, proposal, shown, attempt })), [
    { event: 'proposal.made', what: 'call', proposal: { digest: record.digest, id: record.id, state: 'pending' } },
    { event: 'proposal.viewed', proposal: { digest: 'c0ffee', id: 'prop_1', state: 'pending' }, shown: { renderer: 'aval-text/1', surface: 'page' } },
    {
      event: 'proposal.decided', what: 'denied', code: 'suspicious', proposal: { digest: 'c0ffee', id: 'prop_1', state: 'pending' },
      shown: { ms: 2_345.5, renderer: 'aval-text/1', surface: 'terminal' },
    },
    { event: 'proposal.revoked', proposal: { digest: 'c0ffee', id: 'prop_1', state: 'pending' } },
    { event: 'proposal.ended', what: 'invalidated', code: 'target_changed', proposal: { digest: record.digest, id: record.id, state: 'invalidated' } },
    { event: 'execution.intent', attempt: { id: 'att_1' } },
    { event: 'proposal.consumed', proposal: { digest: record.digest, id: record.id }, attempt: { id: 'att_1' } },
    { event: 'execution.result', proposal: { id: record.id }, attempt: { id: 'att_1', state: 'settled' } },
  ].map(row => ({ what: undefined, code: undefined, proposal: undefined, shown: undefined, attempt: undefined, ...row })))
  assert.deepEqual(told[1]!['actor'], { iss: 'https://idp.example', kind: 'person', sub: 'h1:person', tenant: 'acme' })
  assert.deepEqual(await findingsOf(folder), [])
})

async function tellEverything (audit: Audit): Promise<void> {
  for (const type of ['pending', 'expired'] as const) audit.consent(consentEvent(proposal(), type))
  for (const what of ['viewed', 'approved', 'extended', 'revoked'] as const) audit.person(personEvent({ what }))
  for (const what of ['signed_in', 'signed_out', 'sign_in_refused', 'plane_violation'] as const) audit.door(doorEvent({ what }))
  await audit.intent(intentEvent('att_9', { approval: { id: 'prop_1', digest: 'c0ffee' } }))
  audit.call(resultEvent('att_9', { proposalId: 'prop_1' }))
  audit.call(callEvent())
  audit.call(refusalEvent())
  await audit.intent(intentEvent('att_1'))
  audit.call(resultEvent('att_1', { targetMark: 'h1:target', versionMark: 'h1:version', truncated: true, withheld: 'RESULT_INVALID' }))
  await audit.intent(intentEvent('att_2'))
  audit.call(resultEvent('att_2', { outcome: 'unknown', attemptState: 'unknown', code: 'OUTCOME_UNKNOWN' }))
  audit.call(resultEvent('att_2', { outcome: 'unknown', attemptState: 'unknown', duplicate: true }))
  audit.attempt(attemptEvent('att_2', { state: 'pending', outcome: 'pending' }))
  audit.attempt(attemptEvent('att_2', { state: 'escalated', outcome: 'unknown' }))
  audit.attempt(attemptEvent('att_2', { by: 'person', personMark: 'h1:person' }))
  audit.withheld({ actionId: 'place_order.v1', code: 'RESULT_WITHHELD' })
  audit.integrity({ attemptId: 'att_1', what: 'contradicting_evidence' })
  audit.reloaded({ result: 'taken', digest: 'c0ffee' })
  audit.runStopped({ actor: AGENT, note: 'it loops', correlationId: 'cor_2' })
  await audit.sync()
}

describe('the audit', () => {
  test('keeps what auditors ask for, as marks', async t => {
    const folder = await auditFolder(t)
    const audit = await opened(t, folder)
    audit.call(refusalEvent({ field: '/quantity', source: 'h1:source' }))
    audit.call(resultEvent('att_1', { targetMark: 'h1:target', versionMark: 'h1:version' }))
    await audit.sync()
    const [first, refused, result] = await rowsOf(folder, audit.writer)
    assert.equal(first!.event, 'audit.opened')
    assert.equal(first!.key_ids?.hmac, 'hmac-1')
    const { hash, prev, time, writer, seq, v, ...said } = refused!
    assert.deepEqual(said, {
      event: 'action.refused', action: { definition: 'd1', effect: 'observation', id: 'place_order.v1' },
      actor: { iss: 'https://issuer.example', kind: 'agent', run: 'h1:run', sub: 'h1:sub', tenant: 'acme' },
      code: 'INVALID_ARGUMENTS', correlation_id: 'cor_1', field: '/quantity', ms: 6.25, outcome: 'rejected', received: 'h1:received',
      rule: 'maximum', sent: false, source: 'h1:source',
      step: 'arguments', surface: 'http',
    })
    assert.deepEqual({ seq, v, writer, prev }, { seq: 2, v: 1, writer: audit.writer, prev: first!.hash })
    assert.match(time, /^\d{4}-\d\d-\d\dT/)
    assert.match(hash, /^[0-9a-f]{64}$/)
    assert.deepEqual([result!['args'], result!['target'], result!['upstream']], [
      'h1:arguments', { mark: 'h1:target', version: 'h1:version' }, { id: 'shop', method: 'GET', ms: 4.5, request: 'h1:request', status: 200 },
    ])
  })

  test('lies in a folder and files that nobody else can read', async t => {
    const folder = await auditFolder(t)
    const audit = await opened(t, folder)
    await audit.close()
    assert.equal((await stat(folder)).mode & 0o777, 0o700)
    for (const name of await readdir(folder)) {
      assert.equal((await stat(join(folder, name))).mode & 0o077, name === 'checkpoint.pub' ? 0o044 : 0, name)
    }
  })

  test('has an intent on the disk when the promise resolves', async t => {
    const folder = await auditFolder(t)
    const audit = await opened(t, folder)
    await audit.intent(intentEvent('att_1'))
    const rows = await rowsOf(folder, audit.writer)
    assert.equal(rows.at(-1)!.event, 'execution.intent')
    assert.equal(rows.at(-1)!.attempt?.id, 'att_1')
  })

  test('lets intents of one moment share an fsync', async t => {
    const disk = failingDisk()
    const audit = await opened(t, await auditFolder(t), { openFile: disk.openFile })
    const before = disk.syncs
    await Promise.all(Array.from({ length: 200 }, (_, index) => audit.intent(intentEvent(`att_${index}`))))
    assert.ok(disk.syncs - before >= 1 && disk.syncs - before <= 3, `${disk.syncs - before} syncs`)
  })

  test('does not call an intent durable before its fsync has come back', async t => {
    const disk = failingDisk()
    const audit = await opened(t, await auditFolder(t), { openFile: disk.openFile })
    let letGo = (): void => {}
    disk.held = new Promise(resolve => { letGo = resolve })
    const told: string[] = []
    const intent = audit.intent(intentEvent('att_1')).then(() => { told.push('durable') })
    await new Promise(resolve => setTimeout(resolve, 50))
    told.push('the disk answers')
    letGo()
    await intent
    assert.deepEqual(told, ['the disk answers', 'durable'])
  })

  test('syncs the ends of writes soon, without anybody waiting', async t => {
    const folder = await auditFolder(t)
    const audit = await opened(t, folder)
    audit.call(resultEvent('att_1'))
    while ((await rowsOf(folder, audit.writer)).length < 2) await new Promise(resolve => setTimeout(resolve, 10))
    assert.equal((await rowsOf(folder, audit.writer))[1]!.event, 'execution.result')
  })

  test('has one line for a refused call, and none for a caller without a token', async t => {
    const folder = await auditFolder(t)
    const audit = await opened(t, folder)
    audit.call(refusalEvent({ actor: NOBODY, step: 'authenticate', code: 'UNAUTHENTICATED', actionId: null }))
    audit.call(refusalEvent({ step: 'capability', code: 'UNKNOWN_ACTION', actionId: null, asked: 'delete_everything.v1' }))
    await audit.sync()
    const rows = (await rowsOf(folder, audit.writer)).slice(1)
    assert.deepEqual(rows.map(row => [row.event, row['asked'], row['code']]), [['action.refused', 'delete_everything.v1', 'UNKNOWN_ACTION']])
  })

  test('names each end of a write once', async t => {
    const folder = await auditFolder(t)
    const audit = await opened(t, folder)
    const cases: ReadonlyArray<[Parameters<Audit['call']>[0], string]> = [
      [callEvent(), 'action.called'],
      [callEvent({ outcome: 'rejected', code: 'UPSTREAM_NOT_FOUND' }), 'action.called'],
      [callEvent({ outcome: 'already_in_desired_state', sent: false }), 'action.called'],
      [refusalEvent(), 'action.refused'],
      [resultEvent('att_1'), 'execution.result'],
      [resultEvent('att_1', { duplicate: true }), 'action.called'],
      [resultEvent('att_2', { outcome: 'rejected', code: 'UPSTREAM_REJECTED' }), 'execution.result'],
      [resultEvent('att_3', { outcome: 'rejected', code: 'CREDENTIAL_UNAVAILABLE', step: 'credential', sent: false }), 'execution.result'],
      [
        resultEvent('att_4', { outcome: 'rejected', code: 'STATE_UNAVAILABLE', step: 'reserve', attemptState: 'prepared', sent: false }),
        'action.refused',
      ],
      [resultEvent('att_5', { outcome: 'unknown', attemptState: 'unknown' }), 'execution.unknown'],
      [resultEvent('att_6', { outcome: 'pending', attemptState: 'pending' }), 'execution.pending'],
      [resultEvent('att_7', { outcome: 'pending', attemptState: 'dispatched' }), 'execution.pending'],
    ]
    for (const [event] of cases) audit.call(event)
    await audit.sync()
    assert.deepEqual((await rowsOf(folder, audit.writer)).slice(1).map(({ event }) => event), cases.map(([, name]) => name))
  })

  test('says which refusal a later accepted call of the run puts right', async t => {
    const folder = await auditFolder(t)
    const audit = await opened(t, folder)
    const otherRun = { ...AGENT, runMark: 'h1:other' }
    audit.call(refusalEvent({ correlationId: 'cor_a' }))
    audit.call(refusalEvent({ correlationId: 'cor_b' }))
    audit.call(callEvent({ actor: otherRun, correlationId: 'cor_c' }))
    audit.call(callEvent({ actionId: 'other.v1', correlationId: 'cor_d' }))
    audit.call(callEvent({ correlationId: 'cor_e' }))
    audit.call(callEvent({ correlationId: 'cor_f' }))
    await audit.sync()
    const rows = await rowsOf(folder, audit.writer)
    const corrects = Object.fromEntries(rows.filter(row => row['corrects'] !== undefined).map(row => [row['correlation_id'], row['corrects']]))
    assert.deepEqual(corrects, { cor_e: { correlation_id: 'cor_b', seq: rows.find(row => row['correlation_id'] === 'cor_b')!.seq } })
  })

  test('keeps what an agent wrote on one line, as text (F9)', async t => {
    const folder = await auditFolder(t)
    const audit = await opened(t, folder)
    const injected = ['\n{"event":"approved"}', '"}\r\n', '\u2028', 'CEF:0|x=\\|y', '\ud800', '\u202e', 'ä']
    for (const asked of injected) audit.call(refusalEvent({ actionId: null, asked, step: 'capability', code: 'UNKNOWN_ACTION' }))
    await audit.sync()
    const rows = await rowsOf(folder, audit.writer)
    assert.equal(rows.length, 1 + injected.length)
    assert.equal(rows[1]!['asked'], '\\u{a}{"event":"approved"}')
    assert.equal(rows[4]!['asked'], 'CEF:0|x=\\u{5c}|y')
    assert.deepEqual(rows.slice(1).map(row => row['event']), injected.map(() => 'action.refused'))
  })

  test('goes on in a new segment when one is full, and tomorrow', async t => {
    const folder = await auditFolder(t)
    let nowMs = Date.UTC(2026, 10, 29, 23, 59, 59)
    const audit = await opened(t, folder, { segmentBytesMax: 4_000, epochMs: () => nowMs })
    const segments = async (): Promise<number> => (await readdir(folder)).filter(name => name.endsWith('.jsonl')).length
    for (let index = 0; index < 20; index += 1) {
      audit.call(callEvent())
      await audit.sync()
    }
    const full = await segments()
    assert.ok(full >= 3, `${full} segments`)
    nowMs += 2_000
    audit.call(callEvent())
    await audit.sync()
    assert.equal(await segments(), full + 1)
    await audit.close()
    assert.deepEqual(await findingsOf(folder), [])
  })

  test('signs a checkpoint at its start, every 1,000 rows and at its end', async t => {
    const folder = await auditFolder(t)
    const audit = await opened(t, folder)
    const signed = async (): Promise<number[]> => [
      ...(await readFile(join(folder, `${audit.writer}.checkpoints`), 'utf8')).matchAll(/^(\d+)$/gm),
    ].map(([, size]) => Number(size))
    assert.deepEqual(await signed(), [1])
    for (let round = 0; round < 3; round += 1) {
      for (let index = 0; index < 1_000; index += 1) audit.call(callEvent())
      await audit.sync()
    }
    await audit.close()
    const sizes = await signed()
    assert.ok(sizes.length >= 4, String(sizes))
    assert.equal(sizes.at(-1), 3_002)
  })

  test('keeps its signing key, and one key for two processes that start at once', async t => {
    const folder = await auditFolder(t)
    const [one, two] = await Promise.all([opened(t, folder), opened(t, folder)])
    assert.equal(one.publicKeyPem, two.publicKeyPem)
    assert.notEqual(one.writer, two.writer)
    await one.close()
    await two.close()
    assert.equal((await opened(t, folder)).publicKeyPem, one.publicKeyPem)
  })
})

describe('a disk that fails', () => {
  for (const kind of ['write', 'half_write', 'sync'] as const) {
    test(`at ${kind} makes intents be refused, and loses nothing that was told`, async t => {
      const folder = await auditFolder(t)
      const disk = failingDisk()
      const faults: string[] = []
      const metrics = createMetrics()
      const audit = await opened(t, folder, { openFile: disk.openFile, metrics: metrics.audit, onFault: what => { faults.push(what) } })
      audit.call(callEvent())
      disk.fail = kind
      await assert.rejects(audit.intent(intentEvent('att_1')), StateUnavailable)
      audit.call(resultEvent('att_1', { outcome: 'rejected', code: 'STATE_UNAVAILABLE', sent: false }))
      audit.call(refusalEvent())
      await assert.rejects(audit.intent(intentEvent('att_2')), StateUnavailable)
      assert.ok(faults.length >= 2)
      assert.match(await metrics.text(), new RegExp(`aval_audit_faults_total\\{what="${kind === 'sync' ? 'sync' : 'write'}"\\} [1-9]`))
      disk.fail = 'never'
      await audit.intent(intentEvent('att_3'))
      audit.call(resultEvent('att_2', { outcome: 'rejected', sent: false }))
      audit.call(resultEvent('att_3'))
      await audit.close()
      const rows = await rowsOf(folder, audit.writer)
      assert.deepEqual(rows.map(({ seq }) => seq), rows.map((_, index) => index + 1))
      assert.deepEqual(rows.map(({ event }) => event), [
        'audit.opened', 'action.called', 'execution.intent', 'execution.result', 'action.refused', 'execution.intent', 'execution.intent',
        'execution.result', 'execution.result', 'audit.closed',
      ])
      assert.deepEqual(await findingsOf(folder), [])
    })
  }

  test('has no room for reads and refusals once too many wait, and has again when it is back', async t => {
    const folder = await auditFolder(t)
    const disk = failingDisk()
    const audit = await opened(t, folder, { openFile: disk.openFile })
    disk.fail = 'sync'
    assert.equal(audit.hasRoom(), true)
    for (let index = 0; index < ROOM_ROWS; index += 1) audit.call(callEvent())
    assert.equal(audit.hasRoom(), false)
    await assert.rejects(audit.intent(intentEvent('att_1')), StateUnavailable)
    // The end of a write that has left is kept all the same.
    audit.call(resultEvent('att_0'))
    disk.fail = 'never'
    await audit.sync()
    assert.equal(audit.hasRoom(), true)
    assert.equal((await rowsOf(folder, audit.writer)).at(-1)!.event, 'execution.result')
  })

  test('does not take memory without end, and counts what it had to drop', async t => {
    const folder = await auditFolder(t)
    const disk = failingDisk()
    const metrics = createMetrics()
    const audit = await opened(t, folder, { openFile: disk.openFile, metrics: metrics.audit })
    disk.fail = 'write'
    for (let index = 0; index < 3 * ROOM_ROWS; index += 1) audit.call(callEvent())
    assert.match(await metrics.text(), /aval_audit_lost_rows_total [1-9]\d{3,}/)
    // Reads do not take the room of the ends of writes.
    audit.call(resultEvent('att_1'))
    disk.fail = 'never'
    await audit.close()
    assert.equal((await rowsOf(folder, audit.writer)).filter(({ event }) => event === 'execution.result').length, 1)
    assert.deepEqual(await findingsOf(folder), [])
  })

  test('keeps a broker from starting', async t => {
    const folder = await auditFolder(t)
    await assert.rejects(openAudit({
      folder, keyId: 'k', metrics: createMetrics().audit, onFault: () => {}, openFile: () => Promise.reject(
        Object.assign(new Error('read-only'), { code: 'EROFS' }),
      ),
    }), { code: 'EROFS' })
  })
})

describe('a process that was killed', () => {
  /** A writer that is killed in the middle of its work; answers its acknowledged intents. */
  async function killedWriter (folder: string): Promise<string[]> {
    const child = fork(new URL('audit-writer.ts', import.meta.url), [folder], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const acknowledged: string[] = []
    child.on('message', id => { acknowledged.push(String(id)) })
    while (acknowledged.length < 20) await once(child, 'message')
    child.kill('SIGKILL')
    await once(child, 'exit')
    return acknowledged
  }

  test('has left every intent that was acknowledged, and the next one states its head', async t => {
    const folder = await auditFolder(t)
    const acknowledged = await killedWriter(folder)
    const audit = await opened(t, folder)
    await audit.close()
    const report = await verifyAudit(folder)
    const killed = report.writers.find(({ writer }) => writer !== audit.writer)!
    const intents = new Set(
      (await rowsOf(folder, killed.writer)).filter(({ event }) => event === 'execution.intent').map(({ attempt }) => attempt!.id),
    )
    for (const id of acknowledged) assert.ok(intents.has(id), `${id} is lost`)
    assert.equal(killed.state, 'recovered')
    assert.deepEqual(new Set(report.findings.map(({ kind }) => kind)), new Set(['intent_without_result']))
    assert.deepEqual(new Set(report.findings.map(({ attemptId }) => attemptId)), intents)
  })

  test('may leave half a line, which the next one seals', async t => {
    const folder = await auditFolder(t)
    await killedWriter(folder)
    const segment = (await readdir(folder)).find(name => name.endsWith('.jsonl'))!
    await appendFile(join(folder, segment), '{"action":{"defin')
    assert.ok((await findingsOf(folder)).includes('torn'))
    const audit = await opened(t, folder)
    const sealed = (await rowsOf(folder, audit.writer)).find(({ event }) => event === 'audit.recovered')!.sealed!
    assert.equal(sealed.torn_bytes, 17)
    await audit.close()
    assert.deepEqual(new Set(await findingsOf(folder)), new Set(['intent_without_result']))
    // What was sealed cannot grow or change any more.
    await appendFile(join(folder, segment), 'x')
    assert.ok((await findingsOf(folder)).includes('torn'))
  })

  test('may have left a segment with nothing in it, or with bytes that the disk made up', async t => {
    for (const left of ['', '\0'.repeat(512), '\n\n\n', `${'\0'.repeat(100)}\nhalf`]) {
      const folder = await auditFolder(t)
      const first = await opened(t, folder)
      await first.close()
      const writer = '20261129T000000000Z-0123456789abcdef'
      await writeFile(join(folder, `${writer}.000001.jsonl`), left, { mode: 0o600 })
      const audit = await opened(t, folder)
      await audit.close()
      assert.deepEqual(await findingsOf(folder), [], JSON.stringify(left))
      await rm(folder, { recursive: true })
    }
  })

  test('is stated once, however often a process starts after it', async t => {
    const folder = await auditFolder(t)
    const first = await opened(t, folder)
    await first.close()
    const events: string[] = []
    for (let index = 0; index < 3; index += 1) {
      const next = await opened(t, folder)
      await next.close()
      events.push(...(await rowsOf(folder, next.writer)).map(({ event }) => event))
    }
    // Each states the one before it; none states the same one again.
    assert.deepEqual(events, Array.from({ length: 3 }, () => ['audit.opened', 'audit.sealed', 'audit.closed']).flat())
    assert.deepEqual(await findingsOf(folder), [])
  })
})

test('two processes that write at once never meet in a file', async t => {
  const folder = await auditFolder(t)
  const one = await opened(t, folder)
  const two = await opened(t, folder)
  await Promise.all([one, two].flatMap((audit, which) => Array.from({ length: 100 }, async (_, index) => {
    await audit.intent(intentEvent(`att_${which}_${index}`))
    // A replica may end what the other began.
    ;(index % 2 === 0 ? one : two).call(resultEvent(`att_${which}_${index}`))
  })))
  await one.close()
  await two.close()
  const report = await verifyAudit(folder)
  assert.deepEqual(report.findings, [])
  assert.deepEqual(report.writers.map(({ state }) => state), ['closed', 'closed'])
})

test('an audit at fault leaves no file open, however often it is verified', async t => {
  const folder = await auditFolder(t)
  const audit = await opened(t, folder)
  for (let row = 0; row < 5; row++) audit.call(callEvent())
  await audit.close()
  const name = (await readdir(folder)).find(one => one.endsWith('.jsonl') && !one.includes('checkpoints'))!
  const lines = (await readFile(join(folder, name), 'utf8')).split('\n')
  await writeFile(join(folder, name), lines.toSpliced(2, 1).join('\n'))
  const openFiles = async (): Promise<number> => (await readdir('/proc/self/fd')).length
  const before = await openFiles()
  for (let again = 0; again < 30; again++) assert.ok((await findingsOf(folder)).includes('gap'))
  assert.ok(await openFiles() < before + 15)
})
