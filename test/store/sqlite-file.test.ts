// What only the embedded store must show: its file is private, its own, durable; and what was acknowledged survives the end of the process.
import assert from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createInterface } from 'node:readline'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStore } from '../../src/store/open.ts'
import { openSqlite, type SqliteOptions } from '../../src/store/sqlite.ts'
import { openSqliteFile } from '../../src/store/sqlite-file.ts'
import { SCHEMA_STEPS } from '../../src/store/sqlite-schema.ts'
import { createStoreClock } from '../../src/store/store-clock.ts'
import { StateRefused, StateUnavailable, type Store } from '../../src/store/store.ts'
import { begun, changed, done, draft, eventually, FREE, nameFor, reached, settle } from './drafts.ts'
import { approvedOne, commitOf } from './proposal-drafts.ts'

const WRITER = join(import.meta.dirname, 'sqlite-writer.ts')

function folder (t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'aval-store-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

function open (t: TestContext, path: string, options?: SqliteOptions): Store {
  const store = openSqlite(path, options)
  t.after(() => store.close())
  return store
}

test('only of a file that nobody needs later does no commit wait for the disk', t => {
  const file = openSqliteFile(join(folder(t), 'aval.db'), 'passing')
  t.after(() => file.close())
  assert.deepEqual({ ...file.db.prepare('PRAGMA synchronous').get() }, { synchronous: 0 })
})

test('the file is in WAL mode, flushed at every commit, locked and private', async t => {
  const path = join(folder(t), 'deep', 'aval.db')
  const file = openSqliteFile(path)
  t.after(() => file.close())
  const pragma = (name: string): unknown => Object.values(file.db.prepare(`PRAGMA ${name}`).get()!)[0]
  assert.equal(pragma('journal_mode'), 'wal')
  assert.equal(pragma('synchronous'), 2)
  assert.equal(pragma('locking_mode'), 'exclusive')
  assert.ok(Number(pragma('busy_timeout')) > 0)
  for (const name of [path, `${path}-wal`]) assert.equal(statSync(name).mode & 0o777, 0o600, name)
})

test('an existing file that others could read is made private', async t => {
  const path = join(folder(t), 'aval.db')
  await open(t, path).close()
  spawnSync('chmod', ['0644', path])
  open(t, path)
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('a second opening is refused with a reason, in this process and in another, and does not disturb the first', async t => {
  const path = join(folder(t), 'aval.db')
  const store = open(t, path)
  const record = await reached(store, 'dispatched')
  await assert.rejects(openStore(`sqlite:${path}`), (error: unknown) => error instanceof StateRefused && /this process/.test(error.message))
  const other = spawnSync(process.execPath, [WRITER, path, '1'], { encoding: 'utf8', timeout: 20_000 })
  assert.notEqual(other.status, 0)
  assert.match(other.stderr, /StateRefused.*in use by another process/)
  await settle(store, record)
  const again = spawnSync(process.execPath, [WRITER, path, '1'], { encoding: 'utf8', timeout: 20_000 })
  assert.match(again.stderr, /in use by another process/, 'the first opening still holds its lock')
  await store.close()
  assert.equal((await open(t, path).find(record.id))!.state, 'settled')
})

test('what is not a database of ours is refused and left as it is', async t => {
  const path = folder(t)
  writeFileSync(join(path, 'text.db'), 'this is no database at all, but long enough to look like a file of some kind'.repeat(20))
  assert.throws(() => openSqlite(join(path, 'text.db')), (error: unknown) => error instanceof StateRefused && /not a database/.test(error.message))
  const foreign = new DatabaseSync(join(path, 'foreign.db'))
  foreign.exec('CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)')
  foreign.close()
  assert.throws(() => openSqlite(join(path, 'foreign.db')), (error: unknown) =>
    error instanceof StateRefused && /another program/.test(error.message))
  const still = new DatabaseSync(join(path, 'foreign.db'))
  assert.equal(still.prepare('SELECT x FROM theirs').get()!['x'], 1)
  still.close()
  await open(t, join(path, 'newer.db')).close()
  const newer = new DatabaseSync(join(path, 'newer.db'))
  newer.exec('PRAGMA user_version = 99')
  newer.close()
  assert.throws(() => openSqlite(join(path, 'newer.db')), (error: unknown) => error instanceof StateRefused && /version 99/.test(error.message))
  for (const bad of ['', ':memory:', '/proc/none/aval.db', path]) assert.throws(() => openSqlite(bad), StateRefused, bad)
  await assert.rejects(openStore('postgres://db'), StateRefused)
  await assert.rejects(openStore('aval.db'), StateRefused)
})

test('a file of an older version is brought up to date with all that is in it, or left as it was', async t => {
  const path = join(folder(t), 'aval.db')
  const store = openSqlite(path)
  const record = await reached(store, 'unknown')
  await store.close()
  const older = new DatabaseSync(path)
  older.exec('DROP TABLE proposals; DROP TABLE sessions; PRAGMA user_version = 1')
  older.close()
  const moved = openSqlite(path)
  assert.deepEqual(await moved.find(record.id), record)
  const approved = await approvedOne(moved)
  const { attempt, limits } = commitOf(approved)
  assert.equal((await moved.begin(attempt, null, limits)).kind, 'begun')
  await moved.close()
  const now = new DatabaseSync(path)
  assert.equal(Object.values(now.prepare('PRAGMA user_version').get()!)[0], SCHEMA_STEPS.length)
  // What is in the way of a step undoes all of them.
  now.exec('DROP TABLE sessions; PRAGMA user_version = 1')
  now.close()
  assert.throws(() => openSqlite(path), /already exists/)
  const still = new DatabaseSync(path)
  assert.equal(Object.values(still.prepare('PRAGMA user_version').get()!)[0], 1)
  still.close()
})

test('what was acknowledged before the process was killed is there afterwards, and nothing is half there', async t => {
  const path = join(folder(t), 'aval.db')
  const acknowledged: string[] = []
  for (let round = 0; round < 4; round++) {
    const child = spawn(process.execPath, [WRITER, path, String(round)], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.after(() => child.kill('SIGKILL'))
    acknowledged.push(...await linesUntilKilled(child, 150 + round * 90))
  }
  assert.ok(acknowledged.length > 100, `${acknowledged.length} acknowledged`)
  const store = open(t, path)
  for (const line of acknowledged) {
    const [id, state] = line.split(' ')
    const record = await store.find(id!)
    assert.ok(record !== null, `${id} was acknowledged as ${state}`)
    if (state === 'settled') assert.equal(record.state, 'settled')
    if (state === 'dispatched') assert.ok(record.state === 'dispatched' || record.state === 'settled')
  }
  // Every attempt that is there has spent a call and holds its target, and no call was spent without an attempt.
  const { tag, runKey } = draft()
  const all = await store.ofRun(tag, runKey, 1_000)
  const calls = (await store.recall(nameFor(draft()))).calls
  assert.equal(all.length, Math.min(calls, 1_000))
  for (const record of all.slice(0, 50)) {
    const busy = await store.begin(draft({ target: record.target!.id }), null, FREE)
    assert.equal(busy.kind, record.state === 'settled' ? 'begun' : 'target_busy')
  }
})

async function linesUntilKilled (child: ChildProcess, wanted: number): Promise<string[]> {
  const lines: string[] = []
  const exited = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout! })) {
    lines.push(line)
    if (lines.length === wanted) child.kill('SIGKILL')
  }
  await exited
  assert.equal(child.signalCode, 'SIGKILL')
  return lines
}

test('a disk that takes no more makes the state unavailable, and what was acknowledged stays', async t => {
  const path = join(folder(t), 'aval.db')
  // The shell limits the size of a file that its child may write: 4,000 blocks of 512 or 1,024 bytes.
  const child = spawnSync('sh', ['-c', 'ulimit -f 4000; exec "$0" "$@"', process.execPath, WRITER, path, '7', 'until-full'],
    { encoding: 'utf8', maxBuffer: 1 << 26, timeout: 60_000 })
  assert.match(child.stderr, /StateUnavailable/, child.stderr.slice(-500))
  const acknowledged = child.stdout.trim().split('\n')
  assert.ok(acknowledged.length > 50)
  const store = open(t, path)
  for (const line of acknowledged) assert.ok(await store.find(line.split(' ')[0]!) !== null)
  await begun(store)
})

test('verbs of one turn share one transaction, and each keeps its own outcome', async t => {
  const path = join(folder(t), 'aval.db')
  const store = open(t, path)
  const before = statSync(`${path}-wal`).size
  await Promise.all(Array.from({ length: 50 }, () => store.begin(draft({ args: { x: 'y'.repeat(10) } }), null, FREE)))
  const together = statSync(`${path}-wal`).size - before
  const apartFrom = statSync(`${path}-wal`).size
  for (let index = 0; index < 50; index++) await begun(store, { args: { index, x: 'y'.repeat(10) } })
  const apart = statSync(`${path}-wal`).size - apartFrom
  assert.ok(together * 4 < apart, `${together} bytes of log together, ${apart} apart`)
})

test('what has expired is cleaned away, a bite at a time', async t => {
  const path = join(folder(t), 'aval.db')
  const store = open(t, path, { retention: { resultMs: 20, settledMs: 60, runMs: 60 }, cleanEveryMs: 20 })
  const kept = await reached(store, 'unknown')
  await Promise.all(Array.from({ length: 450 }, async () => settle(store, await reached(store, 'dispatched'), done({ text: 'zq83-expired' }))))
  await eventually(async () => (await store.ofRun(kept.tag, kept.runKey, 1_000)).length === 1, 'all but the unsettled one are gone')
  await sleep(400)
  await store.close()
  const raw = new DatabaseSync(path)
  const count = (table: string): unknown => raw.prepare(`SELECT count(*) AS count FROM ${table}`).get()!['count']
  assert.equal(count('attempts'), 1)
  assert.equal(count('run_facts'), 0)
  assert.equal(count('places'), 0)
  raw.close()
})

test('a sensitive result is nowhere in the files', async t => {
  const path = join(folder(t), 'aval.db')
  const store = open(t, path)
  await settle(store, await reached(store, 'dispatched', { sensitive: true }), done({ pin: 'zq81-never-kept' }))
  await settle(store, await reached(store, 'dispatched'), done({ pin: 'zq82-kept' }))
  const bytes = readFileSync(`${path}-wal`, 'latin1')
  assert.ok(bytes.includes('zq82-kept'))
  assert.ok(!bytes.includes('zq81-never-kept'))
})

test('the store has a clock that never goes back and never stands still, over a restart too', async t => {
  let wall = 1_000_000
  const nowMs = createStoreClock(0, () => wall)
  const first = nowMs()
  wall -= 500_000
  await sleep(20)
  const second = nowMs()
  assert.ok(second > first && second < first + 10_000)
  wall += 2_000_000
  assert.ok(nowMs() >= 2_500_000)

  const path = join(folder(t), 'aval.db')
  let hour = 3_600_000 * 10
  const options: SqliteOptions = { wallMs: () => hour }
  const store = open(t, path, options)
  const record = await reached(store, 'dispatched')
  await store.close()
  hour -= 3_600_000
  const again = open(t, path, options)
  const unknown = await changed(again, record, { type: 'lose', token: record.token, missing: 'x', reference: null })
  assert.ok(unknown.unknownAtMs! >= record.preparedAtMs)
})

test('a settled attempt without a key answers for its repeats for ten minutes of the store\'s time', async t => {
  let wall = 1_000_000_000
  const store = open(t, join(folder(t), 'aval.db'), { wallMs: () => wall })
  const unkeyed = await reached(store, 'settled', { args: { a: 1 } })
  const keyed = await reached(store, 'settled', { args: { a: 2 }, key: 'k', upstream: 'bank' })
  wall += 10 * 60_000 - 5_000
  assert.equal((await store.recall(nameFor(unkeyed))).finding.kind, 'duplicate')
  wall += 10_000
  assert.equal((await store.recall(nameFor(unkeyed))).finding.kind, 'free')
  assert.equal((await store.recall(nameFor(keyed))).finding.kind, 'duplicate')
  wall += 7 * 24 * 3_600_000
  assert.equal((await store.recall(nameFor(keyed))).finding.kind, 'free')
  assert.equal(await store.find(keyed.id), null)
})

test('after it is closed the file can be opened by others', async t => {
  const path = join(folder(t), 'aval.db')
  const store = open(t, path)
  const queued = store.begin(draft(), null, FREE)
  await store.close()
  assert.equal((await queued).kind, 'begun', 'what was asked before the close is done')
  await assert.rejects(store.ping(), StateUnavailable)
  await open(t, path).ping()
})
