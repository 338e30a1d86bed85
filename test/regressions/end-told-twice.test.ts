// A refusal is believed only after a look-up of the own id. Where that took longer than the attempt's deadline, the resolver looked it up too and
// ended it, and told so; and the call, whose end was the same, told it once more as its own.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Settlement } from '../../src/attempts/attempt.ts'
import { processClock } from '../../src/clock.ts'
import type { Services } from '../../src/execution/services.ts'
import { writeDown } from '../../src/execution/write-down.ts'
import { done, reached } from '../store/drafts.ts'
import { openMemory } from '../store/memory-store.ts'

const found: Settlement = { ...done(), evidence: { source: 'lookup', upstreamStatus: 200, by: null } }

test('an end that a look-up of the resolver was faster to write is not the own end of the call', async () => {
  const store = openMemory()
  const services = { store, clock: processClock, telemetry: { store: () => {}, integrity: () => assert.fail('they agree') } } as unknown as Services
  const unknown = await reached(store, 'unknown')
  const event = { type: 'settle', token: unknown.token, settlement: found } as const
  assert.equal((await store.advance(unknown, { type: 'lookup', nowMs: 1, finding: { kind: 'settled', settlement: found } })).kind, 'changed')
  const late = await writeDown(unknown, event, services)
  assert.deepEqual([late.record.state, late.recorded, late.own], ['settled', true, false])
  const own = await writeDown(await reached(store, 'unknown'), event, services).catch(() => null)
  assert.equal(own?.own, false, 'nor is an event under the token of another attempt')
})

test('an end that the call writes first is its own', async () => {
  const store = openMemory()
  const services = { store, clock: processClock, telemetry: { store: () => {} } } as unknown as Services
  const held = await reached(store, 'dispatched')
  const written = await writeDown(held, { type: 'settle', token: held.token, settlement: found }, services)
  assert.deepEqual([written.record.state, written.own], ['settled', true])
})
