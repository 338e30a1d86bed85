// A broker whose secrets lie in the vault: it does not start where it cannot have them, refuses later, and after a lock has none of them.
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateX25519Identity, identityToRecipient } from 'age-encryption'
import { emptyVault, withSecret, writeVault } from '../../src/credentials/vault-file.ts'
import { makeShopSite, startBrokerProcess, startTestBroker, type ShopSite } from '../support/broker.ts'
import { controlOf, edited, eventually } from '../invariants/ground.ts'

const ORDER = { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 1, max_total_minor: 5000 }

interface Ground {
  readonly site: ShopSite
  /** The value that opens the shop. */
  readonly key: string
  readonly vault: string
  /** What opens the vault. */
  readonly identity: string
  fill (name: string): Promise<void>
}

async function ground (t: TestContext): Promise<Ground> {
  const site = await makeShopSite()
  t.after(async () => {
    await site.shop.close()
    site.remove()
  })
  const key = readFileSync(join(site.folder, 'shop_write'), 'utf8')
  rmSync(join(site.folder, 'shop_write'))
  edited(site, 'actions/shop/upstream.yaml', text => text.replace(/file:[^\s"]*shop_write/, 'vault:shop_write'))
  const vault = join(site.folder, 'v.age')
  const identity = await generateX25519Identity()
  writeFileSync(join(site.folder, 'identity'), identity, { mode: 0o600 })
  const empty = emptyVault([await identityToRecipient(identity)])
  const fill = (name: string): Promise<void> => writeVault(vault, withSecret(empty, name, Buffer.from(key), new Date()), null)
  await fill('shop_write')
  return { site, key, vault, identity, fill }
}

const withKey = ({ site, vault }: Ground) => ({ AVAL_VAULT: `file:${vault},identity=file:${join(site.folder, 'identity')}` })

test('a write is sent with a secret of the vault, and the lock takes it away until somebody unlocks', async t => {
  const at = await ground(t)
  const { site, identity } = at
  const broker = await startTestBroker(site, withKey(at))
  t.after(() => broker.close())
  const token = await site.token()
  assert.equal((await broker.call(token, 'place_order.v1', ORDER, '1')).body.outcome, 'completed')
  assert.partialDeepStrictEqual(await controlOf(site, { command: 'vault lock', note: 'a test' }), { ok: true, result: { locked: true, epoch: 1, waiting_for: [], vault: 'closed' } })
  assert.equal((await broker.call(token, 'place_order.v1', ORDER, '2')).status, 423)
  writeFileSync(join(site.folder, 'identity'), await generateX25519Identity())
  const refused = await controlOf(site, { command: 'vault unlock', note: 'a test' })
  assert.ok(!refused.ok && /the identity is another one/.test(refused.error.message), JSON.stringify(refused))
  assert.equal((await broker.call(token, 'place_order.v1', ORDER, '2')).status, 423, 'what cannot be opened is not unlocked')
  assert.partialDeepStrictEqual(await controlOf(site, { command: 'vault unlock', note: 'a test', key: { kind: 'identity', value: identity } }),
    { ok: true, result: { locked: false, epoch: 1, waiting_for: [], vault: 'open' } })
  assert.equal((await broker.call(token, 'place_order.v1', ORDER, '3')).body.outcome, 'completed')
  assert.equal(site.shop.ledger.length, 2)
})

test('a write under way at the lock is told as it ended, and what the upstream said is not kept: nobody could look for the secret in it', async t => {
  const at = await ground(t)
  const { site } = at
  const broker = await startTestBroker(site, withKey(at))
  t.after(() => broker.close())
  const token = await site.token()
  site.shop.faults.arm({ kind: 'delay', delayMs: 800 }, { method: 'POST' })
  const calling = broker.call(token, 'place_order.v1', ORDER)
  await eventually(() => site.shop.ledger.length === 1, 'the order has arrived')
  await controlOf(site, { command: 'vault lock', note: 'a test' })
  const { body } = await calling
  assert.deepEqual([body.outcome, body.result], ['completed', null])
  await controlOf(site, { command: 'vault unlock', note: 'a test' })
  const later = (await broker.get(token, `/v1/attempts/${body.attempt_id}`)).body
  assert.deepEqual([later.outcome, later.result, later.withheld], ['completed', null, 'RESULT_WITHHELD'])
})

test('without a key of its own the broker waits for a person, and sends nothing that needs the vault', async t => {
  const at = await ground(t)
  const { site, vault, identity } = at
  const broker = await startTestBroker(site, { AVAL_VAULT: `file:${vault}` })
  t.after(() => broker.close())
  const token = await site.token()
  const refused = await broker.call(token, 'place_order.v1', ORDER, '1')
  assert.deepEqual([refused.status, refused.body.error.code], [503, 'CREDENTIAL_UNAVAILABLE'])
  assert.equal((await broker.call(token, 'get_customer.v1', { customer_id: 'cus_1001' })).body.outcome, 'completed', 'what does not need it goes on')
  const ready = await (await fetch(`${broker.operationsUrl}/readyz`)).json() as any
  assert.equal(ready.dependencies.find((one: any) => one.name === 'vault').detail, 'waits for its key')
  assert.ok((await controlOf(site, { command: 'vault unlock', note: 'a test', key: { kind: 'identity', value: identity } })).ok)
  assert.equal((await broker.call(token, 'place_order.v1', ORDER, '1')).body.outcome, 'completed')
})

test('a vault that cannot be had refuses the start, and later the calls that need it (F6)', async t => {
  const at = await ground(t)
  const { site, vault, identity, fill } = at
  const starts = (env: Record<string, string>): Promise<string> => startTestBroker(site, env).then(async broker => {
    await broker.close()
    return 'started'
  }, (error: Error) => error.message)
  await fill('another')
  assert.match(await starts(withKey(at)), /vault:shop_write is not in the vault/)
  await fill('shop_write')
  writeFileSync(join(site.folder, 'identity'), await generateX25519Identity())
  assert.match(await starts(withKey(at)), /the identity is another one, or the file is damaged/)
  writeFileSync(join(site.folder, 'identity'), identity)
  assert.match(await starts({ AVAL_VAULT: `file:${vault}.none,identity=file:${join(site.folder, 'identity')}` }), /is not there/)
  assert.match(await starts({}), /AVAL_VAULT names one/)
  const broker = await startTestBroker(site, withKey(at))
  t.after(() => broker.close())
  const token = await site.token()
  await fill('another')
  await sleep(1_200)
  const refused = await broker.call(token, 'place_order.v1', ORDER, '1')
  assert.deepEqual([refused.status, refused.body.error.code, refused.body.sent], [503, 'CREDENTIAL_UNAVAILABLE', false])
  await fill('shop_write')
  await sleep(1_200)
  assert.equal((await broker.call(token, 'place_order.v1', ORDER, '1')).body.outcome, 'completed', 'it comes back without a restart')
})

test('neither the secret nor what opens the vault stands in anything that the broker says or writes, locked or not (F10)', async t => {
  const at = await ground(t)
  const { site, key, identity } = at
  const broker = await startBrokerProcess(site, { ...withKey(at), AVAL_LOG: 'trace' })
  t.after(() => broker.kill9())
  const token = await site.token()
  const said: unknown[] = [await broker.call(token, 'place_order.v1', ORDER, '1')]
  said.push(await controlOf(site, { command: 'vault lock', note: 'a test' }))
  said.push(await broker.call(token, 'place_order.v1', ORDER, '2'), await broker.get(token, '/v1/actions'), await broker.metrics())
  said.push(await controlOf(site, { command: 'vault unlock', note: 'a test', key: { kind: 'passphrase', value: 'wrong canary' } }))
  said.push(await controlOf(site, { command: 'vault unlock', note: 'a test', key: { kind: 'identity', value: identity } }))
  said.push(await broker.call(token, 'place_order.v1', ORDER, '3'), await controlOf(site, { command: 'vault status' }))
  await broker.stop()
  const files = readdirSync(join(site.folder, 'data'), { recursive: true, encoding: 'utf8' }).map(name => join(site.folder, 'data', name))
    .filter(path => statSync(path).isFile()).map(path => readFileSync(path, 'latin1'))
  const all = [JSON.stringify(said), broker.log(), ...files].join('\n')
  assert.match(all, /vault\.locked/, 'the audit is among it')
  for (const secret of [key, identity, 'wrong canary', Buffer.from(key).toString('base64').replace(/=*$/, '')]) assert.ok(!all.includes(secret))
  assert.equal(site.shop.ledger.length, 2)
})

test('of a locked broker the heap holds neither the secret nor what opens the vault, and a crash leaves nothing behind (F10)', async t => {
  const at = await ground(t)
  const { site, key, identity } = at
  const left = join(site.folder, 'left-behind')
  mkdirSync(left)
  const broker = await startBrokerProcess(site, withKey(at), [`--diagnostic-dir=${left}`, '--heapsnapshot-signal=SIGUSR2', 'src/cli.ts', 'serve', '--json'])
  t.after(() => broker.kill9())
  const token = await site.token()
  assert.equal((await broker.call(token, 'place_order.v1', ORDER, '1')).body.outcome, 'completed')
  assert.ok((await controlOf(site, { command: 'vault lock', note: 'a test' })).ok)
  // And as a person opens it, with a key that came through the socket.
  assert.ok((await controlOf(site, { command: 'vault unlock', note: 'a test', key: { kind: 'identity', value: identity } })).ok)
  assert.equal((await broker.call(token, 'place_order.v1', ORDER, '2')).body.outcome, 'completed')
  assert.ok((await controlOf(site, { command: 'vault lock', note: 'a test' })).ok)
  assert.equal((await broker.call(token, 'place_order.v1', ORDER, '3')).status, 423)
  broker.signal('SIGUSR2')
  await eventually(() => readdirSync(left).length === 1, 'there is a snapshot', 60_000)
  // It is written in one go, during which the broker answers nobody.
  assert.match(await broker.metrics(), /aval_vault_locked 1/)
  const heap = readFileSync(join(left, readdirSync(left)[0]!), 'latin1')
  assert.ok(heap.includes('vault:shop_write'), 'it is the heap of this broker')
  for (const secret of [key, identity]) {
    const bytes = Buffer.from(secret)
    for (const form of [secret, bytes.toString('hex'), bytes.toString('base64').replace(/=*$/, ''), bytes.toString('base64url')]) assert.ok(!heap.includes(form))
  }
  broker.signal('SIGABRT')
  await assert.rejects(async () => { for (;;) await broker.metrics() }, 'it is gone')
  assert.deepEqual(readdirSync(left).filter(name => !name.endsWith('.heapsnapshot')), [], 'and wrote no report')
})

for (const point of ['after_credential', 'before_send']) {
  for (const opened of [false, true]) {
    test(`the lock falls ${point}${opened ? ', and is opened again' : ''}: the write that nobody sent is told as such, not as unknown`, async t => {
      const at = await ground(t)
      const { site } = at
      const broker = await startTestBroker(site, { ...withKey(at), AVAL_FAILPOINTS: `${point}:sleep(1200)` })
      t.after(() => broker.close())
      const token = await site.token()
      const calling = broker.call(token, 'place_order.v1', ORDER, '1')
      await sleep(500)
      assert.ok((await controlOf(site, { command: 'vault lock', note: 'a test' })).ok)
      if (opened) assert.ok((await controlOf(site, { command: 'vault unlock', note: 'a test' })).ok)
      const { status, body } = await calling
      assert.deepEqual([status, body.outcome, body.sent, site.shop.ledger.length], [opened ? 503 : 423, 'rejected', false, 0], JSON.stringify(body))
      assert.ok(site.shop.requests.every(({ method }) => method === 'GET'), 'nothing left, with a key or without')
    })
  }
}
