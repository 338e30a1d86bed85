// A client for the runtime of an agent. It keeps what is easy to lose: one idempotency key for each intended call, repeats with that same key alone, and
// an outcome that must be looked at before its result can be had. It needs nothing but fetch.
import type { Envelope, EnvelopeError, EnvelopeProposal } from './execution/envelope.ts'

type Told = Envelope

export interface Done extends Told {
  readonly outcome: 'completed' | 'already_in_desired_state'
}

/** Under way: `wait` says what becomes of it. */
export interface Pending extends Told {
  readonly outcome: 'pending'
  readonly pending_on?: 'dispatch' | 'upstream'
}

/** Nothing was done: a person is asked first. `wait` says what they decided; what is approved for one call is carried out by `commit`. */
export interface Proposed extends Told {
  readonly outcome: 'pending'
  readonly pending_on: 'consent'
  readonly proposal: EnvelopeProposal
}

/** Nothing was done. */
export interface Rejected extends Told {
  readonly outcome: 'rejected'
  readonly error: EnvelopeError
}

/** It may have been done. It is never sent again; `wait` says what was learned. */
export interface Unknown extends Told {
  readonly outcome: 'unknown'
  readonly error: EnvelopeError
}

export type Outcome = Done | Pending | Proposed | Rejected | Unknown

export const isProposed = (told: Outcome): told is Proposed => told.outcome === 'pending' && told.pending_on === 'consent'

/** No answer came, or one that is not Aval's: it proves nothing. The same call with this key goes on where this one was. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
  /** null: nothing was called, only asked. */
  readonly key: string | null
  constructor (key: string | null, cause: unknown) {
    super(`no answer of the broker came${key === null ? '' : `; call again with the key ${key}`}`, { cause })
    this.key = key
  }
}

export interface ClientOptions {
  /** Where agents are served, `https://aval.example`. */
  readonly url: string
  /** The access token, or what gives one that has not expired. */
  readonly token: string | (() => string | Promise<string>)
  /** How long a call is repeated while the broker cannot be reached or asks for that; 30 s. */
  readonly patienceMs?: number
}

export interface CallOptions {
  /** Of a call that was begun before, by this process or another. Absent: a new one. */
  readonly key?: string
  /** Why, for people to read. No rule reads it. */
  readonly reason?: string
  /** The arguments come from a model with the tools of `openai-strict`: null means absent. */
  readonly profile?: 'openai-strict'
}

export interface Client {
  /**
   * One intended call. Whatever happens on the way, it is done at most once.
   * @throws NoAnswer
   */
  call (action: string, args: object, options?: CallOptions): Promise<Outcome>
  /**
   * What becomes of it, asked until it is settled or decided, or the time is over.
   * @throws NoAnswer
   */
  wait (told: Outcome, withinMs: number): Promise<Outcome>
  /**
   * Carries out what was approved, at most once however often it is asked for.
   * @throws NoAnswer
   */
  commit (proposal: Pick<EnvelopeProposal, 'id'>): Promise<Outcome>
  /**
   * Takes a proposal back; the answer says where that was too late.
   * @throws NoAnswer
   */
  withdraw (proposal: Pick<EnvelopeProposal, 'id'>): Promise<Outcome>
}

const PATIENCE_MS = 30_000
const FIRST_PAUSE_MS = 250
const PAUSE_MS_MAX = 5_000
/** The longest wait of one question; the broker allows 60 s. */
const QUESTION_MS_MAX = 30_000
/** A write is answered after 20 s at the latest. */
const ANSWER_MS = 60_000

export function connect ({ url, token, patienceMs = PATIENCE_MS }: ClientOptions): Client {
  const ask = async (method: string, path: string, key: string | null, body: string | null): Promise<Answered> => {
    const answer = await fetch(new URL(path, url), {
      method,
      headers: {
        authorization: `Bearer ${typeof token === 'string' ? token : await token()}`,
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        ...(key === null ? {} : { 'idempotency-key': key }),
      },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    const told = await answer.json() as Told | null
    if (typeof told?.outcome !== 'string' || typeof told.correlation_id !== 'string') throw new TypeError(`an answer (${answer.status}) that is not Aval's`)
    return { told, status: answer.status }
  }

  /** Again with the same key, which makes a repeat harmless, and only where nothing is known or the broker says that it may be. */
  const patiently = async (method: string, path: string, key: string | null, body: string | null): Promise<Outcome> => {
    const endsAtMs = performance.now() + patienceMs
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
      const answered = await ask(method, path, key, body).catch((error: unknown) => error as Error)
      if (!(answered instanceof Error) && !passes(answered)) return answered.told as Outcome
      const askedMs = answered instanceof Error ? 0 : (answered.told.error?.retry_after_seconds ?? 0) * 1_000
      // Not all at once, where many wait for the same.
      const restMs = Math.max(askedMs, pauseMs * (0.5 + Math.random()))
      if (performance.now() + restMs > endsAtMs) {
        if (answered instanceof Error) throw new NoAnswer(key, answered)
        return answered.told as Outcome
      }
      await new Promise(resolve => setTimeout(resolve, restMs))
    }
  }

  return {
    call (action, args, { key = crypto.randomUUID(), reason, profile } = {}) {
      const body = JSON.stringify({ arguments: args, ...(reason === undefined ? {} : { reason }) })
      const query = profile === undefined ? '' : `?profile=${profile}`
      return patiently('POST', `/v1/actions/${encodeURIComponent(action)}${query}`, key, body)
    },
    async wait (told, withinMs) {
      const endsAtMs = performance.now() + withinMs
      let last = told
      // What is approved goes on by another request, which is the caller's to make.
      while ((last.outcome === 'pending' || last.outcome === 'unknown') && last.next?.method === 'GET') {
        const leftMs = Math.round(endsAtMs - performance.now())
        if (leftMs <= 0) break
        last = await patiently('GET', `${last.next.path}?wait=${Math.min(leftMs, QUESTION_MS_MAX)}ms`, null, null)
      }
      return last
    },
    commit: ({ id }) => patiently('POST', `/v1/proposals/${encodeURIComponent(id)}/commit`, null, null),
    withdraw: ({ id }) => patiently('DELETE', `/v1/proposals/${encodeURIComponent(id)}`, null, null),
  }
}

interface Answered {
  readonly told: Told
  readonly status: number
}

/** Nothing was sent, the same call may be made again, and what stands in its way passes by itself: no rule of a sheet does. */
function passes ({ told: { outcome, sent, error }, status }: Answered): boolean {
  if (outcome !== 'rejected' || sent !== false || error?.retryable !== true) return false
  return status === 429 || status === 503 || error.retry_after_seconds !== null
}
