// The shop: a small, honest HTTP API on node:http, in memory, for the tour, the sheets and the tests. openapi/shop.yaml describes it. It checks its
// own API keys, honours versions and idempotency keys, writes every effect to its ledger before it answers, and can be told to misbehave.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import * as customers from './shop-customers.ts'
import * as deployments from './shop-deployments.ts'
import * as orders from './shop-orders.ts'
import { ShopFaults, type ShopFault } from './shop-faults.ts'
import { openState, type LedgerEntry, type ShopAnswer, type ShopState } from './shop-state.ts'
import { problemAnswer, ShopProblem, type ShopRequest } from './shop-requests.ts'

const BASE_PATH = '/v1'
const BODY_BYTES_MAX = 65_536

type Handler = (state: ShopState, request: ShopRequest) => ShopAnswer

const ROUTES: ReadonlyArray<readonly [method: string, template: string, handler: Handler]> = [
  ['GET', '/customers/{id}', customers.getCustomer],
  ['PATCH', '/customers/{id}', customers.updateCustomer],
  ['DELETE', '/customers/{id}', customers.deleteCustomer],
  ['PUT', '/customers/{id}/shipping-address', customers.putShippingAddress],
  ['GET', '/customers/{id}/orders', orders.listOrders],
  ['GET', '/products/{sku}', customers.getProduct],
  ['POST', '/quotes', orders.createQuote],
  ['GET', '/quotes', orders.findQuotes],
  ['POST', '/orders', orders.placeOrder],
  ['GET', '/orders', orders.findOrders],
  ['GET', '/orders/{id}', orders.getOrder],
  ['POST', '/orders/{id}/cancel', orders.cancelOrder],
  ['POST', '/orders/{id}/notes', orders.addNote],
  ['GET', '/orders/{id}/notes', orders.listNotes],
  ['POST', '/orders/{id}/confirmation-mails', orders.sendConfirmation],
  ['POST', '/orders/{id}/refunds', orders.refundOrder],
  ['GET', '/orders/{id}/refunds', orders.listRefunds],
  ['POST', '/deployments', deployments.startDeployment],
  ['GET', '/deployments', deployments.findDeployments],
  ['GET', '/deployments/{id}', deployments.getDeployment],
]

export interface ShopOptions {
  /** 0 picks a free one. */
  readonly port: number
  /** May do everything. */
  readonly apiKey: string
  /** May only read; absent: there is no such key. */
  readonly readKey?: string
  /** How long a deployment takes; 1,500 where it is absent. */
  readonly deployMs?: number
}

/** What came in, before anything was made of it. */
export interface LoggedRequest {
  readonly method: string
  /** With the query, as it came. */
  readonly target: string
  /** The key that it came with: `write`, `read`, or none that the shop knows. */
  readonly key: 'write' | 'read' | null
}

export interface Shop {
  /** With the base path, `http://127.0.0.1:40123/v1`. */
  readonly url: string
  /** Every effect, oldest first; it grows while the shop runs. */
  readonly ledger: readonly LedgerEntry[]
  /** Every request, oldest first. */
  readonly requests: readonly LoggedRequest[]
  readonly faults: ShopFaults
  /** What the shop holds; tests look into it and may set it. */
  readonly state: ShopState
  close (): Promise<void>
}

export async function startShop (options: ShopOptions): Promise<Shop> {
  const state = openState(options.deployMs ?? 1500)
  const faults = new ShopFaults()
  const requests: LoggedRequest[] = []
  const closing = new AbortController()
  const server = createServer((incoming, outgoing) => {
    serve(incoming, outgoing).catch(() => outgoing.destroy())
  })

  async function serve (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const target = incoming.url ?? ''
    const method = incoming.method ?? ''
    const key = keyOf(incoming.headers['x-api-key'], options)
    requests.push({ method, target, key })
    const body = await readBody(incoming)
    if (body === null) return answer(outgoing, problemAnswer(413, 'too large'))
    const fault = faults.take(method, pathOf(target))
    const run = (): ShopAnswer => handle(state, { method, target, key, headers: incoming.headers, body })
    await (fault === null ? answer(outgoing, run()) : misbehave(fault, run, outgoing, closing.signal))
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${BASE_PATH}`,
    ledger: state.ledger,
    requests,
    faults,
    state,
    close: () => {
      closing.abort()
      return closeServer(server)
    },
  }
}

interface Asked {
  readonly method: string
  readonly target: string
  readonly key: LoggedRequest['key']
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

function handle (state: ShopState, asked: Asked): ShopAnswer {
  if (asked.key === null) return problemAnswer(401, 'send a key of the shop')
  if (asked.key === 'read' && asked.method !== 'GET') return problemAnswer(403, 'this key may only read')
  const path = pathOf(asked.target)
  if (!asked.target.startsWith(`${BASE_PATH}/`)) return problemAnswer(404, 'no such path')
  const segments = segmentsOf(path)
  for (const [method, template, handler] of ROUTES) {
    const ids = method === asked.method ? match(template.split('/'), segments) : null
    if (ids === null) continue
    try {
      return handler(state, { method, path, query: new URL(asked.target, 'http://shop').searchParams, headers: asked.headers, body: asked.body, ids })
    } catch (error) {
      if (error instanceof ShopProblem) return problemAnswer(error.status, error.message)
      throw error
    }
  }
  return problemAnswer(404, 'no such path')
}

async function misbehave (fault: ShopFault, run: () => ShopAnswer, outgoing: ServerResponse, closing: AbortSignal): Promise<void> {
  switch (fault.kind) {
    case 'drop':
      outgoing.destroy()
      return
    case 'lose':
      run()
      outgoing.destroy()
      return
    case 'late':
      outgoing.destroy()
      await sleep(fault.delayMs, undefined, { signal: closing })
      run()
      return
    case 'delay': {
      const late = run()
      await sleep(fault.delayMs, undefined, { signal: closing })
      return answer(outgoing, late)
    }
    case 'fail':
      if (fault.applied) run()
      return answer(outgoing, problemAnswer(fault.status, 'the shop has a bad day'))
  }
}

/** The values at the template's places, or null where it does not fit. */
function match (template: readonly string[], segments: readonly string[]): readonly string[] | null {
  if (template.length !== segments.length) return null
  const ids: string[] = []
  for (const [index, part] of template.entries()) {
    const segment = segments[index]!
    if (part.startsWith('{')) ids.push(segment)
    else if (part !== segment) return null
  }
  return ids
}

/** An escape that is none makes a segment that fits no id. */
function segmentsOf (path: string): readonly string[] {
  return path.split('/').map(segment => {
    try {
      return decodeURIComponent(segment)
    } catch {
      return ''
    }
  })
}

const pathOf = (target: string): string => target.split('?')[0]!.slice(BASE_PATH.length)

function keyOf (sent: string | string[] | undefined, options: ShopOptions): LoggedRequest['key'] {
  if (sent === options.apiKey) return 'write'
  return sent !== undefined && sent === options.readKey ? 'read' : null
}

async function readBody (incoming: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes <= BODY_BYTES_MAX) chunks.push(chunk)
  }
  return bytes > BODY_BYTES_MAX ? null : Buffer.concat(chunks)
}

function answer (outgoing: ServerResponse, { status, headers, body }: ShopAnswer): void {
  const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body))
  outgoing.writeHead(status, { ...(bytes !== null && { 'content-type': 'application/json', 'content-length': String(bytes.length) }), ...headers })
  outgoing.end(bytes ?? undefined)
}

function closeServer (server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise(resolve => server.close(() => resolve()))
}
