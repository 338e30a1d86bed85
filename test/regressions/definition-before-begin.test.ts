// What an action was made of stands in the store before anything is begun by it: a broker that dies, and sheets that change, must leave behind nothing
// that nobody can look up.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createDefinitions } from '../../src/attempts/definitions.ts'
import type { CatalogInForce } from '../../src/catalog/in-force.ts'
import { processClock } from '../../src/clock.ts'
import type { Approved } from '../../src/execution/consent.ts'
import type { CallRecord } from '../../src/execution/record.ts'
import { reserve } from '../../src/execution/reserve.ts'
import type { Services } from '../../src/execution/services.ts'
import { eventually, worksGround } from '../invariants/ground.ts'
import { PASS } from '../invariants/redis-tap.ts'

const isDefinition = ([command, key]: readonly string[]): boolean => command?.toUpperCase() === 'SET' && key?.startsWith('aval:definition:') === true

test('redis: where the definition cannot be kept nothing is begun and nothing is sent; once it can, the next call is', async t => {
  const { works, state, broker: start, token } = await worksGround(t, 'redis')
  state.tap!.rule = (_, parts) => isDefinition(parts) ? 'break' : 'pass'
  const broker = await start()
  const { status, body } = await broker.call(token, 'do_work.v1', { item: 'one', amount: 1 }, 'key-1')
  assert.deepEqual([status, body.error?.code, body.sent], [503, 'STATE_UNAVAILABLE', false])
  assert.equal(works.writes.length, 0)
  assert.doesNotMatch(await state.redis!.command('KEYS', '*'), /attempt:|definition:/)
  state.tap!.rule = PASS
  await eventually(async () => (await broker.call(token, 'do_work.v1', { item: 'one', amount: 1 }, 'key-1')).body.outcome === 'completed', 'it is kept')
  assert.equal(works.writes.length, 1)
  assert.match(await state.redis!.command('KEYS', '*'), /aval:definition:/)
})

test('no attempt is begun before it was heard that the definition is kept', async () => {
  const keeping = Promise.withResolvers<void>()
  const asked: string[] = []
  const services = {
    clock: processClock, telemetry: { store: () => {} },
    keepDefinition: (digest: string) => { asked.push(digest); return keeping.promise },
    now: () => { asked.push('the attempt is made'); return new Date() },
  }
  const approved = {
    facts: { scoped: { valid: { capable: { action: { digest: 'a definition' } } } } }, admitted: { recalled: { kind: 'write', state: null } },
  }
  const reserving = reserve(approved as unknown as Approved, {} as CallRecord, services as unknown as Services)
  await sleep(50)
  assert.deepEqual(asked, ['a definition'])
  keeping.reject(new Error('the connection was lost'))
  await assert.rejects(reserving, { code: 'STATE_UNAVAILABLE' })
  assert.deepEqual(asked, ['a definition'])
})

test('where the store forgets, all that is known is put there again, also what is not of the sheets any more; what was on its way then is not counted', async () => {
  const put: string[] = []
  let stored = Promise.withResolvers<void>()
  const store = { definition: async () => null, keepDefinition: (digest: string) => { put.push(digest); return stored.promise } }
  const written = new Map([['new', () => 'the new one'], ['old', () => 'the old one']])
  const definitions = createDefinitions(store, { definition: () => null, remember: () => {}, written: () => written } satisfies Pick<CatalogInForce, 'definition' | 'remember' | 'written'>)
  const onItsWay = definitions.ensure('new')
  definitions.forget()
  stored.resolve()
  await onItsWay
  stored = Promise.withResolvers()
  stored.resolve()
  await definitions.keep()
  assert.deepEqual(put, ['new', 'new', 'old'])
  assert.equal(definitions.ensure('new'), null)
  definitions.forget()
  await definitions.keep()
  assert.deepEqual(put.slice(3), ['new', 'old'])
})
