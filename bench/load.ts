// The load generator: as many connections as it is told, one request on each at a time, for as long as it is told. Every answer is looked at.
import { Client, type Dispatcher } from 'undici'
import { openAnswerStream, type AnswerStream } from './answer-stream.ts'

export interface Load {
  readonly port: number
  readonly path: string
  /** One a connection. */
  readonly tokens: readonly string[]
  readonly milliseconds: number
  readonly status: number
  /** Stands in every answer that is as it should be. */
  readonly holds: string
  /** Numbers of the requests begin here: each is another item, and with `keyed` another Idempotency-Key. */
  readonly from: number
  readonly keyed: boolean
  /** The body, with `{id}` where the item stands and `{n}` where the number of the request does; absent: that of a call over HTTP. */
  readonly body?: string
  /** More headers: for all requests, and those of each connection. */
  readonly headers?: Readonly<Record<string, string>>
  readonly ofConnection?: ReadonlyArray<Readonly<Record<string, string>>>
  /** The answer comes down a GET that each connection has beside it (`answer-stream.ts`). */
  readonly streamed?: boolean
  /** Over all connections; absent: as many as are answered. */
  readonly perSecond?: number
}

export interface Loaded {
  readonly answers: number
  /** Not as they should be, or none. */
  readonly faults: number
  readonly firstFault: string | null
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** The number that the next load may begin with. */
  readonly next: number
}

class Connection implements Dispatcher.DispatchHandler {
  readonly #client: Client
  readonly #headers: Readonly<Record<string, string>>
  readonly #run: Run
  readonly #ended: () => void
  #startedAtMs = 0
  #dueAtMs = performance.now()
  #status = 0
  #body = ''
  #stream: AnswerStream | null = null

  constructor (token: string, index: number, run: Run, ended: () => void) {
    const { headers, ofConnection } = run.load
    this.#headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers, ...ofConnection?.[index] }
    this.#client = new Client(`http://127.0.0.1:${run.load.port}`, { pipelining: 1, keepAliveTimeout: 60_000 })
    this.#run = run
    this.#ended = ended
  }

  async openStream (): Promise<void> {
    const { port, path } = this.#run.load
    this.#stream = await openAnswerStream(port, path, this.#headers)
    this.#stream.onMessage = text => { this.#heard(text) }
  }

  ask (): void {
    const { load } = this.#run
    const number = this.#run.next++
    const headers = load.keyed ? { ...this.#headers, 'idempotency-key': `bench-${number}` } : this.#headers
    const id = `itm_${String(number).padStart(7, '0')}`
    const body = load.body === undefined ? `{"arguments":{"id":"${id}"}}` : load.body.replace('{id}', id).replace('{n}', String(number))
    this.#body = ''
    this.#startedAtMs = performance.now()
    this.#client.dispatch({ method: 'POST', path: load.path, headers, body }, this)
  }

  onRequestStart (): void {}

  onResponseStart (_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status
  }

  onResponseData (_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#body += chunk.toString('latin1')
  }

  onResponseEnd (): void {
    if (this.#stream !== null && this.#status === 202) return
    this.#heard(this.#body)
  }

  #heard (text: string): void {
    const { load } = this.#run
    const asItShould = this.#status === load.status || this.#stream !== null
    if (asItShould && text.includes(load.holds)) this.#run.latencies.push(performance.now() - this.#startedAtMs)
    else this.#run.fault(`${this.#status} ${text}`)
    this.#goOn()
  }

  onResponseError (_controller: unknown, error: Error): void {
    this.#run.fault(error.message)
    this.#goOn()
  }

  #goOn (): void {
    const { endsAtMs, pauseMs } = this.#run
    this.#dueAtMs = Math.max(this.#dueAtMs + pauseMs, performance.now() - pauseMs)
    const waitMs = pauseMs === 0 ? 0 : this.#dueAtMs - performance.now()
    if (performance.now() + waitMs >= endsAtMs) void this.#client.close().then(() => this.#stream?.close()).then(this.#ended)
    else if (waitMs < 1) this.ask()
    else setTimeout(() => { this.ask() }, waitMs)
  }
}

class Run {
  readonly load: Load
  readonly endsAtMs: number
  /** Between two requests of a connection. */
  readonly pauseMs: number
  readonly latencies: number[] = []
  next: number
  faults = 0
  firstFault: string | null = null

  constructor (load: Load) {
    this.load = load
    this.next = load.from
    this.endsAtMs = performance.now() + load.milliseconds
    this.pauseMs = load.perSecond === undefined ? 0 : load.tokens.length * 1_000 / load.perSecond
  }

  fault (what: string): void {
    this.faults += 1
    this.firstFault ??= what.slice(0, 500)
  }
}

async function run (load: Load): Promise<Loaded> {
  const startedAtMs = performance.now()
  const made = new Run(load)
  await Promise.all(load.tokens.map((token, index) => new Promise<void>((resolve, reject) => {
    const connection = new Connection(token, index, made, resolve)
    if (load.streamed === true) connection.openStream().then(() => connection.ask(), reject)
    else connection.ask()
  })))
  const seconds = (performance.now() - startedAtMs) / 1_000
  const sorted = Float64Array.from(made.latencies).sort()
  const quantile = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
  const { faults, firstFault, next } = made
  return { answers: sorted.length, faults, firstFault, seconds, p50Ms: quantile(0.5), p99Ms: quantile(0.99), next }
}

process.once('disconnect', () => process.exit(0))
process.on('message', message => {
  if (message === 'stop') process.exit(0)
  void run(message as Load).then(loaded => process.send!(loaded))
})
process.send!({ port: 0 })
