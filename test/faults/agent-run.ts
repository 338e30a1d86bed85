// One run of an agent: its tokens, and every ask of it, which stands in the history before it is sent and again once it was answered.
import { randomUUID } from 'node:crypto'
import { importJWK, SignJWT, type CryptoKey } from 'jose'
import { Agent, request } from 'undici'
import type { JsonObject } from '../../src/catalog/catalog.ts'
import type { SigningKey } from '../../src/commands/signing-key.ts'
import { argsHash, type Ask, type Heard, type HistoryLine, type Verb } from './folder.ts'
import type { LineFile } from './line-file.ts'
import { AUDIENCE, ISSUER } from './site.ts'

/** Asked with one token; then the agent gets itself a new one, of the same run. */
const USES_OF_TOKEN = 12
const TOKEN_S = 900
/** Longer than the broker keeps anyone waiting, and than a replica is stopped. */
const ANSWER_MS_MAX = 60_000

export interface World {
  readonly history: LineFile
  readonly dispatcher: Agent
  /** By replica. */
  urls: readonly string[]
  readonly key: { readonly kid: string, readonly alg: string, readonly privateKey: CryptoKey }
  readonly counts: { asks: number, answers: number, lost: number, errands: number, ended: number }
  random (): number
}

export async function signingKeyOf (key: SigningKey): Promise<World['key']> {
  return { kid: key.kid, alg: key.alg, privateKey: await importJWK(key.jwk, key.alg) as CryptoKey }
}

/** What of a call is the same whenever it is repeated. */
export interface Errand {
  readonly name: string
  readonly story: string
  /** Which intention of the story: every part may have one effect. */
  readonly part: string
  readonly action: string
  readonly args: JsonObject
  readonly key: string | null
}

export class AgentRun {
  readonly tenant: string
  readonly run: string
  readonly #world: World
  /** Who may have few undecided proposals at a time. */
  readonly #sub: string
  #token: Promise<string> | null = null
  #uses = 0

  constructor (world: World, tenant: string, run: string, sub = 'agent') {
    this.#world = world
    this.tenant = tenant
    this.run = run
    this.#sub = sub
  }

  /** The next ask comes with another token. */
  renew (): void {
    this.#token = null
  }

  call (errand: Errand, signal?: AbortSignal, replica?: number): Promise<Heard | null> {
    const headers = { 'content-type': 'application/json', ...(errand.key === null ? {} : { 'idempotency-key': errand.key }) }
    return this.#ask(
      'call', 'POST', `/v1/actions/${errand.action}`, errand, { headers, body: JSON.stringify({ arguments: errand.args }) }, signal, replica
    )
  }

  get (errand: Errand, attempt: string, waitMs: number): Promise<Heard | null> {
    return this.#ask('get', 'GET', `/v1/attempts/${attempt}?wait=${waitMs}ms`, errand, {}, undefined, undefined, attempt)
  }

  cancel (errand: Errand, attempt: string): Promise<Heard | null> {
    return this.#ask('cancel', 'POST', `/v1/attempts/${attempt}/cancel`, errand, {}, undefined, undefined, attempt)
  }

  /** How a proposal stands; waits for a decision. */
  ask (errand: Errand, proposal: string, waitMs: number): Promise<Heard | null> {
    return this.#ask('ask', 'GET', `/v1/proposals/${proposal}?wait=${waitMs}ms`, errand, {}, undefined, undefined, null, proposal)
  }

  commit (errand: Errand, proposal: string, signal?: AbortSignal, replica?: number): Promise<Heard | null> {
    return this.#ask('commit', 'POST', `/v1/proposals/${proposal}/commit`, errand, {}, signal, replica, null, proposal)
  }

  withdraw (errand: Errand, proposal: string, replica?: number): Promise<Heard | null> {
    return this.#ask('withdraw', 'DELETE', `/v1/proposals/${proposal}`, errand, {}, undefined, replica, null, proposal)
  }

  /** Ids of the latest attempts of this run; empty where no answer came. */
  async list (): Promise<readonly string[]> {
    try {
      const { body } = await this.#send(this.#anyReplica(), 'GET', '/v1/attempts?limit=20', {})
      const { attempts = [] } = JSON.parse(body) as { readonly attempts?: ReadonlyArray<{ readonly attempt_id: string }> }
      return attempts.map(one => one.attempt_id)
    } catch {
      return []
    }
  }

  async #ask (
    verb: Verb, method: string, path: string, errand: Errand, more: { readonly headers?: Record<string, string>, readonly body?: string },
    signal?: AbortSignal, to?: number, attempt: string | null = null, proposal?: string
  ): Promise<Heard | null> {
    const { counts, history } = this.#world
    const replica = to ?? this.#anyReplica()
    const n = counts.asks++
    const ask: Ask = {
      kind: 'ask', n, t: Date.now(), errand: errand.name, story: errand.story, part: errand.part, verb, replica, tenant: this.tenant, run: this.run,
      action: errand.action, key: errand.key, args: argsHash(errand.args), attempt, ...(proposal === undefined ? {} : { proposal }),
    }
    await new Promise<void>(resolve => history.write(ask, resolve))
    const line = await this.#answerTo(n, replica, method, path, more, signal)
    history.write(line)
    counts[line.kind === 'heard' ? 'answers' : 'lost'] += 1
    return line.kind === 'heard' ? line : null
  }

  async #answerTo (
    n: number, replica: number, method: string, path: string, more: {
      readonly headers?: Record<string, string>, readonly body?: string,
    }, signal?: AbortSignal
  ): Promise<Extract<HistoryLine, { kind: 'heard' | 'lost' }>> {
    try {
      const { status, body } = await this.#send(replica, method, path, more, signal)
      return heardOf(n, status, body)
    } catch (error) {
      const { code, name } = error as NodeJS.ErrnoException
      return { kind: 'lost', n, t: Date.now(), why: String(code ?? name) }
    }
  }

  async #send (
    replica: number, method: string, path: string, more: { readonly headers?: Record<string, string>, readonly body?: string }, signal?: AbortSignal
  ): Promise<{ readonly status: number, readonly body: string }> {
    const { urls, dispatcher } = this.#world
    const answer = await request(`${urls[replica % urls.length]}${path}`, {
      method: method as 'GET' | 'POST' | 'DELETE',
      dispatcher,
      headers: { authorization: `Bearer ${await this.#tokenNow()}`, ...more.headers },
      body: more.body ?? null,
      headersTimeout: ANSWER_MS_MAX,
      bodyTimeout: ANSWER_MS_MAX,
      ...(signal === undefined ? {} : { signal }),
    })
    return { status: answer.statusCode, body: await answer.body.text() }
  }

  #anyReplica (): number {
    return Math.floor(this.#world.random() * this.#world.urls.length)
  }

  #tokenNow (): Promise<string> {
    if (this.#token === null || this.#uses++ >= USES_OF_TOKEN) {
      this.#uses = 0
      this.#token = this.#mint()
    }
    return this.#token
  }

  #mint (): Promise<string> {
    const { kid, alg, privateKey } = this.#world.key
    const issuedAt = Math.floor(Date.now() / 1_000)
    return new SignJWT({ client_id: 'rig', roles: ['worker'], tenant: this.tenant, run_id: this.run })
      .setProtectedHeader({ alg, kid, typ: 'at+jwt' })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setSubject(this.#sub)
      .setJti(randomUUID())
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + TOKEN_S)
      .sign(privateKey)
  }
}

interface Envelope {
  readonly outcome?: string
  readonly sent?: boolean
  readonly attempt_id?: string
  readonly duplicate?: boolean
  readonly recorded?: boolean
  readonly withheld?: string
  readonly correlation_id?: string
  readonly proposal?: Heard['proposal']
  readonly error?: { readonly code: string, readonly retryable: boolean }
}

function heardOf (n: number, status: number, text: string): Heard {
  let body: Envelope = {}
  try {
    body = JSON.parse(text) as Envelope
  } catch {
    // No envelope: such an answer proves nothing, and is kept as it is.
  }
  return {
    kind: 'heard',
    n,
    t: Date.now(),
    status,
    outcome: body.outcome ?? null,
    sent: body.sent ?? null,
    code: body.error?.code ?? null,
    retryable: body.error?.retryable ?? false,
    attempt: body.attempt_id ?? null,
    duplicate: body.duplicate ?? false,
    recorded: body.recorded ?? true,
    withheld: body.withheld ?? null,
    correlation: body.correlation_id ?? null,
    ...(body.proposal === undefined ? {} : { proposal: { id: body.proposal.id, kind: body.proposal.kind, state: body.proposal.state } }),
  }
}
