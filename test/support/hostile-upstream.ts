// An upstream that answers badly on purpose, written on raw sockets, since no HTTP server would. What it received stands in its ledger before a byte
// of an answer is written: `ledger` is what really happened, whatever the client was told. The first path segment chooses the mode.
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import { reset } from './reset.ts'
import { hostileModes, type Mode } from './hostile-modes.ts'

/** One request that arrived whole: one effect. */
export interface LedgerEntry {
  readonly seq: number
  readonly method: string
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  readonly body: string
  /** The how-manieth connection it came on, from 1. */
  readonly connection: number
  /** The how-manieth request of that connection, from 1. */
  readonly onConnection: number
}

/** What happens to a connection before it has said anything. `silent` reads and never answers. */
export type Accepting = 'serve' | 'reset' | 'end' | 'silent'

export interface HostileUpstream {
  readonly origin: string
  readonly port: number
  readonly ledger: readonly LedgerEntry[]
  /** Bytes of requests (above TLS) that arrived, whole requests or not. */
  readonly bytes: number
  /** Connections accepted (with TLS: whose handshake was done). */
  readonly connections: number
  accepting: Accepting
  /** Adds or replaces a mode: the first path segment that it answers for. */
  mode (name: string, answer: Mode): void
  /** Forgets what happened so far; connections stay. */
  clear (): void
  /** Open connections are ended (FIN), as a server does that closes idle ones. */
  endConnections (): void
  stop (): Promise<void>
}

export async function startHostileUpstream (options: { readonly tls?: TlsOptions, readonly host?: string } = {}): Promise<HostileUpstream> {
  const host = options.host ?? '127.0.0.1'
  const state = { ledger: [] as LedgerEntry[], bytes: 0, connections: 0, seq: 0, stopped: false }
  const sockets = new Set<Socket>()
  const modes = new Map<string, Mode>(Object.entries(hostileModes))

  const serve = (socket: Socket): void => {
    state.connections += 1
    const connection = state.connections
    let onConnection = 0
    let pending: Buffer = Buffer.alloc(0)
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('end', () => socket.end())
    if (state.stopped) socket.destroy()
    if (upstream.accepting === 'end') socket.end()
    socket.on('data', data => {
      state.bytes += data.length
      if (upstream.accepting === 'silent') return
      pending = Buffer.concat([pending, data])
      for (;;) {
        const read = readRequest(pending)
        if (read === null) return
        pending = read.rest
        onConnection += 1
        state.seq += 1
        const entry: LedgerEntry = { seq: state.seq, ...read.request, connection, onConnection }
        state.ledger.push(entry)
        const name = /^\/([^/?]*)/.exec(entry.path)?.[1] ?? ''
        const answer = modes.get(name) ?? modes.get('ok')!
        answer(socket, entry)
      }
    })
  }
  const accept = (socket: Socket): void => {
    if (upstream.accepting === 'reset') reset(socket)
  }

  const server: Server = options.tls === undefined
    ? createTcpServer({ allowHalfOpen: true }, socket => {
      accept(socket)
      if (!socket.destroyed) serve(socket)
    })
    : createTlsServer(options.tls, serve)
  if (options.tls !== undefined) {
    server.on('connection', accept)
    server.on('tlsClientError', () => {})
  }
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, host, resolve)
  })
  const { port } = server.address() as AddressInfo

  const upstream: HostileUpstream = {
    origin: `${options.tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    get ledger () { return state.ledger },
    get bytes () { return state.bytes },
    get connections () { return state.connections },
    accepting: 'serve',
    mode (name, answer) { modes.set(name, answer) },
    clear () {
      state.ledger = []
      state.bytes = 0
      state.connections = 0
    },
    endConnections () { for (const socket of sockets) socket.end() },
    async stop () {
      state.stopped = true
      for (const socket of sockets) socket.destroy()
      await new Promise<void>(resolve => server.close(() => resolve()))
    },
  }
  return upstream
}

type Received = Pick<LedgerEntry, 'method' | 'path' | 'headers' | 'body'>

/** The first whole request in what arrived; only what our own client sends is understood (a Content-Length or no body). */
function readRequest (bytes: Buffer): { readonly request: Received, readonly rest: Buffer } | null {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return null
  const [requestLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const [method = '', path = ''] = requestLine.split(' ')
  const headers: { [name: string]: string } = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
  }
  const length = Number(headers['content-length'] ?? 0)
  const from = end + 4
  if (bytes.length < from + length) return null
  return { request: { method, path, headers, body: bytes.subarray(from, from + length).toString('utf8') }, rest: bytes.subarray(from + length) }
}
