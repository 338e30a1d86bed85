// What `aval call` makes of its flags, and how the commands talk to a broker that really runs.
import assert from 'node:assert/strict'
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { callBody } from '../../src/commands/call.ts'
import { aval, type Ended } from '../support/program.ts'
import { startShopBroker } from '../support/shop-broker.ts'

test('text is text, JSON is passed on as it was typed, to the last digit', () => {
  const pairs = ['a=1', 'b:=1', 'c=', 'd=x=y', 'e:={"f":2.0}', 'n:=9007199254740993']
  assert.equal(callBody(pairs, null), '{"arguments":{"a":"1","b":1,"c":"","d":"x=y","e":{"f":2.0},"n":9007199254740993}}')
  assert.equal(callBody([], 'because "x"'), '{"arguments":{},"reason":"because \\"x\\""}')
  assert.equal(callBody(['__proto__=x'], null), '{"arguments":{"__proto__":"x"}}')
})

test('call prints the envelope and ends with 0 where it is ok, 1 where it is not', async t => {
  const on = await startShopBroker(t)
  const call = (...args: readonly string[]): Promise<Ended> => aval(t, ['call', ...args, '--url', on.broker.agentsUrl, '--token-file', on.tokenFile])
  const read = await call('get_customer.v1', '--arg', 'customer_id=cus_1001', '--json')
  assert.deepEqual([read.code, JSON.parse(read.stdout).result.name], [0, 'Ada Okafor'])
  const refused = await call('quote_order.v1', '--arg', 'customer_id=cus_1001', '--arg', 'quantity=2')
  assert.deepEqual([refused.code, JSON.parse(refused.stdout).error.code], [1, 'INVALID_ARGUMENTS'])
  const args = ['customer_id=cus_1001', 'sku=TEA-250', 'quantity:=1', 'max_total_minor:=2000'].flatMap(pair => ['--arg', pair])
  const order = ['place_order.v1', ...args, '--key', 'k-1', '--reason', 'the customer said so']
  on.shop.faults.arm({ kind: 'lose' }, { method: 'POST', path: '/orders' })
  const lost = await call(...order, '--wait', '20s')
  assert.deepEqual([lost.code, JSON.parse(lost.stdout).outcome], [0, 'completed'], 'it waited for the truth')
  const repeated = await call(...order)
  assert.equal(JSON.parse(repeated.stdout).duplicate, true)
  assert.deepEqual(on.shop.ledger.map(({ effect }) => effect), ['order.placed'])
})

test('an answer that is no envelope proves nothing and ends with 2', async t => {
  const server = createServer(socket => {
    socket.on('error', () => {})
    const head = ['HTTP/1.1 200 OK', 'content-type: application/json', 'content-length: 11', 'connection: close']
    socket.once('data', () => socket.end([...head, '', '{"ok":true}'].join('\r\n')))
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { code, stdout, stderr } = await aval(t, ['call', 'a.v1', '--token', 'x', '--url', url])
  assert.deepEqual([code, stdout], [2, ''])
  assert.match(stderr, /proves nothing/)
})

test('what nobody knows is listed, and a person settles it', async t => {
  const on = await startShopBroker(t)
  const env = { AVAL_DATA: on.data }
  assert.equal((await aval(t, ['attempts', '--unknown'], { env })).code, 0)
  const address = { street: '1 New Road', city: 'Galway', postal_code: 'H91 E2R0', country: 'IE' }
  on.shop.faults.arm({ kind: 'lose' }, { method: 'PUT' })
  const { envelope } = await on.call('change_shipping_address.v1', { customer_id: 'cus_1001', destination: address })
  assert.equal(envelope.outcome, 'unknown')
  const listed = await aval(t, ['attempts', '--unknown', '--json'], { env })
  assert.equal(listed.code, 1, 'there is something to do')
  assert.deepEqual(JSON.parse(listed.stdout).attempts.map((row: { attempt: string }) => row.attempt), [envelope.attempt_id])
  const shown = await aval(t, ['attempts', '--unknown'], { env })
  assert.ok(shown.stdout.includes(envelope.attempt_id!) && shown.stdout.includes('change_shipping_address.v1') && !shown.stdout.includes('Galway'))
  const made = await aval(t, ['resolve', envelope.attempt_id!, '--outcome', 'rejected', '--code', 'MADE_UP', '--note', 'not in the shop'], { env })
  assert.equal(made.code, 2, 'an agent is told codes of the table or of the sheet')
  assert.match(made.stderr, /one of .*NOT_APPLIED/)
  const resolved = await aval(t, ['resolve', envelope.attempt_id!, '--outcome', 'completed', '--note', 'seen in the shop'], { env })
  assert.equal(resolved.code, 0, resolved.stderr)
  const { body } = await on.get(`/v1/attempts/${envelope.attempt_id}`)
  assert.deepEqual([body.outcome, body.evidence.source], ['completed', 'person'])
  assert.equal((await aval(t, ['resolve', envelope.attempt_id!, '--outcome', 'rejected', '--note', 'no'], { env })).code, 2, 'what is settled stays')
  assert.equal((await aval(t, ['resolve', `att_00${'0'.repeat(32)}`, '--outcome', 'completed', '--note', 'x'], { env })).code, 2)
})

test('a stopped run calls nothing any more, another run does', async t => {
  const on = await startShopBroker(t)
  const { code } = await aval(t, ['runs', 'stop', 'run-1', '--sub', 'agent-1'], { env: { AVAL_DATA: on.data } })
  assert.equal(code, 0)
  const args = { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 1, max_total_minor: 2000 }
  const stopped = await on.call('place_order.v1', args)
  assert.equal(stopped.envelope.error?.code, 'RUN_STOPPED')
  const other = await on.call('place_order.v1', args, { token: await on.mint({ run: 'run-2' }) })
  assert.equal(other.envelope.outcome, 'completed')
})

test('a bad set of sheets is refused with its faults and changes nothing, a good one comes into force', async t => {
  const on = await startShopBroker(t)
  const env = { AVAL_DATA: on.data }
  const sheet = join(on.data, '..', 'actions', 'shop', 'broken.v1.yaml')
  writeFileSync(sheet, 'action: broken\nversion: 1\nnonsense: true\n')
  const bad = await aval(t, ['reload'], { env })
  assert.equal(bad.code, 1)
  assert.match(bad.stdout, /^shop\/broken\.v1\.yaml:\d+:\d+ [a-z-]+ .+$/m)
  const json = await aval(t, ['reload', '--json'], { env })
  assert.equal(JSON.parse(json.stdout).ok, false)
  assert.equal((await on.call('get_customer.v1', { customer_id: 'cus_1001' })).envelope.outcome, 'completed')
  writeFileSync(join(on.data, '..', 'actions', 'policy.yaml'), 'roles:\n  shop_assistant: [list_orders.v1]\n')
  rmSync(sheet)
  const good = await aval(t, ['reload'], { env })
  assert.equal(good.code, 0, good.stdout + good.stderr)
  assert.equal((await on.call('get_customer.v1', { customer_id: 'cus_1001' })).envelope.error?.code, 'UNKNOWN_ACTION')
  assert.equal((await on.call('list_orders.v1', { customer_id: 'cus_1001' })).envelope.outcome, 'completed')
})
