// A broker in front of the bundled shop whose sheets ask for consent, and people who decide through the store, as the page does through the desk.
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { parseDocument } from 'yaml'
import { NO_ALIASES } from '../../src/consent/principals.ts'
import type { BrokerOptions } from '../../src/commands/broker.ts'
import type { Environment } from '../../src/config.ts'
import type { Decision, DenyCode, ProposalRecord } from '../../src/consent/proposal.ts'
import type { AdvancedProposal } from '../../src/store/consent-store.ts'
import type { Store } from '../../src/store/store.ts'
import { keeping, type StoreKind } from '../invariants/ground.ts'
import { makeShopSite, startTestBroker, type Reached, type ShopSite, type TestBroker, type TokenClaims } from '../support/broker.ts'
import { startRecorder, type Recorded, type Recorder } from './recorder.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'

export const ADDRESS = { street: '9 Low Road', city: 'Cork', postal_code: 'T12 X7YW', country: 'IE' }
export const OTHER_ADDRESS = { ...ADDRESS, street: '10 Low Road' }
export const CHANGE = 'change_shipping_address.v2'

export interface Deciding {
  readonly sub?: string
  readonly roles?: readonly string[]
  readonly epoch?: number
  readonly digest?: string
}

export interface Stage {
  readonly shop: ShopSite['shop']
  readonly site: ShopSite
  readonly broker: TestBroker
  /** Of the broker that was started last. */
  store (): Store
  readonly redis: RedisServer | null
  /** Of the one run of the test. */
  readonly token: string
  /** Another broker on the same state; the embedded store allows one at a time, so there it takes the place of the first. */
  another (env?: Environment): Promise<TestBroker>
  call (args?: object, options?: { readonly token?: string, readonly key?: string, readonly broker?: TestBroker }): Promise<Reached>
  /** A pending proposal to change the address of a customer. */
  propose (args?: object, options?: { readonly token?: string, readonly key?: string }): Promise<string>
  approve (id: string, by?: Deciding): Promise<AdvancedProposal>
  deny (id: string, why?: { readonly code?: DenyCode, readonly text?: string, readonly visibility?: 'agent' | 'staff' }): Promise<AdvancedProposal>
  commit (id: string, options?: { readonly token?: string, readonly broker?: TestBroker, readonly body?: string }): Promise<Reached>
  get (id: string, query?: string): Promise<Reached>
  withdraw (id: string, token?: string): Promise<Reached>
  record (id: string): Promise<ProposalRecord>
  /** Whatever goes to the shop goes through it. */
  readonly recorder: Recorder
  /** Every write that the shop was asked for, whatever it answered. */
  writes (): readonly Recorded[]
  /** What the shop says was done. */
  effects (): number
}

export interface StageOptions {
  readonly env?: Environment
  /** Changes the sheets before the broker reads them. */
  readonly edit?: (site: ShopSite) => void
  readonly people?: BrokerOptions['people']
  readonly mcp?: BrokerOptions['mcp']
  /** What the embedded store takes for the time of day. */
  readonly wallMs?: () => number
}

/** Changes a YAML file of the site; the reload is the test's. */
export function editYaml (site: ShopSite, path: string, change: (document: ReturnType<typeof parseDocument>) => void): void {
  const file = join(site.folder, 'actions', path)
  const document = parseDocument(readFileSync(file, 'utf8'))
  change(document)
  writeFileSync(file, document.toString({ lineWidth: 0 }))
}

/** The change of an address asks for a person, and the shop's lead is that person. */
export function askForChange (site: ShopSite, consent: 'call' | 'session' = 'call'): void {
  editYaml(site, `shop/${CHANGE}.yaml`, sheet => {
    sheet.set('consent', consent)
    sheet.set('proposal', sheet.createNode({
      effect: 'Replace the shipping address of customer ${args.customer_id}',
      before: { shipping_address: '${reads.customer.body.shipping_address}' },
      after: { shipping_address: '${args.destination}' },
      facts: { recipients: 1, reversible: 'yes, by the same action' },
    }))
  })
  editYaml(site, 'policy.yaml', policy => {
    policy.setIn(['approvers', 'shop_lead'], policy.createNode([CHANGE, 'refund_order.v1', 'delete_customer.v1', 'email_order_confirmation.v1']))
  })
}

export async function consentStage (t: TestContext, kind: StoreKind, options: StageOptions = {}): Promise<Stage> {
  const keep = keeping(t)
  const redis = kind === 'redis' ? keep(await startRedis(), server => server.stop()) : null
  const env = { ...redis === null ? {} : { AVAL_STATE: `redis://127.0.0.1:${redis.port}` }, ...options.env }
  let recorder: Recorder | null = null
  const through = async (shopUrl: string): Promise<string> => {
    recorder = keep(await startRecorder(shopUrl), one => one.close())
    return recorder.url
  }
  const site = keep(await makeShopSite({ env, through }), async one => {
    await one.shop.close()
    one.remove()
  })
  askForChange(site)
  options.edit?.(site)
  let store: Store | null = null
  const people: NonNullable<BrokerOptions['people']> = options.people ?? (() => ({ origin: null, principals: NO_ALIASES, rolesOf: async () => null }))
  const start = async (more: Environment = {}): Promise<TestBroker> => keep(await startTestBroker(site, more, {
    ...options.mcp === undefined ? {} : { mcp: options.mcp },
    ...options.wallMs === undefined ? {} : { embedded: { wallMs: options.wallMs } },
    people: one => {
      store = one
      return people(one)
    },
  }), one => one.close())
  const broker = await start()
  const token = await site.token({ run: 'run-1' })
  // A replica has a journal, an audit and a socket of its own, and the key of all.
  const another = (more: Environment = {}): Promise<TestBroker> =>
    start({ ...kind === 'redis' ? { AVAL_DATA: join(site.folder, `data-${randomUUID().slice(0, 8)}`) } : {}, ...more })
  return stageOf({ site, recorder: recorder!, broker, store: () => store!, redis, token, another })
}

function stageOf (parts: Pick<Stage, 'site' | 'recorder' | 'broker' | 'store' | 'redis' | 'token' | 'another'>): Stage {
  const { site, broker, store, token } = parts
  const { shop } = site
  const record = async (id: string): Promise<ProposalRecord> => (await store().findProposal(id))!.record
  const ask = async (method: string, path: string, as: string, on: TestBroker, body: string | null = null): Promise<Reached> => {
    const answer = await fetch(`${on.agentsUrl}${path}`, {
      method, body, headers: { authorization: `Bearer ${as}`, ...body === null ? {} : { 'content-type': 'application/json' } },
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) }
  }
  const call: Stage['call'] = (args, one = {}) => (one.broker ?? broker).call(one.token ?? token, CHANGE, change(args), one.key)
  const decide = async (id: string, decision: Partial<Decision>, by: Deciding): Promise<AdvancedProposal> => {
    const held = await record(id)
    return store().advanceProposal(held, { type: 'decide', decision: { ...decided(held, by), ...decision } })
  }
  return {
    ...parts,
    shop,
    call,
    async propose (args, one) {
      const answer = await call(args, one)
      if (answer.status !== 202 || answer.body.pending_on !== 'consent') throw new Error(`not proposed: ${answer.status} ${JSON.stringify(answer.body)}`)
      return answer.body.proposal.id
    },
    approve: (id, by = {}) => decide(id, { decision: 'approve' }, by),
    deny: (id, { code = 'wrong_target', text = 'Not this customer.', visibility = 'agent' } = {}) =>
      decide(id, { decision: 'deny', reasonCode: code, reasonText: text, visibility }, {}),
    commit: (id, { token: as = token, broker: on = broker, body } = {}) => ask('POST', `/v1/proposals/${id}/commit`, as, on, body ?? null),
    get: (id, query = '') => ask('GET', `/v1/proposals/${id}${query}`, token, broker),
    withdraw: (id, as = token) => ask('DELETE', `/v1/proposals/${id}`, as, broker),
    record,
    writes: () => parts.recorder.requests.filter(({ method }) => method !== 'GET'),
    effects: () => shop.ledger.length,
  }
}

const change = (args: object = {}): Record<string, never> => ({ customer_id: 'cus_1001', destination: ADDRESS, ...args }) as never

function decided (record: ProposalRecord, { sub = 'lead-1', roles = ['shop_lead'], epoch = 0, digest = record.digest }: Deciding): Omit<Decision, 'atMs'> {
  return {
    id: randomUUID(),
    digest,
    approver: {
      iss: 'https://people.test.example', sub, principal: `https://people.test.example|${sub}`, display: sub, roles,
      authTimeS: Math.floor(Date.now() / 1000), acr: null,
    },
    decision: 'approve',
    reasonCode: null,
    reasonText: null,
    visibility: 'agent',
    shown: { renderer: 'test', msOnPage: 4_000, surface: 'page' },
    epoch,
  }
}
