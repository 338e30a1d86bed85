// Tells endpoints what became of proposals: each notice once, again until it is taken or the proposal's time is over. The process that made a change
// tells it, from memory: one that dies may leave a notice untold, and what waits for people is always on the page.
import type { Clock } from '../clock.ts'
import type { ConsentEvent } from '../consent/events.ts'
import { endsAtMs, isOpen, type ProposalRecord } from '../consent/proposal.ts'
import type { Signer } from '../credentials/signature.ts'
import type { NoticePoster } from '../upstream/notice-post.ts'
import type { Endpoint } from './endpoints.ts'
import { noticeFor, type Notice } from './notice.ts'

export type NoticeResult = 'delivered' | 'again' | 'given_up' | 'dropped'

export interface NotifierOptions {
  readonly endpoints: ReadonlyArray<{ readonly endpoint: Endpoint, readonly signer: Signer }>
  readonly poster: NoticePoster
  readonly origin: string | null
  readonly clock: Pick<Clock, 'nowMs' | 'after'>
  /** Wall clock, for the timestamps that receivers compare. */
  readonly now: () => Date
  /** For metrics. */
  readonly told: (result: NoticeResult) => void
  /** For operators: `host` is all of an endpoint's URL that may be written down, the rest of it may be a secret. */
  readonly note: (message: string, host: string, reason: string) => void
  /** How long to wait after so many tries. */
  readonly waitMs?: (tries: number) => number
}

export interface Notifier {
  /** Returns at once. */
  listen (event: ConsentEvent): void
  /** What has not been taken by then is not told. */
  close (): Promise<void>
}

/** Waiting for one endpoint; beyond it the oldest are dropped. */
export const WAITING_MAX = 1_000
const IN_FLIGHT_MAX = 4
/** What is about no open proposal is worth telling for so long. */
const LATER_MS = 15 * 60_000
/** A checkpoint is worth keeping whenever it comes. */
const CHECKPOINT_MS = 3 * 24 * 3_600_000

const WAITS_S = [5, 15, 30, 60, 120]
/** Spread, so that endpoints which failed together are not asked together. */
const waitAfter = (tries: number): number => (WAITS_S[tries - 1] ?? WAITS_S.at(-1)!) * 1_000 * (0.9 + Math.random() * 0.2)

export function createNotifier (options: NotifierOptions): Notifier {
  const queues = options.endpoints.map(({ endpoint, signer }) => new EndpointQueue(endpoint, signer, options))
  return {
    listen (event) {
      const now = options.now().toISOString()
      for (const queue of queues) queue.take(event, noticeFor(queue.endpoint, event, { origin: options.origin, now }))
    },
    async close () {
      for (const queue of queues) queue.stop()
      await options.poster.close()
    },
  }
}

interface Delivery {
  readonly notice: Notice
  readonly takenMs: number
  tries: number
  dueMs: number
  untilMs: number
  inFlight: boolean
}

class EndpointQueue {
  readonly endpoint: Endpoint
  readonly #signer: Signer
  readonly #options: NotifierOptions
  readonly #waitMs: (tries: number) => number
  #waiting: Delivery[] = []
  #stopped = false
  #wake: (() => void) | null = null

  constructor (endpoint: Endpoint, signer: Signer, options: NotifierOptions) {
    this.endpoint = endpoint
    this.#signer = signer
    this.#options = options
    this.#waitMs = options.waitMs ?? waitAfter
  }

  take (event: ConsentEvent, notice: Notice | null): void {
    if (this.#stopped) return
    if ('record' in event) this.#outdate(event.record)
    // The later one says all that the earlier one said.
    if (event.type === 'checkpoint') this.#waiting = this.#waiting.filter(one => one.inFlight || one.notice.type !== 'audit.checkpoint')
    if (notice === null || this.#waiting.some(one => one.notice.id === notice.id)) return
    const nowMs = this.#options.clock.nowMs()
    if (this.#waiting.length >= WAITING_MAX) this.#dropOldest()
    this.#waiting.push({ notice, takenMs: nowMs, tries: 0, dueMs: nowMs, untilMs: nowMs + worthTellingMs(event), inFlight: false })
    this.#pump()
  }

  stop (): void {
    this.#stopped = true
    this.#wake?.()
    this.#waiting = []
  }

  /** A proposal that was decided waits for nobody; one that was given more time is worth telling for longer. */
  #outdate (record: ProposalRecord): void {
    const ends = this.#waiting.filter(one => one.notice.type === 'proposal.pending' && one.notice.proposalId === record.id)
    for (const one of ends) {
      if (record.state === 'pending') one.untilMs = one.takenMs + leftMs(record)
      else if (!one.inFlight) this.#remove(one)
      else one.untilMs = 0
    }
  }

  #dropOldest (): void {
    const oldest = this.#waiting.find(one => !one.inFlight)
    if (oldest === undefined) return
    this.#remove(oldest)
    this.#options.told('dropped')
    this.#options.note('more notices wait for an endpoint than are kept; the oldest is not told', this.endpoint.url.host, oldest.notice.type)
  }

  #remove (delivery: Delivery): void {
    this.#waiting = this.#waiting.filter(one => one !== delivery)
  }

  /** Sends whatever is due, and sets a timer for what is due next. */
  #pump (): void {
    this.#wake?.()
    this.#wake = null
    if (this.#stopped) return
    const nowMs = this.#options.clock.nowMs()
    const idle = this.#waiting.filter(one => !one.inFlight).sort((a, b) => a.dueMs - b.dueMs)
    const room = IN_FLIGHT_MAX - (this.#waiting.length - idle.length)
    for (const one of idle.slice(0, room)) {
      if (one.dueMs > nowMs) {
        this.#wake = this.#options.clock.after(one.dueMs - nowMs, () => this.#pump())
        return
      }
      one.inFlight = true
      void this.#send(one)
    }
  }

  async #send (delivery: Delivery): Promise<void> {
    delivery.tries++
    const failure = await this.#post(delivery.notice)
    delivery.inFlight = false
    if (this.#stopped) return
    if (failure === null) {
      this.#remove(delivery)
      this.#options.told('delivered')
    } else if (failure.gone) this.#disable()
    else this.#again(delivery, failure)
    this.#pump()
  }

  /** null: it was taken. */
  async #post ({ id, body }: Notice): Promise<Failure | null> {
    try {
      const timestampS = Math.floor(this.#options.now().getTime() / 1_000)
      const signature = await this.#signer.sign(id, timestampS, body)
      const { url, networks } = this.endpoint
      const headers = { 'webhook-id': id, 'webhook-timestamp': String(timestampS), 'webhook-signature': signature }
      const reply = await this.#options.poster.post({ url, networks, headers, body })
      if (reply.kind === 'none') return { reason: reply.cause, notBeforeMs: 0, gone: false }
      if (reply.status >= 200 && reply.status < 300) return null
      return { reason: `status ${reply.status}`, notBeforeMs: (reply.retryAfterS ?? 0) * 1_000, gone: reply.status === 410 }
    } catch (error) {
      // The secret cannot be had now; it may be there later.
      return { reason: error instanceof Error ? error.message : 'it could not be signed', notBeforeMs: 0, gone: false }
    }
  }

  #again (delivery: Delivery, { reason, notBeforeMs }: Failure): void {
    const { clock, told, note } = this.#options
    const nowMs = clock.nowMs()
    delivery.dueMs = nowMs + Math.max(this.#waitMs(delivery.tries), notBeforeMs)
    if (delivery.dueMs <= delivery.untilMs) return told('again')
    this.#remove(delivery)
    told('given_up')
    note('a notice was not taken in time', this.endpoint.url.host, reason)
  }

  /** The receiver says that it will never take one again: a start of the broker asks it anew. */
  #disable (): void {
    for (const _ of this.#waiting) this.#options.told('dropped')
    this.stop()
    this.#options.note('an endpoint wants no notices any more (410); it gets none until the broker is started again', this.endpoint.url.host, 'status 410')
  }
}

interface Failure {
  readonly reason: string
  readonly notBeforeMs: number
  readonly gone: boolean
}

/** By the store's times alone: its clock and ours need not agree. */
function leftMs (record: ProposalRecord): number {
  const endMs = endsAtMs(record)
  return endMs === null ? 0 : endMs - (record.decidedAtMs ?? record.createdAtMs)
}

function worthTellingMs (event: ConsentEvent): number {
  if (event.type === 'checkpoint') return CHECKPOINT_MS
  return 'record' in event && isOpen(event.record.state) ? leftMs(event.record) : LATER_MS
}
