// Runs the scenarios of an action: plays the answers that it scripts, makes its calls, and holds what is told and what was seen against what it says.
import { isDeepStrictEqual } from 'node:util'
import { isObject, type Action, type Json } from '../../catalog/catalog.ts'
import { durationMs } from '../../catalog/units.ts'
import { REDACTED } from '../../consent/redact.ts'
import { MADE_MAX } from '../../consent/proposal.ts'
import type { Envelope, EnvelopeProposal } from '../../execution/envelope.ts'
import { claimsFor } from '../rehearsal/claims.ts'
import { DECISIONS } from '../rehearsal/decisions.ts'
import { isNamed, operationOf } from '../rehearsal/operations.ts'
import type { Reaction, Recorded } from '../rehearsal/recorder.ts'
import { REHEARSAL_ROLE } from '../rehearsal/rehearsed.ts'
import { askedOf, play } from '../rehearsal/script.ts'
import { isRefusal, type Answered, type Consenting, type OpenStage, type RehearsedCaller, type Stage } from '../rehearsal/stage.ts'
import type { CaseResult } from './finding.ts'
import { askedIn, consentCrossed } from './consent-cases.ts'
import { SHOWN, type Approval, type Scenario, type ScenarioCall, type ScenarioFile, type ScriptedAnswer, type SeenRequest, type Then } from './scenario-file.ts'
import { inWords, writesAmong } from './trial.ts'

export type { ScenarioFile } from './scenario-file.ts'

const SETTLES_WITHIN = '30s'

/** What a refusal shows to hold, whatever the action. */
const CROSSED: { readonly [code: string]: string } = {
  UNKNOWN_ACTION: '/role', RUN_REQUIRED: '/run', IDEMPOTENCY_KEY_REQUIRED: '/key', IDEMPOTENCY_KEY_REUSED: '/key', CONSENT_UNAVAILABLE: '/consent/none',
}

export interface ScenarioResult extends CaseResult {
  /** Boundaries that it shows to hold. */
  readonly crossed: readonly string[]
}

/** Scenarios on stages of their own: one goes on with the stage of another only where nothing of that is under way. */
export class ScenarioRunner {
  readonly #open: OpenStage
  readonly #stages = new Map<Consenting, Stage>()
  #count = 0
  /** What was proposed at most on the stage with people: one agent may make only so many proposals in an hour, and all scenarios are one agent. */
  #proposed = 0

  constructor (open: OpenStage) {
    this.#open = open
  }

  async run (action: Action, file: ScenarioFile): Promise<readonly ScenarioResult[]> {
    const results: ScenarioResult[] = []
    for (const scenario of file.scenarios ?? []) {
      if (scenario.version === undefined || scenario.version === action.version) results.push(await this.#one(action.id, scenario))
    }
    return results
  }

  async close (): Promise<void> {
    for (const stage of this.#stages.values()) await stage.close()
    this.#stages.clear()
  }

  async #one (id: string, scenario: Scenario): Promise<ScenarioResult> {
    const consenting = consentingOf(scenario.given?.approval ?? 'given')
    if (consenting === 'people') await this.#roomFor([scenario.when].flat().length)
    const stage = await this.#stage(consenting)
    const action = stage.catalog.actions.get(id)!
    const playing = new Playing(stage, action, scenario, `scenario-${this.#count++}`)
    const result = await playing.result()
    if (!playing.over) await this.#leave(consenting)
    return result
  }

  /** Each call may be proposed, and once more when that has ended. */
  async #roomFor (calls: number): Promise<void> {
    if (this.#proposed + 2 * calls > MADE_MAX) await this.#leave('people')
    this.#proposed += 2 * calls
  }

  async #leave (consenting: Consenting): Promise<void> {
    const stage = this.#stages.get(consenting)
    this.#stages.delete(consenting)
    if (consenting === 'people') this.#proposed = 0
    await stage?.close()
  }

  async #stage (consenting: Consenting): Promise<Stage> {
    let stage = this.#stages.get(consenting)
    if (stage === undefined) this.#stages.set(consenting, stage = await this.#open(consenting))
    return stage
  }
}

const consentingOf = (approval: Approval): Consenting => approval === 'given' ? 'given' : approval === 'none' ? 'nobody' : 'people'

class Playing {
  /** Nothing of it is under way any more. */
  over = true
  readonly #stage: Stage
  readonly #action: Action
  readonly #scenario: Scenario
  readonly #caller: RehearsedCaller
  readonly #calls: readonly ScenarioCall[]
  readonly #from: number
  #attemptId = ''
  /** All that people were asked, in their order. */
  readonly #proposals: EnvelopeProposal[] = []

  constructor (stage: Stage, action: Action, scenario: Scenario, run: string) {
    this.#stage = stage
    this.#action = action
    this.#scenario = scenario
    this.#calls = Array.isArray(scenario.when) ? scenario.when as readonly ScenarioCall[] : [scenario.when as ScenarioCall]
    const { tenant = 'default', roles = [REHEARSAL_ROLE], claims } = scenario.given?.caller ?? {}
    this.#caller = { tenant, roles, run, claims: claims ?? claimsFor(action, this.#calls[0]!.arguments) }
    this.#from = stage.upstream.requests.length
  }

  async result (): Promise<ScenarioResult> {
    const { name, then } = this.#scenario
    this.#play(this.#scenario.given?.upstream ?? [])
    let answered: Answered | null = null
    for (const call of this.#calls) {
      answered = await this.#called(call)
      this.#attemptId = answered.envelope.attempt_id ?? this.#attemptId
    }
    const first = answered!
    const seen = this.#stage.upstream.requests.slice(this.#from)
    const faults = [...faultsOf(then, first.envelope), ...faultsOfProposal(then.proposal, this.#proposals.at(-1) ?? null), ...this.#faultsOfRequests(then.requests, seen)]
    const last = then.settles === undefined ? first : await this.#settled(first, durationMs(then.settles.within ?? SETTLES_WITHIN))
    if (then.settles !== undefined) faults.push(...faultsOf(then.settles, last.envelope).map(fault => `in the end ${fault}`))
    if ([first, last].some(one => this.#showsSecret(one))) faults.push('the answer shows a credential')
    this.over = last.envelope.attempt_id === undefined || !['pending', 'unknown'].includes(last.envelope.outcome)
    // What is left undecided counts against what this agent may have undecided.
    for (const { id } of this.#proposals) await this.#stage.people().outlast(id)
    const refused = isRefusal(first)
    return {
      name,
      group: 'scenario',
      fault: faults.length === 0 ? null : faults.join('; '),
      answered: last === first ? inWords(first) : `${inWords(first)}, then ${inWords(last)}`,
      requests: seen.length,
      refused,
      crossed: [...this.#crossedByPeople(first, seen), ...refused ? this.#crossed(first.envelope.error?.code ?? '', seen.length > 0) : []],
    }
  }

  #play (answers: readonly ScriptedAnswer[]): void {
    play(this.#stage.upstream, this.#action, answers.map(answer => ({ operation: answer.operation, react: () => this.#reaction(answer) })))
  }

  /** Where a person is asked, what the scenario says of that follows, and then the agent goes on as it is told to. */
  async #called (call: ScenarioCall): Promise<Answered> {
    const answered = await this.#asked(call)
    const proposal = askedIn(answered)
    const { approval = 'given', upstream_after: after } = this.#scenario.given ?? {}
    if (proposal === null || approval === 'asked' || approval === 'given' || approval === 'none') return answered
    await DECISIONS[approval](this.#stage.people(), proposal.id)
    if (after !== undefined) this.#play(after)
    return proposal.kind === 'call' ? this.#stage.commit(proposal.id, this.#caller) : this.#asked(call)
  }

  async #asked ({ arguments: args, key }: ScenarioCall): Promise<Answered> {
    const answered = await this.#stage.call({ action: this.#action.id, text: JSON.stringify(args), key: key ?? null, caller: this.#caller })
    const proposal = askedIn(answered)
    if (proposal !== null) this.#proposals.push(proposal)
    return answered
  }

  #settled (answered: Answered, waitMs: number): Promise<Answered> {
    const id = answered.envelope.attempt_id
    return id === undefined ? Promise.resolve(answered) : this.#stage.attempt(id, this.#caller, Math.min(waitMs, 60_000))
  }

  #reaction (answer: ScriptedAnswer): Reaction {
    if (answer.fault === 'lost') return { kind: 'lost' }
    if (answer.fault !== undefined) return { kind: answer.fault, status: answer.status ?? 200 }
    return {
      kind: 'answer',
      status: answer.status ?? 200,
      headers: answer.headers ?? {},
      body: answer.body === undefined ? undefined : this.#filled(answer.body),
    }
  }

  /** Puts what was really sent where the script names it. */
  #filled (value: Json): Json {
    if (typeof value === 'string') {
      return value.replaceAll('${attempt.key}', () => this.#sentKey()).replaceAll('${attempt.id}', () => this.#attemptId).replaceAll(
        '${secret}', () => this.#stage.secrets.write
      )
    }
    if (Array.isArray(value)) return value.map((item: Json) => this.#filled(item))
    return isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, item]) => [name, this.#filled(item)])) : value
  }

  /** The key of the last write, from where the sheet puts it. */
  #sentKey (): string {
    const { idempotency, request } = this.#action
    const sent = this.#stage.upstream.requests.slice(this.#from).findLast(one => operationOf(this.#action, one) === request.operation)
    if (idempotency === null || sent === undefined) return ''
    if (idempotency.place === 'header') return sent.headers[idempotency.name.toLowerCase()] ?? ''
    if (idempotency.place === 'query') return new URLSearchParams(sent.query).get(idempotency.name) ?? ''
    let value: Json | undefined = bodyOf(sent)
    for (const part of idempotency.name.split('/').slice(1)) value = isObject(value) ? value[part] : undefined
    return typeof value === 'string' ? value : ''
  }

  #showsSecret ({ envelope }: Answered): boolean {
    const text = JSON.stringify(envelope)
    return text.includes(this.#stage.secrets.write) || text.includes(this.#stage.secrets.read)
  }

  #faultsOfRequests (expected: readonly SeenRequest[] | undefined, seen: readonly Recorded[]): readonly string[] {
    if (expected === undefined) return []
    const asked = seen.map(one => askedOf(this.#action, one))
    const fitting = seen.length === expected.length && seen.every((one, index) => {
      const operation = operationOf(this.#action, one)
      return operation !== null && isNamed(operation, expected[index]!.operation)
    })
    if (!fitting) return [`the upstream had to see ${listed(expected.map(({ operation }) => operation))} and saw ${listed(asked)}`]
    return seen.flatMap((one, index) => faultsOfRequest(expected[index]!, one))
  }

  #crossedByPeople (last: Answered, seen: readonly Recorded[]): readonly string[] {
    const { approval = 'given' } = this.#scenario.given ?? {}
    const kind = this.#proposals.at(-1)?.kind
    if (kind === undefined || approval === 'given' || approval === 'none') return []
    return consentCrossed(approval, last, kind === 'session', writesAmong(seen, this.#action).length > 0)
  }

  #crossed (code: string, asked: boolean): readonly string[] {
    const boundary = CROSSED[code]
    if (boundary !== undefined) return [boundary]
    const { checks, scope } = this.#action
    // A scope is asked before anything is read, a business rule after it.
    const byCheck = checks.flatMap(({ otherwise }, index) => otherwise.kind === 'refuse' && otherwise.code === code ? [`/checks/${index}`] : [])
    const fitting = code === 'OUT_OF_SCOPE' && !asked ? scope.map((_, index) => `/scope/${index}`) : byCheck
    // Which of several rules refused is not told, so a scenario shows none of them.
    return fitting.length === 1 ? fitting : []
  }
}

function faultsOf (then: Pick<Then, 'outcome' | 'error' | 'cause' | 'withheld' | 'duplicate' | 'result'>, envelope: Envelope): string[] {
  const faults: string[] = []
  const expect = (what: string, expected: Json | undefined, told: Json | undefined): void => {
    if (expected !== undefined && !isDeepStrictEqual(expected, told)) {
      faults.push(`${what} had to be ${shortly(expected)} and is ${told === undefined ? 'absent' : shortly(told)}`)
    }
  }
  expect('the outcome', then.outcome, envelope.outcome)
  expect('the error', then.error, envelope.error?.code)
  expect('the cause', then.cause, envelope.error?.cause)
  expect('withheld', then.withheld, envelope.withheld)
  expect('duplicate', then.duplicate, envelope.duplicate ?? false)
  expect('the result', then.result, envelope.result)
  return faults
}

function faultsOfProposal (expected: Then['proposal'], proposal: EnvelopeProposal | null): readonly string[] {
  if (expected === undefined) return []
  if (proposal === null) return ['a person had to be asked']
  return SHOWN.flatMap(part => {
    const [wanted, shown] = [expected[part], unmarked(proposal[part] as Json)]
    return wanted === undefined || isDeepStrictEqual(wanted, shown) ? [] : [`the ${part} of the proposal had to be ${shortly(wanted)} and is ${shortly(shown)}`]
  })
}

/** The mark of what is kept from people is another one wherever another key made it: a scenario says only that there is one. */
const unmarked = (value: Json): Json => JSON.parse(JSON.stringify(value).replaceAll(REDACTED, '••••')) as Json

function faultsOfRequest (expected: SeenRequest, seen: Recorded): readonly string[] {
  const faults: string[] = []
  const expect = (what: string, wanted: Json | undefined, got: Json): void => {
    if (wanted !== undefined && !isDeepStrictEqual(wanted, got)) {
      faults.push(`${what} of ${expected.operation} had to be ${shortly(wanted)} and was ${shortly(got)}`)
    }
  }
  expect('the path', expected.path, seen.path)
  expect('the query', expected.query, seen.query)
  expect('the body', expected.body, bodyOf(seen))
  for (const [name, value] of Object.entries(expected.headers ?? {})) expect(`the header ${name}`, value, seen.headers[name.toLowerCase()] ?? null)
  return faults
}

function bodyOf ({ body, headers }: Recorded): Json {
  if (!/^application\/([a-z.+-]+\+)?json/.test(headers['content-type'] ?? '')) return body
  try {
    return JSON.parse(body) as Json
  } catch {
    return body
  }
}

const listed = (names: readonly string[]): string => names.length === 0 ? 'nothing' : names.join(', ')

const shortly = (value: Json): string => {
  const text = JSON.stringify(value)
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}
