// What a process that was killed leaves behind in the embedded store, whose lock says that it is dead.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { openSqlite } from '../../src/store/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { begun } from './drafts.ts'

const LEASE_MS = 3_600_000

function placeOf (t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'aval-orphans-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'aval.db')
}

async function reopened (t: TestContext, store: Store, path: string): Promise<Store> {
  await store.close()
  const next = openSqlite(path)
  t.after(() => next.close())
  return next
}

test('what the process before had prepared or dispatched is due at once', async t => {
  const path = placeOf(t)
  const first = openSqlite(path)
  const prepared = await begun(first)
  const dispatched = await begun(first)
  await first.advance(dispatched, { type: 'dispatch', token: dispatched.token })
  assert.deepEqual(await first.claimDue(10, LEASE_MS), [], 'while that process lives, nothing of it is due yet')
  const second = await reopened(t, first, path)
  const due = await second.claimDue(10, LEASE_MS)
  assert.deepEqual(new Set(due.map(({ record }) => record.id)), new Set([prepared.id, dispatched.id]))
  const ends = new Map<string, string>()
  for (const { record, nowMs } of due) {
    const advanced = await second.advance(record, { type: 'deadline', nowMs })
    assert.equal(advanced.kind, 'changed')
    if (advanced.kind === 'changed') ends.set(record.id, advanced.record.settlement?.sent === false ? 'unsent' : advanced.record.state)
  }
  assert.deepEqual(ends, new Map([[prepared.id, 'unsent'], [dispatched.id, 'unknown']]))
})

test('a look-up that the process before had claimed is claimed again without waiting for its lease', async t => {
  const path = placeOf(t)
  const first = openSqlite(path)
  const record = await begun(first)
  await first.advance(record, { type: 'dispatch', token: record.token })
  await first.advance(record, { type: 'lose', token: record.token, missing: 'no answer', reference: null })
  await new Promise(resolve => setTimeout(resolve, 250))
  assert.equal((await first.claimDue(10, LEASE_MS)).length, 1)
  assert.equal((await first.claimDue(10, LEASE_MS)).length, 0)
  const second = await reopened(t, first, path)
  const [due] = await second.claimDue(10, LEASE_MS)
  assert.equal(due?.record.id, record.id)
  assert.equal(due?.record.state, 'unknown')
})
