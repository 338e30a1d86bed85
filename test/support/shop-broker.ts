// A whole broker in front of the shop, in this process, with the bundled sheets: what scenarios run on.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { BUNDLED, placeSheets } from '../../src/commands/demo/sheets.ts'
import { startShop, type Shop } from '../../src/commands/demo/shop.ts'
import { makeSigningKey, mintToken, type TokenRequest } from '../../src/commands/token.ts'
import { readConfig } from '../../src/config.ts'
import type { Envelope } from '../../src/execution/envelope.ts'
import { startBroker } from '../../src/main.ts'
import type { Broker } from '../../src/commands/broker.ts'

const ISSUER = 'https://issuer.example'
const AUDIENCE = 'https://aval.example'

export interface Called {
  readonly status: number
  readonly envelope: Envelope
}

export interface ShopBroker {
  readonly shop: Shop
  readonly broker: Broker
  /** The data folder. */
  readonly data: string
  /** Holds the access token of the run that `call` calls in. */
  readonly tokenFile: string
  mint (change?: Partial<TokenRequest>): Promise<string>
  /** `body` where it must go out as it stands, `2.0` and all; else the arguments. */
  call (action: string, args: object | string, options?: { readonly key?: string, readonly token?: string }): Promise<Called>
  get (path: string, token?: string): Promise<{ readonly status: number, readonly body: any }>
  /** `method path` of what the shop has been asked since, without its base path and query. */
  requestsSince (mark: number): readonly string[]
}

/** @param settings further variables of its environment */
export async function startShopBroker (t: TestContext, settings: { readonly [name: string]: string } = {}): Promise<ShopBroker> {
  const folder = mkdtempSync(join(tmpdir(), 'aval-shop-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const keys = { apiKey: 'write-key-of-the-test-shop', readKey: 'read-key-of-the-test-shop' }
  const shop = await startShop({ port: 0, deployMs: 300, ...keys })
  t.after(() => shop.close())
  const key = await makeSigningKey()
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  writeFileSync(join(folder, 'jwks.json'), JSON.stringify(key.jwks))
  const broker = await startBroker(readConfig({
    AVAL_AGENTS: '127.0.0.1:0',
    AVAL_OPERATIONS: '127.0.0.1:0',
    AVAL_LOG: 'silent',
    AVAL_ACTIONS: await placeSheets(folder, { url: shop.url, ...keys }),
    AVAL_OPENAPI: BUNDLED.openapiFolder,
    AVAL_DATA: data,
    AVAL_ISSUER: ISSUER,
    AVAL_AUDIENCE: AUDIENCE,
    AVAL_JWKS: `file:${join(folder, 'jwks.json')}`,
    ...settings,
  }))
  t.after(() => broker.close())
  const mint = (change: Partial<TokenRequest> = {}): Promise<string> => mintToken({
    key,
    issuer: ISSUER,
    audience: AUDIENCE,
    sub: 'agent-1',
    roles: ['shop_assistant', 'shop_manager', 'shop_deployer'],
    run: 'run-1',
    claims: { customers: ['cus_1001', 'cus_1002', 'cus_1003', 'cus_9999'], environments: ['staging'] },
    ...change,
  })
  const standing = await mint()
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, standing, { mode: 0o600 })
  return {
    shop,
    broker,
    data,
    tokenFile,
    mint,
    async call (action, args, { key: idempotencyKey, token = standing } = {}) {
      const keyed = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
      const answer = await fetch(`${broker.agentsUrl}/v1/actions/${action}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...keyed },
        body: typeof args === 'string' ? args : JSON.stringify({ arguments: args }),
      })
      return { status: answer.status, envelope: await answer.json() as Envelope }
    },
    async get (path, token = standing) {
      const answer = await fetch(`${broker.agentsUrl}${path}`, { headers: { authorization: `Bearer ${token}` } })
      return { status: answer.status, body: await answer.json() }
    },
    requestsSince: mark => shop.requests.slice(mark).map(({ method, target }) => `${method} ${target.split('?')[0]!.slice('/v1'.length)}`),
  }
}
