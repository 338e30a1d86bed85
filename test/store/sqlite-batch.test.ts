// Group commit: what is asked in one turn stands or falls by itself, and all of it falls with the transaction.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createBatch, type Batch } from '../../src/store/sqlite-batch.ts'
import { openSqliteFile, type SqliteFile } from '../../src/store/sqlite-file.ts'
import { StateUnavailable } from '../../src/store/store.ts'

function open (t: TestContext): { file: SqliteFile, batch: Batch, put: (name: string) => void, names: () => unknown[] } {
  const folder = mkdtempSync(join(tmpdir(), 'aval-store-'))
  const file = openSqliteFile(join(folder, 'aval.db'))
  const batch = createBatch(file.db)
  t.after(() => {
    batch.close()
    file.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    file,
    batch,
    put: name => { file.db.prepare('INSERT INTO facts (name, value) VALUES (?, 1)').run(name) },
    names: () => file.db.prepare('SELECT name FROM facts ORDER BY name').all().map(row => row['name']),
  }
}

test('a job that fails half-way leaves nothing of itself and everything of the others', async t => {
  const { batch, put, names } = open(t)
  const fault = new TypeError('half-way')
  const [one, bad, clash, two] = await Promise.allSettled([
    batch.write(() => { put('one') }),
    batch.write(() => {
      put('bad')
      throw fault
    }),
    batch.write(() => {
      put('clash')
      put('one')
    }),
    batch.write(() => {
      put('two')
      return 2
    }),
  ])
  assert.deepEqual([one.status, two.status], ['fulfilled', 'fulfilled'])
  assert.equal(bad.status === 'rejected' && bad.reason, fault, 'a fault of the code stays what it is')
  assert.ok(clash.status === 'rejected' && clash.reason instanceof StateUnavailable)
  assert.deepEqual(names(), ['one', 'two'])
})

test('nobody hears of a change whose transaction fails', async t => {
  const { file, batch, put, names } = open(t)
  await batch.write(() => { put('before') })
  const answers = await Promise.allSettled([
    batch.write(() => { put('one') }),
    batch.write(() => {
      put('two')
      // As a fault of the disk does: the whole transaction is gone.
      file.db.exec('ROLLBACK')
      throw new Error('disk')
    }),
    batch.write(() => { put('three') }),
  ])
  assert.deepEqual(answers.map(answer => answer.status), ['rejected', 'rejected', 'rejected'])
  assert.deepEqual(names(), ['before'])
  await batch.write(() => { put('after') })
  assert.deepEqual(names(), ['after', 'before'])
})

test('a change is on disk before it is told, and reads see none that is not', async t => {
  const { file, batch, put, names } = open(t)
  const written = batch.write(() => { put('one') })
  assert.deepEqual(await batch.read(names), [])
  await written
  assert.equal(file.db.isTransaction, false)
  assert.deepEqual(await batch.read(names), ['one'])
})
