// Invariant 9: what an agent lists is what it may call, whatever its roles, its token's own narrowing, the day and the catalog are.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Json } from '../../src/catalog/catalog.ts'
import type { Reached } from '../support/broker.ts'
import { edited, shopGround, type ShopGround } from './ground.ts'

/** Arguments that its schema takes and its scope does not: whoever may call it hears OUT_OF_SCOPE, and nothing is sent. */
const ARGUMENTS: { readonly [action: string]: Json } = {
  'get_customer.v1': { customer_id: 'cus_9' },
  'list_orders.v1': { customer_id: 'cus_9' },
  'quote_order.v1': { customer_id: 'cus_9', sku: 'TEA-250', quantity: 1, delivery_date: '2099-01-01' },
  'place_order.v1': { customer_id: 'cus_9', sku: 'TEA-250', quantity: 1, max_total_minor: 5_000 },
  'cancel_order.v1': { customer_id: 'cus_9', order_id: 'ord_1001' },
  'add_order_note.v1': { customer_id: 'cus_9', order_id: 'ord_1001', text: 'x' },
  'change_shipping_address.v1': { customer_id: 'cus_9', destination: { street: 'x', city: 'x', postal_code: 'x', country: 'IE' } },
  'change_shipping_address.v2': { customer_id: 'cus_9', destination: { street: 'x', city: 'x', postal_code: 'x', country: 'IE' } },
  'email_order_confirmation.v1': { customer_id: 'cus_9', order_id: 'ord_1001' },
  'refund_order.v1': { customer_id: 'cus_9', order_id: 'ord_1001', amount_minor: 1 },
  'delete_customer.v1': { customer_id: 'cus_9' },
  'start_deployment.v1': { revision: 'abc1234' },
}
const ALL = Object.keys(ARGUMENTS)
const ROLES = ['shop_reader', 'shop_assistant', 'shop_manager', 'shop_deployer', 'no_such_role']

async function listed ({ broker }: ShopGround, token: string, limit = 200): Promise<readonly string[]> {
  const names: string[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const { status, body }: Reached = await broker.get(token, `/v1/actions?limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`)
    assert.equal(status, 200, JSON.stringify(body))
    names.push(...body.actions.map((one: { action: string }) => one.action))
    cursor = body.next_cursor
  }
  return names
}

/** Each action of the catalog is called and described: those that are listed get past the question whether they may be called, and no others. */
async function holdListed (ground: ShopGround, token: string, said: string): Promise<readonly string[]> {
  const { broker, shop } = ground
  const names = await listed(ground, token)
  assert.deepEqual(await listed(ground, token, 3), names, `${said}: in pages`)
  const asked = shop.requests.length
  for (const action of ALL) {
    const call = await broker.call(token, action, ARGUMENTS[action]!)
    const described = await broker.get(token, `/v1/actions/${action}`)
    const about = `${said}: ${action} ${JSON.stringify(call.body)}`
    const callable = call.status !== 404 && call.status !== 410
    assert.deepEqual([callable, described.status === 200], [names.includes(action), names.includes(action)], about)
    if (callable) assert.ok(['OUT_OF_SCOPE', 'CONSENT_UNAVAILABLE'].includes(call.body.error?.code), about)
    else assert.ok(['UNKNOWN_ACTION', 'VERSION_RETIRED'].includes(call.body.error?.code), about)
  }
  assert.equal(shop.requests.length, asked, `${said}: nothing was sent`)
  return names
}

describe('what is listed is what may be called', () => {
  test('for any roles, and any narrowing by the token itself', async t => {
    const ground = await shopGround(t, 'sqlite')
    await fc.assert(fc.asyncProperty(
      fc.uniqueArray(fc.constantFrom(...ROLES), { maxLength: 4 }),
      fc.option(fc.uniqueArray(fc.constantFrom(...ALL, 'no_such_action.v1'), { maxLength: 6 }), { nil: undefined }),
      async (roles, actions) => {
        const token = await ground.token({ roles, claims: { customers: [], environments: [], ...(actions === undefined ? {} : { actions }) } })
        const names = await holdListed(ground, token, JSON.stringify({ roles, actions }))
        assert.ok(names.every(name => actions === undefined || actions.includes(name)))
        if (roles.length === 0) assert.deepEqual(names, [])
      },
    ), {
      numRuns: 25,
      examples: [
        [['shop_assistant', 'shop_manager', 'shop_deployer'], undefined],
        [['shop_assistant'], ['get_customer.v1', 'refund_order.v1']],
        [['shop_reader'], []],
      ],
    })
  })

  test('a token without a run lists observations alone, and is refused every write', async t => {
    const ground = await shopGround(t, 'sqlite')
    const token = await ground.token({ run: null, claims: { customers: [], environments: [] } })
    const names = await listed(ground, token)
    for (const action of ALL) {
      const { body } = await ground.broker.call(token, action, ARGUMENTS[action]!)
      assert.equal(body.error?.code === 'RUN_REQUIRED', !names.includes(action), `${action} ${JSON.stringify(body)}`)
    }
    assert.deepEqual(names, ['get_customer.v1', 'list_orders.v1'])
    assert.equal(ground.shop.requests.length, 0)
  })

  test('an action that does not exist and one that is not granted are answered alike', async t => {
    const { broker, token } = await shopGround(t, 'sqlite')
    const reader = await token({ roles: ['shop_reader'] })
    const [foreign, absent] = await Promise.all(['refund_order.v1', 'no_such_action.v1'].map(async action => {
      const { status, body } = await broker.call(reader, action, {})
      const { correlation_id: _id, ...rest } = body
      return { status, rest }
    }))
    assert.deepEqual(foreign, absent)
  })

  test('a version whose last day is over, and a grant that a reload takes or gives, change both at once', async t => {
    const ground = await shopGround(t, 'sqlite')
    const token = await ground.token({ claims: { customers: [], environments: [] } })
    assert.equal((await holdListed(ground, token, 'before')).length, ALL.length)
    edited(ground.site, 'actions/shop/change_shipping_address.v1.yaml', text => text.replace(/after: [0-9-]+/, 'after: 2020-01-01'))
    edited(
      ground.site,
      'actions/policy.yaml',
      text => text.replaceAll(/ *- place_order\.v1\n/g, '').replace('list_orders.v1, cancel_order.v1, ', 'list_orders.v1, '),
    )
    await ground.broker.reload()
    const names = await holdListed(ground, token, 'after')
    assert.deepEqual(ALL.filter(action => !names.includes(action)).sort(), ['change_shipping_address.v1', 'place_order.v1'])
  })
})
