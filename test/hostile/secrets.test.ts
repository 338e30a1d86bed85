// An upstream that tells our own secret back, however it is written: the whole answer is held back, and nothing that anybody can read ever holds it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Reached } from '../support/broker.ts'
import { hostileModes, type Mode } from '../support/hostile-modes.ts'
import { ok, onDisk, READ_SECRET, rowOf, saidBy, SECRET, startProbe, startProbeProcess, type Probing } from './probe.ts'

const closers: Array<() => unknown> = []
let probe: Probing
let calls = 0

before(async () => { probe = await startProbe({ after: (close: any) => { closers.push(close) } }) })
after(async () => { for (const close of closers.reverse()) await close() })

const tokenOf = (): Promise<string> => probe.site.token({ roles: ['prober'], run: `run-${calls}` })

function read (mode: Mode): Promise<Reached> {
  probe.answers.read = mode
  return probe.ask('get_item.v1', { id: 'one' })
}

/** Writes once, under arguments of its own, in a run of its own. */
async function write (mode: Mode): Promise<Reached> {
  probe.answers.write = mode
  calls++
  return probe.call(await tokenOf(), 'create_item.v1', { name: `write ${calls}` })
}

/** The ways in which an echo is written. */
function echoes (secret: string): ReadonlyArray<readonly [how: string, text: string]> {
  const bytes = Buffer.from(secret)
  const unicode = [...secret].map(letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
  return [
    ['as it is', JSON.stringify(secret).slice(1, -1)],
    ...[0, 1, 2].map(offset => [
      `in base64 at offset ${offset}`, Buffer.concat([Buffer.alloc(offset, 0x61), bytes, Buffer.from('zz')]).toString('base64'),
    ] as const),
    ['in base64url', bytes.toString('base64url')],
    ['percent-encoded', encodeURIComponent(secret)],
    ['percent-encoded in lower case', encodeURIComponent(secret).replace(/%../g, escape => escape.toLowerCase())],
    ['in hex', bytes.toString('hex')],
    ['in hex in capitals', bytes.toString('hex').toUpperCase()],
    ['in escapes of JSON', unicode],
    ['in character references', [...secret].map(letter => `&#${letter.charCodeAt(0)};`).join('')],
    ['inside other text', `the key ${JSON.stringify(secret).slice(1, -1)} is wrong`],
  ]
}

describe('our own secret in an answer', () => {
  for (const [how, text] of echoes(SECRET)) {
    test(`${how} keeps the whole answer back, of an observation and of a write (C13)`, async () => {
      const body = `{"id":"one","name":"${text}"}`
      const [one, two] = [await read(ok(body)), await write(ok(body))]
      assert.deepEqual([saidBy(one), saidBy(two)], ['rejected RESULT_WITHHELD', 'completed RESULT_WITHHELD'])
      assert.equal(two.body.result, null)
      const later = await probe.attempt(await tokenOf(), two.body.attempt_id, 0)
      assert.deepEqual([later.body.outcome, later.body.withheld, later.body.result], ['completed', 'RESULT_WITHHELD', null])
    })
  }
  test('in a header or in a refusal, or where the view does not look, raises the same alarm and shows nothing (C13)', async () => {
    const withheld = (): number => probe.audit().filter(row => row.event === 'response.withheld').length
    await rowOf(probe, (await read(ok({ id: 'one' }))).body.correlation_id)
    const before = withheld()
    const rows: ReadonlyArray<readonly [Mode, string, string]> = [
      [ok({ id: 'one' }, 200, [`X-Echo: ${SECRET}`]), 'rejected RESULT_WITHHELD', 'completed RESULT_WITHHELD'],
      [ok({ id: 'one', ssn: SECRET }), 'rejected RESULT_WITHHELD', 'completed RESULT_WITHHELD'],
      [ok({ error: `bad key ${SECRET}` }, 422), 'rejected RESULT_WITHHELD', 'rejected UPSTREAM_REJECTED'],
    ]
    for (const [mode, observed, written] of rows) assert.deepEqual([saidBy(await read(mode)), saidBy(await write(mode))], [observed, written])
    await rowOf(probe, (await read(ok({ id: 'one' }))).body.correlation_id)
    assert.equal(withheld() - before, 6, 'one row an answer')
    assert.match(await probe.metrics(), /aval_results_withheld_total\{[^}]*RESULT_WITHHELD[^}]*\} [1-9]/)
  })

  test('split over two fields, or backwards, is not seen: that is the limit (C14)', async () => {
    const half = SECRET.length / 2
    const split = await read(ok({ id: SECRET.slice(0, half), name: SECRET.slice(half) }))
    assert.deepEqual(split.body.result, { id: SECRET.slice(0, half), name: SECRET.slice(half) })
    const backwards = [...SECRET].reverse().join('')
    assert.equal((await read(ok({ id: backwards }))).body.result.id, backwards)
  })

  test('stands in no answer, log line, audit row, metric or file, whatever the upstream did with it (C13, L02, L03)', async t => {
    const on = await startProbeProcess(t, {
      change: ({ upstream }) => {
        delete upstream.credential
        upstream.credentials = {
          read: { scheme: { in: 'query', name: 'api_key' }, secret: 'env:PROBE_READ_KEY' }, write: { scheme: 'key', secret: 'env:PROBE_KEY' },
        }
      },
    })
    const told: string[] = []
    const see = async (reached: Promise<Reached>): Promise<void> => {
      const { body, headers } = await reached
      told.push(JSON.stringify(body), JSON.stringify([...headers]))
    }
    for (const secret of [SECRET, READ_SECRET]) {
      for (const [how, text] of echoes(secret)) {
        for (const mode of [
          ok(`{"id":"one","name":"${text}"}`), ok(`{"error":"${text}"}`, 422), ok('{"id":"one"}', 200, [`X-Echo: ${text.replaceAll('\\', '')}`]),
        ]) {
          Object.assign(on.answers, { read: mode, write: mode, lookup: mode })
          await see(on.ask('get_item.v1', { id: 'one' }))
          await see(on.ask('create_item.v1', { name: how }))
          if (secret === READ_SECRET) await see(on.ask('change_item.v1', { id: 'one', name: how }))
        }
      }
    }
    for (const mode of ['silent', 'garbage', 'reset-after', 'large-head', 'redirect']) {
      Object.assign(on.answers, { read: hostileModes[mode], write: hostileModes[mode] })
      await see(on.ask('get_item.v1', { id: 'one' }))
      await see(on.ask('create_item.v1', { name: mode }))
    }
    assert.ok(on.upstream.ledger.some(({ headers }) => headers['x-probe-key'] === SECRET), 'it was really sent')
    assert.ok(on.upstream.ledger.some(({ path }) => path.endsWith(`api_key=${READ_SECRET}`)), 'and so was the other one')
    told.push(await on.metrics())
    assert.equal(await on.stop(), 0)
    told.push(on.log(), onDisk(on))
    assert.match(on.log(), /"correlation_id"/, 'there is a log')
    const all = told.join('\n')
    for (const secret of [SECRET, READ_SECRET]) {
      for (const [how, text] of echoes(secret)) {
        if (how !== 'inside other text') assert.ok(
          !all.includes(text), `${how}: ${all.slice(Math.max(0, all.indexOf(text) - 200), all.indexOf(text) + 100)}`,
        )
      }
      assert.ok(!all.includes(secret))
    }
  })
})
