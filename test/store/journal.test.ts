// The journal of a replica: what is on the disk when it says so, and what is found again after a crash at any byte.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { AttemptEvent, AttemptRecord } from '../../src/attempts/attempt.ts'
import { Journal, readLatest, type JournalOptions, type Kept } from '../../src/store/journal.ts'
import { readSegment, segmentsOf, type LogFile } from '../../src/store/journal-log.ts'
import { done, draft } from './drafts.ts'

function folderFor (t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'aval-journal-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function openJournal (t: TestContext, folder: string, options: Partial<JournalOptions> = {}): Promise<Journal> {
  const journal = await Journal.open({ folder, onSynced: () => {}, onFault: () => {}, ...options })
  t.after(() => journal.close())
  return journal
}

const sent = (over: Parameters<typeof draft>[0] = {}): AttemptRecord => ({ ...draft(over), state: 'dispatched', revision: 2 })
const settledOf = (record: AttemptRecord, result: unknown = { ok: true }): AttemptRecord =>
  ({ ...record, state: 'settled', revision: 3, settlement: done(result as never), settledAtMs: 1_700_000_000_000 })

async function all (journal: Journal): Promise<readonly Kept[]> {
  const kept: Kept[] = []
  for await (const one of journal.whole()) kept.push(one)
  return kept
}

const attemptsOf = (kept: readonly Kept[]): ReadonlyMap<string, AttemptRecord> =>
  new Map(kept.flatMap(one => one.kind === 'attempt' ? [[one.entry.record.id, one.entry.record]] : []))

test('what was sent is found again as it was, what ended as it ended, what is owed as owed, and the replica under its name', async t => {
  const folder = folderFor(t)
  const journal = await openJournal(t, folder)
  const [open, ended, owing] = [sent(), sent(), sent()]
  await Promise.all([open, ended, owing].map(record => journal.sending(record)))
  await journal.stands(settledOf(ended))
  await journal.answers(owing, { type: 'settle', token: owing.token, settlement: done({ work: 1 }) })
  await journal.stopped('05', 'run-key')
  journal.saw({ runId: 'abc', beats: { '00': 7 }, peers: { other: 3 }, members: ['other'] })
  await journal.close()
  const again = await openJournal(t, folder)
  assert.equal(again.replica, journal.replica)
  assert.deepEqual(again.seen, { runId: 'abc', beats: { '00': 7 }, peers: { other: 3 }, members: ['other'] })
  assert.deepEqual(again.live().map(entry => entry.record.id).sort(), [open.id, owing.id].sort())
  assert.deepEqual(again.entry(open.id), { record: open, owed: null })
  assert.deepEqual(again.entry(owing.id), { record: owing, owed: { type: 'settle', token: owing.token, settlement: done({ work: 1 }) }, answered: true })
  const kept = await all(again)
  assert.deepEqual(attemptsOf(kept).get(ended.id), settledOf(ended))
  assert.deepEqual(kept.filter(one => one.kind === 'stopped'), [{ kind: 'stopped', tag: '05', runKey: 'run-key' }])
})

test('what is owed stays so when another change of the attempt was made, and not once it was told', async t => {
  const folder = folderFor(t)
  const journal = await openJournal(t, folder)
  const [owing, marked, paid] = [sent(), sent(), sent()]
  const settle = ({ token }: AttemptRecord): AttemptEvent => ({ type: 'settle', token, settlement: done() })
  const unknown = (record: AttemptRecord): AttemptRecord => ({ ...record, state: 'unknown', revision: 3, missing: 'no answer', unknownAtMs: 1 })
  for (const record of [owing, marked, paid]) {
    await journal.sending(record)
    await journal.owes(record, settle(record))
  }
  await journal.stands(unknown(owing), 'kept')
  await journal.stands(marked, 'kept')
  await journal.stands(unknown(paid), 'paid')
  const debts = (one: Journal): readonly unknown[] => [owing, marked, paid].map(({ id }) => one.entry(id)!.owed)
  assert.deepEqual(debts(journal), [settle(owing), settle(marked), null])
  await journal.close()
  const again = await openJournal(t, folder)
  assert.deepEqual(debts(again), [settle(owing), settle(marked), null])
  assert.equal(again.entry(owing.id)!.record.state, 'unknown')
})

test('what the store acknowledged after the canaries that were remembered last is known after a crash, and nothing older', async t => {
  const folder = folderFor(t)
  const journal = await openJournal(t, folder)
  const [before, ended, foreign] = [sent(), sent(), sent()]
  await Promise.all([before, ended].map(record => journal.sending(record)))
  await journal.stands(settledOf(before))
  journal.saw({ runId: 'abc', beats: { '00': 7 }, peers: {}, members: [] })
  await journal.stands(settledOf(ended))
  await journal.told(settledOf(foreign))
  const { sinceSeen } = readLatest(folder)
  const asTold = ({ tag, revision, state }: AttemptRecord) => ({ tag, revision, state })
  assert.deepEqual([...sinceSeen], [[ended.id, asTold(settledOf(ended))], [foreign.id, asTold(settledOf(foreign))]])
})

test('a sensitive result is not in the journal, however it ended', async t => {
  const folder = folderFor(t)
  const journal = await openJournal(t, folder)
  const [told, owed] = [sent({ sensitive: true }), sent({ sensitive: true })]
  await Promise.all([told, owed].map(record => journal.sending(record)))
  await journal.stands(settledOf(told, { pin: 'zq81-never-kept' }))
  await journal.answers(owed, { type: 'settle', token: owed.token, settlement: done({ pin: 'zq82-never-kept' }) })
  await journal.close()
  const again = await openJournal(t, folder)
  await again.stopped('00', 'makes-a-snapshot')
  for (const name of readdirSync(folder)) assert.doesNotMatch(readFileSync(join(folder, name), 'utf8'), /never-kept/, name)
  assert.equal(attemptsOf(await all(again)).get(told.id)!.settlement!.withheld, 'RESULT_EXPIRED')
})

test('torn at any byte: everything that was told to be on the disk before that byte is found, and nothing else is made of the rest', async t => {
  const folder = folderFor(t)
  const journal = await openJournal(t, folder)
  const records = [sent({ args: { a: 'é€😀' } }), sent(), sent()]
  /** Length of the file from which on each of them is durable. */
  const durableAt: number[] = []
  const path = join(folder, segmentsOf(folder).at(-1)!)
  for (const record of records) {
    await journal.sending(record)
    durableAt.push(statSync(path).size)
  }
  await journal.stands(settledOf(records[0]!))
  await journal.close()
  const whole = readFileSync(path)
  const torn = folderFor(t)
  const ids = records.map(record => record.id)
  for (let length = 0; length <= whole.length; length++) {
    writeFileSync(join(torn, '00000001.journal'), whole.subarray(0, length))
    const expected = ids.filter((_, index) => length >= durableAt[index]! - 1)
    const ended = length >= whole.length - 1
    assert.deepEqual([...readLatest(torn).live.keys()], ended ? expected.slice(1) : expected, `torn after ${length} bytes`)
  }
  writeFileSync(join(torn, '00000001.journal'), whole.subarray(0, durableAt[1]! + 100))
  const again = await openJournal(t, torn)
  await again.sending(sent())
  assert.deepEqual([...attemptsOf(await all(again)).keys()].slice(0, 2), ids.slice(0, 2), 'it goes on after what was torn')
})

test('a segment whose beginning was torn stands on the one before it', async t => {
  const folder = folderFor(t)
  const journal = await openJournal(t, folder)
  const record = sent()
  await journal.sending(record)
  await journal.close()
  const next = await openJournal(t, folder)
  await next.close()
  const [, second] = segmentsOf(folder)
  const bytes = readFileSync(join(folder, second!))
  for (const length of [0, 1, 20, Math.floor(bytes.length / 2)]) {
    writeFileSync(join(folder, second!), bytes.subarray(0, length))
    const found = await Journal.open({ folder, onSynced: () => {}, onFault: () => {} })
    assert.deepEqual([found.replica, found.live().map(entry => entry.record.id)], [journal.replica, [record.id]], String(length))
    await found.close()
    for (const name of segmentsOf(folder).slice(2)) rmSync(join(folder, name))
  }
})

/** A file that tells what is done to it, and fails on demand. */
function tellingFile (log: string[], fails: () => string | null): JournalOptions['create'] {
  return async path => {
    if (fails() === 'create') throw new Error('no file')
    const file = await open(path, 'wx', 0o600)
    const made: LogFile = {
      async write (bytes) {
        if (fails() === 'write') throw new Error('no room')
        log.push(`write ${bytes.toString('utf8').split('\n').length - 1}`)
        await file.write(bytes)
      },
      async sync () {
        if (fails() === 'sync') throw new Error('no sync')
        log.push('sync')
        await file.datasync()
      },
      close: () => file.close(),
    }
    return made
  }
}

test('all who wait at one moment share one write and one sync, and none of them is answered before it', async t => {
  const log: string[] = []
  const journal = await openJournal(t, folderFor(t), { create: tellingFile(log, () => null) })
  log.length = 0
  const records = Array.from({ length: 20 }, () => sent())
  await Promise.all(records.map(async record => {
    await journal.sending(record)
    log.push('answered')
  }))
  assert.deepEqual(log, ['write 20', 'sync', ...Array.from({ length: 20 }, () => 'answered')])
})

for (const step of ['write', 'sync', 'create'] as const) {
  test(`a disk that fails at ${step}: whoever waits hears so, and when it is back nothing that was told before is lost`, async t => {
    const folder = folderFor(t)
    let failing: string | null = null
    let faults = 0
    const journal = await openJournal(t, folder, { create: tellingFile([], () => failing), onFault: () => { faults++ }, segmentBytesMax: step === 'create' ? 1 : 1e9 })
    const before = sent()
    await journal.sending(before)
    failing = step
    await journal.stands(settledOf(before))
    await assert.rejects(journal.sending(sent()))
    await assert.rejects(journal.sending(sent()))
    assert.ok(faults >= 2)
    failing = null
    const after = sent()
    await journal.sending(after)
    await journal.close()
    const again = await openJournal(t, folder)
    assert.equal(attemptsOf(await all(again)).get(before.id)?.state, 'settled', 'nobody waited for this line, and it is there')
    assert.ok(again.live().some(entry => entry.record.id === after.id))
  })
}

test('it is bounded: old segments go, what is not settled is carried on, and what has ended is given once', async t => {
  const folder = folderFor(t)
  const journal = await openJournal(t, folder, { segmentBytesMax: 10_000, bytesMax: 60_000 })
  const held = sent()
  await journal.sending(held)
  for (let index = 0; index < 200; index++) {
    const record = sent()
    await journal.sending(record)
    await journal.stands(settledOf(record))
  }
  await journal.close()
  const bytes = segmentsOf(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
  assert.ok(bytes < 90_000, `${bytes} bytes`)
  assert.ok(Number(segmentsOf(folder)[0]!.slice(0, 8)) > 1, 'the first ones are gone')
  const again = await openJournal(t, folder)
  assert.deepEqual(again.live().map(entry => entry.record.id), [held.id])
  const ids = (await all(again)).flatMap(one => one.kind === 'attempt' ? [one.entry.record.id] : [])
  assert.equal(new Set(ids).size, ids.length)
  assert.ok(ids.length > 10)
})

test('files are the owner\'s alone, and a changed byte takes its line with it and no other', async t => {
  const folder = folderFor(t)
  const journal = await openJournal(t, folder)
  const records = [sent(), sent(), sent()]
  for (const record of records) await journal.sending(record)
  await journal.close()
  const name = segmentsOf(folder)[0]!
  assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600)
  const text = readFileSync(join(folder, name), 'utf8')
  assert.equal(readSegment(folder, name).length, text.split('\n').length - 1)
  writeFileSync(join(folder, name), text.replace(records[1]!.token, 'f'.repeat(32)))
  const again = await openJournal(t, folder)
  assert.deepEqual(again.live().map(entry => entry.record.id), [records[0]!.id, records[2]!.id])
})
