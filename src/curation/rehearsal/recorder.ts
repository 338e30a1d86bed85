// The upstream of a rehearsal: a real HTTP server on loopback that writes down every request before it answers, and answers by a script.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Json } from '../../catalog/catalog.ts'

/** A request that arrived whole. */
export interface Recorded {
  /** Name of the upstream that it was meant for. */
  readonly upstream: string
  readonly method: string
  /** As it was sent, without the query; with the base path of the upstream. */
  readonly path: string
  readonly query: string
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

/** What the upstream does with a request that it has written down. */
export type Reaction =
  | { readonly kind: 'answer', readonly status: number, readonly headers: { readonly [name: string]: string }, readonly body: Json | undefined }
  /** Not JSON although it says so. */
  | { readonly kind: 'malformed', readonly status: number }
  /** The connection ends instead of an answer. */
  | { readonly kind: 'lost' }
  /** Half of an answer, then the end. */
  | { readonly kind: 'cut', readonly status: number }

export interface Recorder {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
  readonly requests: readonly Recorded[]
  /** What is done from now on; null: the default reaction. */
  script: ((request: Recorded) => Reaction) | null
  close (): Promise<void>
}

/** Refuses in plain words that prove that nothing was done, whatever is asked. */
export const REFUSING: Reaction = Object.freeze({ kind: 'answer', status: 422, headers: {}, body: { error: 'nothing is scripted for this request' } })

export async function startRecorder (): Promise<Recorder> {
  const requests: Recorded[] = []
  const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => { void serve(incoming, outgoing) })
  const recorder = {
    origin: '',
    requests,
    script: null as Recorder['script'],
    close: () => closeServer(server),
  }
  async function serve (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const recorded = await record(incoming)
    if (recorded === null) return
    requests.push(recorded)
    react(recorder.script?.(recorded) ?? REFUSING, outgoing)
  }
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  recorder.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return recorder
}

/** null where the request was broken off. The first segment of the path is the name of the upstream. */
async function record (incoming: IncomingMessage): Promise<Recorded | null> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk)
  } catch {
    return null
  }
  const [target = '', query = ''] = splitOnce(incoming.url ?? '', '?')
  const upstream = target.split('/')[1] ?? ''
  return Object.freeze({
    upstream,
    method: incoming.method ?? '',
    path: target.slice(upstream.length + 1),
    query,
    headers: Object.fromEntries(
      Object.entries(incoming.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value ?? ''])
    ),
    body: Buffer.concat(chunks).toString('utf8'),
  })
}

function splitOnce (text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}

function react (reaction: Reaction, outgoing: ServerResponse): void {
  switch (reaction.kind) {
    case 'lost':
      outgoing.destroy()
      return
    case 'malformed':
      outgoing.writeHead(reaction.status, { 'content-type': 'application/json' }).end('{"half": ')
      return
    case 'cut':
      outgoing.writeHead(reaction.status, { 'content-type': 'application/json', 'content-length': '1000' })
      outgoing.write('{"half": 1', () => outgoing.destroy())
      return
    case 'answer': {
      const bytes = reaction.body === undefined ? null : Buffer.from(JSON.stringify(reaction.body))
      const own = bytes === null ? {} : { 'content-type': 'application/json', 'content-length': String(bytes.length) }
      outgoing.writeHead(reaction.status, { ...own, ...reaction.headers })
      outgoing.end(bytes ?? undefined)
    }
  }
}

function closeServer (server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise(resolve => server.close(() => resolve()))
}
