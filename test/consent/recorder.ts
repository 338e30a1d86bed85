// Between the broker and the shop: every request as it came, whole, and then the shop's own answer.
import { createServer, request as forward, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Recorded {
  readonly method: string
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Recorder {
  readonly url: string
  readonly requests: readonly Recorded[]
  /** Called with each request before the shop has it; what it awaits delays it. */
  before: (request: Recorded) => Promise<void> | void
  /** From now on nobody listens; who is connected is answered. */
  refuse (): void
  /** On the same port as before. */
  listen (): Promise<void>
  close (): Promise<void>
}

/** @param shopUrl with its base path, which stays the same */
export async function startRecorder (shopUrl: string): Promise<Recorder> {
  const { port, pathname } = new URL(shopUrl)
  const requests: Recorded[] = []
  const server = createServer(async (incoming, outgoing) => {
    const bytes = await bytesOf(incoming)
    const recorded: Recorded = { method: incoming.method!, target: incoming.url!, headers: incoming.headers, body: bytes.toString('utf8') }
    requests.push(recorded)
    await recorder.before(recorded)
    const passed = forward({ host: '127.0.0.1', port, method: incoming.method, path: incoming.url, headers: incoming.headers }, async answer => {
      const body = await bytesOf(answer)
      // So that the next request has to connect again.
      if (!server.listening) outgoing.setHeader('connection', 'close')
      outgoing.writeHead(answer.statusCode!, { ...answer.headers, ...server.listening ? {} : { connection: 'close' } }).end(body)
    })
    passed.on('error', () => outgoing.destroy())
    passed.end(bytes)
  })
  const listen = (at: number): Promise<void> => new Promise(resolve => server.listen(at, '127.0.0.1', resolve))
  await listen(0)
  const own = (server.address() as AddressInfo).port
  const recorder: Recorder = {
    url: `http://127.0.0.1:${own}${pathname}`,
    requests,
    before: () => undefined,
    refuse () {
      server.close()
    },
    listen: () => listen(own),
    close: () => new Promise(resolve => {
      server.close(() => resolve())
      server.closeAllConnections()
    }),
  }
  return recorder
}

async function bytesOf (message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
