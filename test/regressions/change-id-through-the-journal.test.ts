// Once, the store with a journal did not hand on under which change id a change was asked for again, so that whoever had lost the reply took its own
// change for that of somebody else, and nobody told the audit how the attempt had ended.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openReplica } from '../../src/store/replica.ts'
import { done, reached } from '../store/drafts.ts'
import { startRedis } from '../support/redis.ts'

test('a change that is asked for again under its id is answered as the own one, through the journal too', async t => {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const folder = mkdtempSync(join(tmpdir(), 'aval-change-id-'))
  t.after(() => { rmSync(folder, { recursive: true, force: true }) })
  const nothing = (): void => {}
  const events = { landed: nothing, journalSynced: nothing, journalFault: nothing, lost: nothing, ended: nothing, fault: nothing }
  const store = await openReplica(redis.url, { folder, digest: () => 'd', events })
  t.after(() => store.close())
  for (const [state, type] of [['dispatched', 'settle'], ['dispatched', 'lose']] as const) {
    const held = await reached(store, state)
    const change = randomUUID()
    const event = type === 'settle'
      ? { type, token: held.token, settlement: done() } as const
      : { type, token: held.token, missing: 'the answer', reference: null } as const
    assert.equal((await store.advance(held, event, change)).kind, 'changed')
    assert.equal((await store.advance(held, event, change)).kind, 'changed', `${type}: it is still the own one`)
    assert.equal((await store.advance(held, event, randomUUID())).kind, 'already', `${type}: under another id it is not`)
  }
})
