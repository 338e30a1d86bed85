// A whole broker for a test: the real composition root over real listeners, in this process or in one of its own, in a folder that is gone afterwards.
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { readConfig, type Environment } from '../../src/config.ts'
import type { BrokerOptions } from '../../src/commands/broker.ts'
import { placeSheets, BUNDLED } from '../../src/commands/demo/sheets.ts'
import { startShop, type Shop } from '../../src/commands/demo/shop.ts'
import { makeSigningKey, mintToken, type SigningKey } from '../../src/commands/token.ts'
import type { Json } from '../../src/catalog/catalog.ts'
import { startBroker } from '../../src/main.ts'
import { PROCESS_ENV } from './process-env.ts'

export const ISSUER = 'https://issuer.test.example'
export const AUDIENCE = 'https://aval.test.example'

/** What outlives a broker: the folder with its state and keys, and who signs its tokens. */
export interface Site {
  readonly folder: string
  readonly env: Environment
  token (claims?: TokenClaims): Promise<string>
  remove (): void
}

export interface TokenClaims {
  readonly sub?: string
  readonly roles?: readonly string[]
  readonly tenant?: string
  /** null: none; absent: a fresh one. */
  readonly run?: string | null
  /** An hour where it is absent. */
  readonly ttlSeconds?: number
  readonly claims?: { readonly [name: string]: Json }
}

export interface Reached {
  readonly status: number
  readonly headers: Headers
  // What the broker answered, whatever it is: the tests look into it by name.
  readonly body: any
}

export interface Client {
  readonly agentsUrl: string
  readonly operationsUrl: string
  /** One call with a token; `key` is the Idempotency-Key. */
  call (token: string, action: string, args: Json, key?: string): Promise<Reached>
  get (token: string, path: string): Promise<Reached>
  post (token: string, path: string): Promise<Reached>
  /** The attempt once it is settled or `waitMs` are over. */
  attempt (token: string, id: string, waitMs?: number): Promise<Reached>
  metrics (): Promise<string>
}

export interface TestBroker extends Client {
  reload (): Promise<void>
  close (): Promise<void>
}

export interface BrokerProcess extends Client {
  readonly pid: number
  /** All that it wrote to stderr. */
  log (): string
  /** SIGKILL, and waits for the end. */
  kill9 (): Promise<void>
  signal (name: NodeJS.Signals): void
  /** SIGTERM, and the exit code. */
  stop (): Promise<number | null>
}

/** @param files more files under `actions/` or `openapi/`, by path */
export async function makeSite (options: { readonly actions?: string, readonly openapi?: string, readonly files?: Readonly<Record<string, string>>, readonly env?: Environment } = {}): Promise<Site> {
  const folder = mkdtempSync(join(tmpdir(), 'aval-site-'))
  for (const name of ['actions', 'openapi', 'data']) mkdirSync(join(folder, name), { mode: 0o700 })
  for (const [path, text] of Object.entries(options.files ?? {})) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const key: SigningKey = await makeSigningKey()
  writeFileSync(join(folder, 'jwks.json'), JSON.stringify(key.jwks))
  // Redis wants a key that is there before; the embedded store finds the same one.
  writeFileSync(join(folder, 'data', 'aval.key'), `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  return {
    folder,
    env: {
      AVAL_ACTIONS: options.actions ?? join(folder, 'actions'),
      AVAL_OPENAPI: options.openapi ?? join(folder, 'openapi'),
      AVAL_DATA: join(folder, 'data'),
      AVAL_KEY: `file:${join(folder, 'data', 'aval.key')}`,
      AVAL_AGENTS: '127.0.0.1:0',
      AVAL_OPERATIONS: '127.0.0.1:0',
      AVAL_ISSUER: ISSUER,
      AVAL_AUDIENCE: AUDIENCE,
      AVAL_JWKS: `file:${join(folder, 'jwks.json')}`,
      AVAL_RATE: 'token=100000/s,address=100000/s,burst=5s',
      AVAL_LOG: 'silent',
      ...options.env,
    },
    token: ({ sub = 'agent-1', roles = ['shop_assistant', 'shop_manager', 'shop_deployer'], tenant, run, ttlSeconds, claims } = {}) => mintToken({
      key, issuer: ISSUER, audience: AUDIENCE, sub, roles,
      ...(tenant === undefined ? {} : { tenant }),
      ...(ttlSeconds === undefined ? {} : { ttlSeconds }),
      ...(run === null ? {} : { run: run ?? `run-${randomUUID()}` }),
      claims: claims ?? { customers: ['cus_1001', 'cus_1002', 'cus_1003'], environments: ['staging'] },
    }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export interface ShopSite extends Site {
  readonly shop: Shop
}

/** The bundled sheets in front of a shop of their own. `through`: where the broker reaches the shop, for a proxy between the two. */
export async function makeShopSite (options: { readonly env?: Environment, readonly through?: (shopUrl: string) => Promise<string>, readonly deployMs?: number } = {}): Promise<ShopSite> {
  const keys = { apiKey: randomBytes(24).toString('base64url'), readKey: randomBytes(24).toString('base64url') }
  const shop = await startShop({ port: 0, ...keys, ...(options.deployMs === undefined ? {} : { deployMs: options.deployMs }) })
  const site = await makeSite({ openapi: BUNDLED.openapiFolder, env: options.env ?? {} })
  const url = options.through === undefined ? shop.url : await options.through(shop.url)
  await placeSheets(site.folder, { url, ...keys }).catch(async error => {
    await shop.close()
    throw error
  })
  return { ...site, shop }
}

/** The broker in this process. */
export async function startTestBroker (site: Site, env: Environment = {}, options: BrokerOptions = {}): Promise<TestBroker> {
  const broker = await startBroker(readConfig({ ...site.env, ...env }), options)
  return { ...clientOf(broker.agentsUrl, broker.operationsUrl), reload: async () => { await broker.reload() }, close: () => broker.close() }
}

/** `aval serve` in a process of its own, for tests that end it. @param program in its place */
export async function startBrokerProcess (site: Site, env: Environment = {}, program: readonly string[] = ['src/cli.ts', 'serve', '--json']): Promise<BrokerProcess> {
  const child = spawn(process.execPath, [...program], { env: { ...PROCESS_ENV, ...site.env, AVAL_LOG: 'warn', ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  child.stderr.on('data', chunk => { said = `${said}${chunk}`.slice(-200_000) })
  const ended = new Promise<number | null>(resolve => child.once('exit', resolve))
  const line = await Promise.race([firstLine(child), ended.then(() => null)])
  if (line === null) throw new Error(`the broker did not start: ${said}`)
  const { agents, operations } = JSON.parse(line) as { agents: string, operations: string }
  return {
    ...clientOf(agents, operations),
    pid: child.pid!,
    log: () => said,
    signal: name => { child.kill(name) },
    async kill9 () {
      child.kill('SIGKILL')
      await ended
    },
    async stop () {
      child.kill('SIGTERM')
      return ended
    },
  }
}

function firstLine (child: ChildProcess): Promise<string> {
  return new Promise(resolve => createInterface({ input: child.stdout! }).once('line', resolve))
}

function clientOf (agentsUrl: string, operationsUrl: string): Client {
  const ask = async (method: string, path: string, token: string, more: { headers?: Record<string, string>, body?: string } = {}): Promise<Reached> => {
    const answer = await fetch(`${agentsUrl}${path}`, { method, headers: { authorization: `Bearer ${token}`, ...more.headers }, body: more.body ?? null })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) }
  }
  return {
    agentsUrl,
    operationsUrl,
    call: (token, action, args, key) => ask('POST', `/v1/actions/${action}`, token, {
      headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { 'idempotency-key': key }) },
      body: JSON.stringify({ arguments: args }),
    }),
    get: (token, path) => ask('GET', path, token),
    post: (token, path) => ask('POST', path, token),
    attempt: (token, id, waitMs = 30_000) => ask('GET', `/v1/attempts/${id}?wait=${waitMs}ms`, token),
    metrics: async () => (await fetch(`${operationsUrl}/metrics`)).text(),
  }
}
