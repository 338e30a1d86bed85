// A real receiver of notices, which keeps what came and answers as a test wants.
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export interface Taken {
  readonly headers: Record<string, string>
  readonly body: string
  readonly data: any
  readonly type: string
}

export interface Receiver {
  readonly url: string
  readonly taken: Taken[]
  /** Resolves when so many have come. */
  came (count: number): Promise<void>
}

export type Answer = (count: number, incoming: IncomingMessage) => { readonly status: number, readonly headers?: Record<string, string> } | null

/** @param answer of the request with this number, from 1; null: never */
export async function receiver (t: Pick<TestContext, 'after'>, answer: Answer = () => ({ status: 204 })): Promise<Receiver> {
  const taken: Taken[] = []
  const waiting: Array<() => void> = []
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = []
    incoming.on('data', chunk => chunks.push(chunk)).on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const { type, data } = JSON.parse(body || '{}')
      taken.push({ headers: incoming.headers as Record<string, string>, body, data, type })
      const reply = answer(taken.length, incoming)
      if (reply !== null) outgoing.writeHead(reply.status, reply.headers).end()
      for (const wake of waiting.splice(0)) wake()
    })
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.after(() => { server.closeAllConnections(); server.close() })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    taken,
    async came (count) {
      while (taken.length < count) await new Promise<void>(resolve => { waiting.push(resolve) })
    },
  }
}
