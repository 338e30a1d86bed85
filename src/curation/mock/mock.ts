// An upstream that is none: it knows a document, answers by a script, misbehaves when it is told to, and writes down what it was asked and what it
// did. It listens on loopback alone and opens no connection.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Json } from '../../catalog/catalog.ts'
import type { Document } from '../../catalog/openapi/documents.ts'
import { credentialParameters } from '../credential-parameters.ts'
import { FAULT_HEADER, openScript, planAnswer, readWish, type PlannedAnswer, type Script } from './answers.ts'
import { complaintsAbout } from './complaints.ts'
import { KeyMemory } from './keys.ts'
import { CHIP, isCredentialName, Ledger, type LedgerEntry } from './ledger.ts'
import { readRequest, type MockRequest } from './request.ts'
import { routesOf, type Routed, type Routes } from './routes.ts'
import type { MockScenario } from './scenario.ts'

export interface MockOptions {
  readonly document: Document
  /** Before every path, `/v1`, or ''. */
  readonly basePath: string
  /** 0 picks a free one. */
  readonly port: number
  readonly scenario: MockScenario | null
  /** Told of each request once it has been answered. */
  readonly seen?: (entry: LedgerEntry) => void
}

export interface Mock {
  /** With the base path. */
  readonly url: string
  readonly ledgerUrl: string
  readonly ledger: Ledger
  close (): Promise<void>
}

const LATE_MS = 30_000
const LEDGER_PATH = '/__aval/ledger'
const READING = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'QUERY'])

/** @throws Error where the port is taken */
export async function startMock (options: MockOptions): Promise<Mock> {
  const serving = new Serving(options)
  const server = createServer((incoming, outgoing) => {
    serving.serve(incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, '127.0.0.1', resolve)
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `${origin}${options.basePath}`,
    ledgerUrl: `${origin}${LEDGER_PATH}`,
    ledger: serving.ledger,
    close: () => new Promise(resolve => {
      serving.ending.abort()
      server.close(() => resolve())
      server.closeAllConnections()
    }),
  }
}

class Serving {
  readonly ledger = new Ledger()
  readonly ending = new AbortController()
  readonly #options: MockOptions
  readonly #routes: Routes
  readonly #script: Script
  readonly #keys = new KeyMemory()
  readonly #credentials: ReadonlySet<string>

  constructor (options: MockOptions) {
    this.#options = options
    this.#routes = routesOf(options.document)
    this.#script = openScript(options.scenario, this.#routes)
    this.#credentials = credentialParameters(options.document)
  }

  async serve (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const request = await readRequest(incoming)
    if (request === null) return send(outgoing, 413, {}, { error: 'the body is too large' })
    if (request.path === LEDGER_PATH) return this.#tellLedger(request, outgoing)
    const path = request.path.startsWith(`${this.#options.basePath}/`) ? request.path.slice(this.#options.basePath.length) : null
    const routed = path === null ? null : this.#routes.find(request.method, path)
    if (routed === null) {
      const status = path !== null && this.#routes.knows(path) ? 405 : 404
      this.#record(request, null, { complaints: ['the document has no such operation'], applied: false, duplicate: false, status, fault: null })
      return send(outgoing, status, {}, { error: 'the document has no such operation' })
    }
    await this.#answer({ ...request, pathValues: routed.path }, routed, outgoing)
  }

  async #answer (request: MockRequest, routed: Routed, outgoing: ServerResponse): Promise<void> {
    const { route } = routed
    const operation = route.operation()
    const wish = readWish(request.headers[FAULT_HEADER] ?? '')
    const complaints = [
      ...typeof wish === 'string' ? [wish] : [],
      ...operation === null ? [] : complaintsAbout(request, operation, this.#credentials),
    ]
    if (complaints.length > 0 || typeof wish === 'string') {
      this.#record(request, routed, { complaints, applied: false, duplicate: false, status: 400, fault: null })
      return send(outgoing, 400, {}, { error: 'the request does not fit the document', complaints })
    }
    const wished = Object.keys(wish).length > 0
    const planned = planAnswer(wished ? wish : this.#script.take(route), operation)
    if (planned.fault === 'dropped') {
      this.#record(request, routed, { complaints, applied: false, duplicate: false, status: null, fault: 'dropped' })
      outgoing.destroy()
      return
    }
    const key = this.#keyOf(request, operation?.declaredHeaders ?? new Set())
    const known = key === null ? null : this.#keys.recall(key, route.id, request, planned)
    if (known === 'other') {
      this.#record(request, routed, { complaints, applied: false, duplicate: true, status: 422, fault: null })
      return send(outgoing, 422, {}, { error: 'the key was used for another request' })
    }
    const answer = known === null ? planned : { ...known, fault: planned.fault, delayMs: planned.delayMs }
    const applied = known === null && !READING.has(request.method) && answer.status < 300
    await this.#play(request, routed, answer, { applied, duplicate: known !== null }, outgoing)
  }

  async #play (
    request: MockRequest, routed: Routed, answer: PlannedAnswer, done: Pick<LedgerEntry, 'applied' | 'duplicate'>, outgoing: ServerResponse
  ): Promise<void> {
    const { fault, status, headers, body } = answer
    this.#record(request, routed, { complaints: [], ...done, status: fault === 'lost' ? null : status, fault })
    const delayMs = fault === 'late' ? LATE_MS : answer.delayMs
    if (delayMs > 0) await sleep(delayMs, undefined, { signal: this.ending.signal })
    switch (fault) {
      case 'lost': return void outgoing.destroy()
      case 'cut': return cut(outgoing, status, headers, body)
      case 'malformed': return sendText(outgoing, status, { ...headers, 'content-type': 'application/json' }, '{"half": ')
      case 'wrong_type': return sendText(outgoing, status, { ...headers, 'content-type': 'text/html' }, '<!doctype html><title>Sign in</title>')
      case 'secret': return send(outgoing, status, headers, { ...isPlainObject(body) ? body : {}, debug: this.#secretsOf(request) })
      default: return send(outgoing, status, headers, body)
    }
  }

  /** Where the scenario says so, else where the operation itself declares the header. */
  #keyOf (request: MockRequest, declared: ReadonlySet<string>): string | null {
    const { scenario } = this.#options
    const ofDocument = declared.has('idempotency-key') ? 'idempotency-key' : null
    const header = scenario === null ? ofDocument : scenario.idempotency?.header.toLowerCase() ?? null
    return header === null || READING.has(request.method) ? null : request.headers[header] ?? null
  }

  #secretsOf (request: MockRequest): readonly string[] {
    return Object.entries(request.headers).filter(([name]) => isCredentialName('header', name, this.#credentials)).map(([, value]) => value)
  }

  #record (request: MockRequest, routed: Routed | null, rest: Pick<LedgerEntry, 'complaints' | 'applied' | 'duplicate' | 'status' | 'fault'>): void {
    const chipped = <Value>(place: 'header' | 'query', values: { readonly [name: string]: Value }): { readonly [name: string]: Value | string } =>
      Object.fromEntries(Object.entries(values).map(([name, value]) => [name, isCredentialName(place, name, this.#credentials) ? CHIP : value]))
    const entry = this.ledger.add({
      operation: routed?.route.id ?? null,
      method: request.method,
      path: request.path,
      query: chipped('query', request.query),
      headers: chipped('header', request.headers),
      body: request.body ?? null,
      ...rest,
    })
    this.#options.seen?.(entry)
  }

  #tellLedger (request: MockRequest, outgoing: ServerResponse): void {
    if (request.method === 'DELETE') this.ledger.clear()
    send(outgoing, 200, {}, { entries: this.ledger.entries as unknown as Json })
  }
}

function send (outgoing: ServerResponse, status: number, headers: PlannedAnswer['headers'], body: Json | undefined): void {
  if (body === undefined) return sendText(outgoing, status, headers, null)
  sendText(outgoing, status, { 'content-type': 'application/json', ...headers }, JSON.stringify(body))
}

function sendText (outgoing: ServerResponse, status: number, headers: PlannedAnswer['headers'], text: string | null): void {
  // RFC 9110 §8.6: an answer without content names no length.
  const length = text !== null ? String(Buffer.byteLength(text)) : status === 204 || status === 304 ? null : '0'
  outgoing.writeHead(status, { ...headers, ...length !== null && { 'content-length': length } })
  outgoing.end(text ?? undefined)
}

/** Half of what was promised. */
function cut (outgoing: ServerResponse, status: number, headers: PlannedAnswer['headers'], body: Json | undefined): void {
  const text = JSON.stringify(body ?? {})
  outgoing.writeHead(status, { 'content-type': 'application/json', ...headers, 'content-length': String(Buffer.byteLength(text) + 1) })
  outgoing.write(text.slice(0, Math.ceil(text.length / 2)), () => outgoing.destroy())
}

const isPlainObject = (value: Json | undefined): value is { readonly [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
