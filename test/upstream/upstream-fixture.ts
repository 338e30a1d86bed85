// What the tests of the upstream client share: an upstream as the catalog would have it, a request, and telemetry that remembers.
import type { Upstream } from '../../src/catalog/catalog.ts'
import type { SendOptions, WireRequest } from '../../src/upstream/wire.ts'
import type { Told } from '../../src/upstream/exchange.ts'

export function upstreamAt (origin: string, change: Partial<Upstream> = {}): Upstream {
  return {
    name: 'shop',
    origin,
    basePath: '',
    networks: ['loopback'],
    headers: {},
    credentials: { read: null, write: null },
    timeouts: { connectMs: 1_000, totalMs: 10_000 },
    limits: { concurrency: 8, perSecond: null, tenantShare: 1 },
    ...change,
  }
}

export function requestTo (path: string, change: Partial<WireRequest> = {}): WireRequest {
  return { method: 'GET', path, headers: { accept: 'application/json' }, body: null, ...change }
}

export const postTo = (path: string, body = '{"amount":1}'): WireRequest =>
  requestTo(path, { method: 'POST', headers: { accept: 'application/json', 'content-type': 'application/json' }, body: Buffer.from(body) })

export const aRead = (timeoutMs = 2_000): SendOptions => ({ kind: 'read', timeoutMs, sendByMs: null, attemptId: null })
export const aWrite = (timeoutMs = 2_000): SendOptions => ({ kind: 'write', timeoutMs, sendByMs: performance.now() + 2_000, attemptId: 'att_1' })

export interface Heard extends Told {
  readonly sends: Array<Parameters<Told['upstream']>[0]>
  readonly alarms: Array<Parameters<Told['integrity']>[0]>
}

export function hearing (): Heard {
  const sends: Heard['sends'] = []
  const alarms: Heard['alarms'] = []
  return { sends, alarms, upstream: event => { sends.push(event) }, integrity: event => { alarms.push(event) } }
}
