// A mark whose reply comes so late that somebody else has moved the attempt on meanwhile.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { advance, unsent, type AttemptEvent, type AttemptRecord } from '../../src/attempts/attempt.ts'
import { processClock } from '../../src/clock.ts'
import { dispatch } from '../../src/execution/dispatch.ts'
import { Refusal } from '../../src/errors.ts'
import { draft } from '../store/drafts.ts'

/** The mark meets the attempt as `now`; everything but the store and the send is a stand-in. */
async function dispatchOn (now: AttemptRecord): Promise<{ readonly refusal: Refusal, readonly events: readonly AttemptEvent[], readonly record: AttemptRecord, readonly sends: number }> {
  const events: AttemptEvent[] = []
  let record = now
  let sends = 0
  const nothing = (): void => {}
  const services = {
    draining: () => false,
    clock: processClock,
    identity: { mark: () => 'h1:' },
    telemetry: { intent: async () => {}, store: nothing, integrity: nothing, retried: nothing },
    upstream: { send: async () => { sends += 1 } },
    store: {
      async advance (_held: AttemptRecord, event: AttemptEvent) {
        events.push(event)
        const reduced = advance(record, event)
        if (reduced.kind === 'changed') record = reduced.record
        return { ...reduced, record }
      },
    },
  }
  const action = { upstream: {}, limits: { timeoutMs: 1_000 }, write: true }
  const reserved = { attempt: draft({ token: now.token }), request: { method: 'POST', path: '/', body: null }, facts: { scoped: { valid: { capable: { action, call: { caller: {} } } } } } }
  const told = { marking: nothing, marked: nothing, willSend: nothing, provedUnsent: nothing, intent: nothing, upstreamAnswered: nothing }
  const refusal = await dispatch({ reserved, credential: { apply: (request: unknown) => request } } as never, told as never, services as never).then(() => null, error => error)
  assert.ok(refusal instanceof Refusal, String(refusal))
  return { refusal, events, record, sends }
}

for (const state of ['unknown', 'escalated'] as const) {
  test(`a mark that finds its attempt ${state} sends nothing and closes it as never sent`, async () => {
    const { refusal, record, sends } = await dispatchOn({ ...draft(), state })
    assert.equal(sends, 0)
    assert.equal(refusal.code, 'STATE_UNAVAILABLE')
    assert.deepEqual([record.state, record.settlement?.outcome, record.settlement?.sent], ['settled', 'rejected', false])
  })
}

test('a mark that finds its attempt cancelled sends nothing, says so, and leaves it as it is', async () => {
  const cancelled = { ...draft(), state: 'settled' as const, settlement: unsent('CANCELLED', 'The call was cancelled.', true) }
  const { refusal, events, record, sends } = await dispatchOn(cancelled)
  assert.equal(sends, 0)
  assert.equal(refusal.code, 'CANCELLED')
  assert.deepEqual(events.map(({ type }) => type), ['dispatch'])
  assert.equal(record, cancelled)
})
