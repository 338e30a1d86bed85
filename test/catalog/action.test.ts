// One realistic sheet from load to result: an address of a customer with versions, and what else an action is made of.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExpressionFault, type Action, type Bindings, type Json } from '../../src/catalog/catalog.ts'
import { printSchema, SCHEMA_KINDS } from '../../src/commands/schema.ts'
import { load, loadRead, loadWrite, rulesOf, writeSheet } from './shop-folder.ts'
import { Ajv2020 } from 'ajv/dist/2020.js'

const CUSTOMER = { id: 'c_1', version: 7, state: 'active', email: 'x@y.example', shipping_address: { city: 'Bern', country: 'CH' } }
const ARGS = { customer_id: 'c_1', destination: { city: 'Rome', country: 'IT' } }

const start = (args: object = ARGS, claims: object = { customers: ['c_1'] }): Bindings => ({
  args: args as Bindings['args'],
  caller: { sub: 'agent', tenant: 'acme', run: 'run-1', claims: claims as Bindings['caller']['claims'] },
  reads: {}, values: {}, target: null, attempt: null, response: null, now: '2026-11-30T10:00:00.000Z',
})

/** As a call does it: reads, values, checks, target. */
function facts (action: Action, body: Json = CUSTOMER, bindings = start()): Bindings {
  let known: Bindings = { ...bindings, reads: { customer: { status: 200, headers: {}, body } } }
  for (const value of action.values) known = { ...known, values: { ...known.values, [value.name]: value.evaluate(known) } }
  return { ...known, target: action.target!(known), attempt: { id: 'att_1', key: '6f1c', reference: null } }
}

test('an action is what its sheet says', async t => {
  const action = await loadWrite(t)
  const { limits } = action
  const expected: Partial<Action> = {
    id: 'change_shipping_address.v2',
    name: 'change_shipping_address',
    version: 2,
    title: 'Change a customer\'s shipping address',
    effect: 'reversible_change',
    write: true,
    involves: ['personal_data'],
    sensitivity: 'personal',
    consent: 'call',
    retry: 'same_key',
    repeatable: false,
    versionGuarded: true,
    idempotency: { place: 'header', name: 'Idempotency-Key', retentionMs: 86_400_000 },
    compensateWith: null,
    sunset: null,
  }
  for (const [name, value] of Object.entries(expected)) assert.deepEqual(action[name as keyof Action], value, name)
  assert.deepEqual(
    [limits.timeoutMs, limits.callsPerRun, limits.refusalsPerRun, limits.concurrencyPerTenant, limits.serialize!(start())],
    [5_000, 20, 5, 4, 'c_1']
  )
  assert.deepEqual(action.inputSchema, writeSheet().input)
  assert.deepEqual(action.errors.map(error => error.code), ['CUSTOMER_DELETED', 'CHANGE_FAILED'])
})

test('what a sheet leaves out has its default', async t => {
  const action = await loadRead(t)
  assert.deepEqual(
    [action.write, action.involves, action.sensitivity, action.target, action.proposal, action.idempotency, action.lookup, action.view!.maxBytes],
    [false, [], 'internal', null, null, null, null, 32_768]
  )
  assert.deepEqual(action.limits, { timeoutMs: 10_000, callsPerRun: null, refusalsPerRun: null, concurrencyPerTenant: null, serialize: null })
})

test('scope is about arguments and claims, and what fails to evaluate is out of it', async t => {
  const [rule] = (await loadWrite(t)).scope
  assert.equal(rule!.text, 'args.customer_id in caller.claims.customers')
  assert.deepEqual(
    [{ customers: ['c_1'] }, { customers: [] }, {}, { customers: 'c_1' }, { customers: null }].map(claims => rule!.holds(start(ARGS, claims))),
    [true, false, false, false, false]
  )
})

test('reads are placed from arguments, and later ones from earlier ones', async t => {
  const action = await loadWrite(
    t,
    shop => { shop.write.reads.again = { operation: 'getCustomer', path: { id: '${reads.customer.body.id}' }, allow: [404] } }
  )
  const [first, second] = action.reads
  assert.deepEqual([first!.name, first!.request.place(start()).path, [...first!.allow]], ['customer', { id: 'c_1' }, []])
  assert.deepEqual([second!.request.place(facts(action)).path, [...second!.allow]], [{ id: 'c_1' }, [404]])
  assert.throws(() => second!.request.place(start()), ExpressionFault)
})

test('checks hold, refuse with the code of the sheet, settle, or fail where what they need is not there', async t => {
  const action = await loadWrite(t)
  const [alive, differs] = action.checks
  const known = facts(action)
  assert.deepEqual([alive!.holds(known), differs!.holds(known)], [true, true])
  assert.deepEqual(alive!.otherwise, { kind: 'refuse', code: 'CUSTOMER_DELETED', message: 'The customer has been deleted.', retryable: false })
  assert.deepEqual(differs!.otherwise, { kind: 'settle', outcome: 'already_in_desired_state' })
  assert.equal(alive!.holds(facts(action, { ...CUSTOMER, state: 'deleted' })), false)
  assert.equal(differs!.holds(facts(action, { ...CUSTOMER, shipping_address: { country: 'IT', city: 'Rome' } })), false)
  assert.throws(() => alive!.holds({ ...known, reads: { customer: { status: 200, headers: {}, body: {} } } }), ExpressionFault)
})

test('a check without a code is about whose object it is', async t => {
  const action = await loadWrite(t, shop => { shop.write.checks = [{ require: 'reads.customer.body.id == args.customer_id' }] })
  assert.deepEqual(
    action.checks[0]!.otherwise,
    { kind: 'refuse', code: 'OUT_OF_SCOPE', message: 'This caller may not act on this object.', retryable: false }
  )
})

test('the target has its version as it was read, of whatever type', async t => {
  const action = await loadWrite(t)
  assert.deepEqual(facts(action).target, { type: 'customer', id: 'c_1', version: 7 })
  assert.throws(() => facts(action, { ...CUSTOMER, version: 2 ** 53 }), ExpressionFault)
  const tagged = await loadWrite(
    t,
    shop => { shop.write.target.version = '${reads.customer.headers.etag}'; shop.write.target.id = 'customer ${args.customer_id}' }
  )
  const target = tagged.target!({ ...start(), reads: { customer: { status: 200, headers: { etag: '"7"' }, body: CUSTOMER } } })
  assert.deepEqual(target, { type: 'customer', id: 'customer c_1', version: '"7"' })
  const unversioned = await loadWrite(t, shop => { delete shop.write.target.version; delete shop.write.request.headers })
  assert.deepEqual([facts(unversioned).target!.version, unversioned.versionGuarded], [null, false])
})

test('the request is exactly what the sheet places, with the upstream key', async t => {
  const action = await loadWrite(t)
  const placed = action.request.place(facts(action))
  assert.deepEqual({ ...placed, operation: placed.operation.id }, {
    operation: 'updateCustomer', path: { id: 'c_1' }, query: {}, headers: { 'If-Match': '"7"', 'idempotency-key': '6f1c' }, cookies: {},
    body: { shipping_address: { city: 'Rome', country: 'IT' } }, mediaType: null,
  })
  assert.throws(() => action.request.place({ ...facts(action), attempt: null }), ExpressionFault)
  assert.throws(() => action.request.place({ ...facts(action), target: null }), ExpressionFault)
})

test('an upstream key may go into the query or the body', async t => {
  const body = await loadWrite(t, shop => { shop.write.idempotency = { body: '/request_id', retention: '1h' } })
  assert.deepEqual(body.request.place(facts(body)).body, { shipping_address: ARGS.destination, request_id: '6f1c' })
  assert.deepEqual(body.idempotency, { place: 'body', name: '/request_id', retentionMs: 3_600_000 })
  const query = await loadWrite(t, shop => {
    shop.document.paths['/customers/{id}'].patch.parameters.push({ name: 'request', in: 'query', schema: { type: 'string' } })
    shop.write.idempotency = { query: 'request', retention: '1h' }
  })
  assert.deepEqual(query.request.place(facts(query)).query, { request: '6f1c' })
})

test('an argument that is absent leaves its entry out, null is sent', async t => {
  const action = await loadWrite(t, shop => {
    shop.write.input.properties.note = { type: ['string', 'null'], maxLength: 100 }
    shop.write.input.properties.dry = { type: 'boolean' }
    shop.write.request.body.note = '${args.?note}'
    shop.write.request.query = { dry: '${args.?dry}' }
  })
  const placed = (more: object): unknown[] => {
    const { body, query } = action.request.place(facts(action, CUSTOMER, start({ ...ARGS, ...more })))
    return [body, query]
  }
  assert.deepEqual(placed({}), [{ shipping_address: ARGS.destination }, {}])
  assert.deepEqual(placed({ note: null, dry: false }), [{ shipping_address: ARGS.destination, note: null }, { dry: false }])
})

test('numbers reach the request as what they are', async t => {
  const action = await loadWrite(t, shop => {
    shop.write.input.properties.level = { type: 'integer' }
    shop.write.input.required.push('level')
    shop.write.request.body.level = '${args.level * 2 + reads.customer.body.version}'
    delete shop.write.examples
  })
  assert.equal((action.request.place(facts(action, CUSTOMER, start({ ...ARGS, level: 3 }))).body as any).level, 13)
  assert.throws(() => action.request.place(facts(action, CUSTOMER, start({ ...ARGS, level: Number.MAX_SAFE_INTEGER }))), ExpressionFault)
})

test('a value keeps its type on its way: computed from integers, it is one', async t => {
  const action = await loadWrite(t, shop => {
    shop.write.values = {
      lines: '${[reads.customer.body.version, 2]}',
      next: { version: '${reads.customer.body.version + 1}' },
      sum: '${values.lines[0] + values.next.version}',
      city: 'x',
    }
    shop.write.request.body.level = '${values.sum + 1}'
  })
  const known = facts(action)
  assert.deepEqual(known.values, { lines: [7, 2], next: { version: 8 }, sum: 15, city: 'x' })
  assert.equal((action.request.place(known).body as any).level, 16)
})

test('a proposal is made from facts', async t => {
  const action = await loadWrite(t)
  const known = facts(action)
  const proposal = action.proposal!
  assert.deepEqual([proposal.effect(known), proposal.before(known), proposal.after(known), proposal.facts(known)], [
    [{ kind: 'text', text: 'Replace the shipping address of customer ' }, { kind: 'slot', of: 'args.customer_id', value: 'c_1' }],
    { shipping_address: { city: 'Bern', country: 'CH' } },
    { shipping_address: { city: 'Rome', country: 'IT' } },
    { environment: 'production', city: 'Bern' },
  ])
})

test('arguments are checked by the input of the sheet', async t => {
  const action = await loadWrite(t)
  assert.equal(action.checkArguments(ARGS), null)
  assert.equal(action.checkArguments({ ...ARGS, destination: { city: 'Rome', country: 'Italy' } })?.pointer, '/destination/country')
  assert.equal(action.checkArguments({ ...ARGS, approved: true })?.rule, 'additionalProperties')
})

test('an outcome and a view follow from the answer', async t => {
  const action = await loadWrite(t)
  const known = { ...facts(action), response: { status: 200, headers: {}, body: { ...CUSTOMER, version: 8 } } }
  assert.equal(action.judge(known).outcome, 'completed')
  const result = { customer_id: 'c_1', new_version: 8 }
  assert.deepEqual(action.view!.project(known), { result, truncated: false, text: JSON.stringify(result) })
})

test('two loads of the same files make equal actions that share nothing that changes', async t => {
  const [one, other] = [await loadWrite(t), await loadWrite(t)]
  assert.equal(one.digest, other.digest)
  assert.notEqual(one, other)
})

test('a compiled action evaluates in microseconds, not in environments', async t => {
  const action = await loadWrite(t)
  const known = facts(action)
  const run = (): void => { for (let n = 0; n < 2_000; n++) { action.scope[0]!.holds(known); action.request.place(known) } }
  run()
  const startMs = performance.now()
  run()
  const eachMs = (performance.now() - startMs) / 2_000
  // One environment alone costs more than a millisecond to make.
  assert.ok(eachMs < 1, `${eachMs} ms`)
})

test('the printed schemas are JSON Schemas that the bundled files match', async t => {
  assert.deepEqual(SCHEMA_KINDS, ['sheet', 'upstream', 'policy', 'scenarios', 'mock', 'webhooks', 'principals', 'gold', 'trace'])
  const ajv = new Ajv2020({ strict: false, formats: { date: true } })
  const matches = (kind: 'sheet' | 'upstream' | 'policy', value: unknown): boolean => ajv.validate(JSON.parse(printSchema(kind)), value) as boolean
  assert.ok(matches('sheet', writeSheet()))
  assert.ok(!matches('sheet', { ...writeSheet(), more: 1 }))
  assert.ok(matches(
    'upstream',
    { upstream: 'a', openapi: 'a.yaml', server: 'https://a.example', credentials: { read: { scheme: 'bearer', secret: 'env:A' } } }
  ))
  assert.ok(matches('policy', { roles: { a: ['a.v1'], b: { actions: [], max_effect: 'observation' } } }))
  assert.ok(!matches('policy', {}))
  for (const kind of SCHEMA_KINDS) {
    // The broker does not ask: they are the same at every start.
    assert.ok(ajv.validateSchema(JSON.parse(printSchema(kind))), `${kind}: ${ajv.errorsText()}`)
    for (const [name, part] of Object.entries<any>(JSON.parse(printSchema(kind)).properties)) {
      assert.equal(typeof part.description, 'string', `${kind} ${name}`)
    }
  }
  assert.deepEqual(await rulesOf(t, () => {}), [])
  assert.equal((await load(t)).actions.size, 2)
})
