// An agents listener over a small execution of its own, which verifies a token, then really reads the body, and reports what it got; and a client
// that can send bytes that no HTTP library would.
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { Json } from '../../src/catalog/catalog.ts'
import { Refusal } from '../../src/errors.ts'
import { refusalAnswer } from '../../src/execution/answer.ts'
import type { Arrival } from '../../src/execution/call.ts'
import type { Answer } from '../../src/execution/envelope.ts'
import { buildAgents, type AgentsOptions } from '../../src/http/agents/agents.ts'
import type { AgentsApi } from '../../src/http/agents/api.ts'

export const TOKEN = 'Bearer good'

export interface Boundary {
  readonly app: FastifyInstance
  readonly port: number
  readonly url: string
  /** What each function of the execution was asked, in order. */
  readonly asked: Array<{ readonly what: string, readonly ask: Record<string, unknown> }>
  /** Bodies that were decoded by calls. */
  readonly bodies: Json[]
  /** Calls that asked for a body, whether they got one or not. */
  readonly reads: { count: number }
  readonly refused: string[]
  readonly faults: unknown[]
}

export interface BoundaryOptions extends Partial<AgentsOptions> {
  readonly answer?: (arrival: Arrival, body: Json) => Promise<Answer> | Answer
  readonly replaced?: Partial<AgentsApi>
}

export async function startBoundary (t: Pick<TestContext, 'after'>, given: BoundaryOptions = {}): Promise<Boundary> {
  const { answer, replaced, ...options } = given
  const seen: Omit<Boundary, 'app' | 'port' | 'url'> = { asked: [], bodies: [], reads: { count: 0 }, refused: [], faults: [] }
  const app = buildAgents({
    hosts: ['127.0.0.1', 'localhost', '[::1]'],
    trustProxy: [],
    tls: null,
    rates: null,
    draining: () => false,
    markSource: address => `h1:${address}`,
    events: { refused: event => { seen.refused.push(event.code) }, fault: event => { seen.faults.push(event.error) } },
    ...options,
    api: { ...smallExecution(seen, answer), ...replaced },
  })
  t.after(() => {
    const closed = app.close()
    app.server.closeAllConnections()
    return closed
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const address = app.server.address()
  assert.ok(address !== null && typeof address === 'object')
  return { app, port: address.port, url: `http://127.0.0.1:${address.port}`, ...seen }
}

function smallExecution (seen: Pick<Boundary, 'asked' | 'bodies' | 'reads'>, answer: BoundaryOptions['answer']): AgentsApi {
  const verify = (authorization: string | undefined): void => {
    if (authorization !== TOKEN && !authorization?.startsWith(`${TOKEN}-`)) throw Refusal.of('UNAUTHENTICATED')
  }
  const answering = async (ask: { correlationId: string, authorization: string | undefined }, work: () => Promise<Answer>): Promise<Answer> => {
    try {
      verify(ask.authorization)
      return await work()
    } catch (error) {
      if (error instanceof Refusal) return refusalAnswer(error, ask.correlationId, null)
      throw error
    }
  }
  const settled = (correlationId: string, result: Json): Answer => ({
    status: 200,
    location: null,
    retryAfterSeconds: null,
    envelope: { ok: true, outcome: 'completed', correlation_id: correlationId, sent: true, result },
  })
  const small = (what: string) => (ask: { correlationId: string, authorization: string | undefined }): Promise<Answer> => {
    seen.asked.push({ what, ask: { ...ask } })
    return answering(ask, async () => settled(ask.correlationId, what))
  }
  const page = (what: string) => async (ask: { correlationId: string, authorization: string | undefined }) => {
    const { status, envelope } = await small(what)(ask)
    return { status, body: { ...envelope } }
  }
  return {
    execute (arrival) {
      seen.asked.push({ what: 'execute', ask: { ...arrival } })
      return answering(arrival, async () => {
        seen.reads.count++
        const body = await arrival.body()
        seen.bodies.push(body)
        return answer === undefined ? settled(arrival.correlationId, body) : answer(arrival, body)
      })
    },
    listActions: page('listActions'),
    exportTools: page('exportTools'),
    describeAction: page('describeAction'),
    getAttempt: small('getAttempt'),
    listAttempts: page('listAttempts'),
    cancelAttempt: small('cancelAttempt'),
    escalateAttempt: small('escalateAttempt'),
    stopRun: page('stopRun'),
    getProposal: small('getProposal'),
    withdrawProposal: small('withdrawProposal'),
    commitProposal (ask) {
      seen.asked.push({ what: 'commitProposal', ask: { ...ask } })
      return answering(ask, async () => {
        seen.reads.count++
        const body = await ask.body()
        seen.bodies.push(body ?? null)
        return settled(ask.correlationId, 'commitProposal')
      })
    },
  }
}

export interface Said {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body where it is JSON, else null. */
  readonly json: any
}

export async function say (boundary: Pick<Boundary, 'url'>, path: string, init: RequestInit = {}): Promise<Said> {
  const response = await fetch(boundary.url + path, init)
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: asJson(text) }
}

export function call (boundary: Pick<Boundary, 'url'>, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}): Promise<Said> {
  return say(boundary, '/v1/actions/echo.v1', {
    method: 'POST', body, headers: { authorization: TOKEN, 'content-type': 'application/json', ...headers },
  })
}

export const asJson = (text: string): any => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly json: any
}

/** A connection that sends what it is told, byte for byte. */
export class RawClient {
  readonly socket: Socket
  #received = Buffer.alloc(0)
  #ended = false

  private constructor (socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => { this.#received = Buffer.concat([this.#received, chunk]) })
    // A reset is an end as well; what came before it counts.
    socket.on('error', () => {})
    for (const event of ['end', 'close', 'error']) socket.on(event, () => { this.#ended = true })
  }

  static async open (t: TestContext, port: number): Promise<RawClient> {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
    const client = new RawClient(socket)
    t.after(() => { socket.destroy() })
    await new Promise<void>((resolve, reject) => { socket.once('connect', resolve).once('error', reject) })
    return client
  }

  send (bytes: string | Buffer): void {
    if (this.socket.writable) this.socket.write(bytes)
  }

  get ended (): boolean { return this.#ended }
  get received (): string { return this.#received.toString('latin1') }

  /** Waits until the other side has ended the connection. */
  async end (): Promise<void> {
    while (!this.#ended) await new Promise(resolve => setTimeout(resolve, 5))
  }

  /** Waits for one whole answer and takes it; null where the connection ends before. */
  async answer (): Promise<RawAnswer | null> {
    for (;;) {
      const ended = this.#ended
      const whole = this.#take()
      if (whole !== null) return whole
      if (ended) return null
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }

  #take (): RawAnswer | null {
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd === -1) return null
    const [statusLine = '', ...lines] = this.#received.subarray(0, headEnd).toString('latin1').split('\r\n')
    const headers = Object.fromEntries(lines.map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]))
    const length = Number(headers['content-length'] ?? 0)
    const from = headEnd + 4
    if (this.#received.length < from + length) return null
    const text = this.#received.subarray(from, from + length).toString('utf8')
    this.#received = this.#received.subarray(from + length)
    return { status: Number(statusLine.split(' ')[1]), headers, text, json: asJson(text) }
  }
}

interface Exchange {
  readonly answer: RawAnswer | null
  readonly client: RawClient
}

/** Sends these bytes on a connection of their own and takes the first answer. */
export async function sendRaw (t: TestContext, port: number, bytes: string | Buffer): Promise<Exchange> {
  const client = await RawClient.open(t, port)
  client.send(bytes)
  return { client, answer: await client.answer() }
}

/** The head and body of a call, to be bent out of shape by a test. */
export function rawCall (headers: readonly string[], body = '{"arguments":{}}', path = '/v1/actions/echo.v1'): string {
  const all = ['Host: 127.0.0.1', `Authorization: ${TOKEN}`, 'Content-Type: application/json', ...headers]
  return `POST ${path} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n${body}`
}
