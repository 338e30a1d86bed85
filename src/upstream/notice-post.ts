// Posts a notice to an endpoint of the operator's. The same guard as for upstreams: names are resolved once and every address is checked, no redirect
// is followed, nothing of the answer is read but its status and when to come again.
import { Agent, request } from 'undici'
import { parseNetworks } from './address.ts'
import { createDialler, resolveBySystem, type Resolve } from './dial.ts'
import { causeOf } from './fault.ts'
import { retryAfterSeconds } from '../catalog/retry-after.ts'

export interface NoticeRequest {
  readonly url: URL
  readonly networks: readonly string[]
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

export type NoticeReply =
  /** `retryAfterS`: the endpoint asks not to come earlier. */
  | { readonly kind: 'answer', readonly status: number, readonly retryAfterS: number | null }
  /** `cause` is a word for operators. */
  | { readonly kind: 'none', readonly cause: string }

export interface NoticePoster {
  /** Never rejects. */
  post (notice: NoticeRequest): Promise<NoticeReply>
  /** What is under way is cut. */
  close (): Promise<void>
}

const TOTAL_MS = 15_000
const CONNECT_MS = 5_000

export function createNoticePoster (options: { readonly resolve?: Resolve, readonly ca?: string, readonly totalMs?: number } = {}): NoticePoster {
  const totalMs = options.totalMs ?? TOTAL_MS
  const agents = new Map<string, Agent>()
  const agentFor = (networks: readonly string[]): Agent => {
    const name = JSON.stringify(networks)
    let agent = agents.get(name)
    if (agent === undefined) {
      agent = new Agent({
        allowH2: false,
        pipelining: 1,
        connections: 4,
        clientTtl: 60_000,
        connect: createDialler({ networks: parseNetworks(networks), connectMs: Math.min(CONNECT_MS, totalMs), resolve: options.resolve ?? resolveBySystem, ca: options.ca }),
        maxResponseSize: 64 * 1024,
        maxHeaderSize: 16_384,
      })
      agents.set(name, agent)
    }
    return agent
  }
  return {
    async post ({ url, networks, headers, body }) {
      try {
        const reply = await request(url, {
          method: 'POST', dispatcher: agentFor(networks), signal: AbortSignal.timeout(totalMs), headersTimeout: totalMs, bodyTimeout: totalMs,
          headers: { ...headers, 'content-type': 'application/json', 'user-agent': 'aval' }, body,
        })
        // Ended by us, and that is no fault to tell anybody.
        reply.body.on('error', () => {}).destroy()
        return { kind: 'answer', status: reply.statusCode, retryAfterS: retryAfterOf(reply.headers['retry-after']) }
      } catch (error) {
        return { kind: 'none', cause: error instanceof Error && error.name === 'TimeoutError' ? 'deadline' : causeOf(error) }
      }
    },
    async close () {
      await Promise.all([...agents.values()].map(agent => agent.destroy()))
    },
  }
}

const retryAfterOf = (header: string | string[] | undefined): number | null =>
  typeof header === 'string' ? retryAfterSeconds({ headers: { 'retry-after': header } }, new Date().toISOString()) : null
