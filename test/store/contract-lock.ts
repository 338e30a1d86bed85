// Contract: the lock of the vault goes forward only, and whoever remembers a later turn of it tells the store.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenStore } from './contract.ts'

const OPEN = { epoch: 0, locked: false }

export function lockContract (name: string, open: OpenStore): void {
  test(`${name}: each lock raises the epoch, and unlocking keeps it`, async t => {
    const store = await open(t)
    assert.deepEqual((await store.followLock(OPEN)).state, OPEN)
    assert.deepEqual(await store.lock(OPEN), { epoch: 1, locked: true })
    assert.deepEqual(await store.lock(OPEN), { epoch: 1, locked: true }, 'locked it stays as it is')
    assert.deepEqual(await store.unlock({ epoch: 1, locked: true }), { epoch: 1, locked: false })
    assert.deepEqual(await store.unlock({ epoch: 1, locked: true }), { epoch: 1, locked: false })
    assert.deepEqual(await store.lock({ epoch: 1, locked: false }), { epoch: 2, locked: true })
    assert.deepEqual((await store.followLock(OPEN)).state, { epoch: 2, locked: true })
  })

  test(`${name}: whoever knows of an earlier lock alone unlocks nothing`, async t => {
    const store = await open(t)
    await store.lock(OPEN)
    await store.unlock({ epoch: 1, locked: true })
    await store.lock({ epoch: 1, locked: false })
    for (const seen of [OPEN, { epoch: 1, locked: true }, { epoch: 1, locked: false }]) {
      assert.deepEqual(await store.unlock(seen), { epoch: 2, locked: true })
    }
  })

  test(`${name}: a store that knows of an earlier turn is told the later one, and goes on from there`, async t => {
    const store = await open(t)
    assert.deepEqual((await store.followLock({ epoch: 7, locked: true })).state, { epoch: 7, locked: true })
    assert.deepEqual((await store.followLock({ epoch: 3, locked: false })).state, { epoch: 7, locked: true })
    assert.deepEqual(await store.unlock({ epoch: 7, locked: true }), { epoch: 7, locked: false })
    assert.deepEqual(await store.lock(OPEN), { epoch: 8, locked: true })
    const other = await store.lock({ epoch: 20, locked: false })
    assert.deepEqual(other, { epoch: 21, locked: true }, 'no epoch is used twice')
  })
}
