// A call up to where it would leave, by the steps of execution themselves, each told in words. Nothing is sent: what a step would have to read is
// either given by whoever asks, or the story ends there.
import type { Action, JsonObject, Target } from '../../catalog/catalog.ts'
import { Refusal, STEPS, type Step } from '../../errors.ts'
import { admit } from '../../execution/admit.ts'
import { validateArguments } from '../../execution/arguments.ts'
import type { Arrival, Caller, Facts } from '../../execution/call.ts'
import { requireCapability } from '../../execution/capability.ts'
import { requireConsent } from '../../execution/consent.ts'
import { obtainCredential } from '../../execution/credential.ts'
import { decode } from '../../execution/decode.ts'
import { gatherFacts } from '../../execution/facts.ts'
import { presented } from '../../execution/propose.ts'
import { recall } from '../../execution/recall.ts'
import { CallRecord } from '../../execution/record.ts'
import { reserve } from '../../execution/reserve.ts'
import { requireScope } from '../../execution/scope.ts'
import type { Services } from '../../execution/services.ts'
import type { WireRequest } from '../../upstream/wire.ts'
import type { Shown } from '../../consent/proposal.ts'
import { ReadNeeded } from './dry-upstream.ts'
import { shownLines } from './shown.ts'

export interface Explanation {
  readonly action: string
  /** Steps in their order, up to the one that ended it. */
  readonly steps: ReadonlyArray<{ readonly step: Step, readonly lines: readonly string[] }>
  /** What a person would be shown; null: nobody is asked, or it ended before that. */
  readonly proposal: Shown | null
  readonly end:
    | { readonly kind: 'would_send', readonly request: ShownRequest }
    | { readonly kind: 'already_in_desired_state' }
    | { readonly kind: 'refused', readonly code: string, readonly message: string, readonly field: string | null, readonly internal: string | null }
    /** The read of this name has to be answered first. */
    | { readonly kind: 'undecided', readonly read: string, readonly request: ShownRequest }
}

/** As it would leave, with a chip where a secret would stand. */
export interface ShownRequest {
  readonly method: string
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  readonly body: string | null
}

export interface ExplainOptions {
  readonly arrival: Arrival
  readonly caller: Caller
  /** The action as its sheet and the policy have it; the services serve it as if a person had said yes. */
  readonly action: Action
  readonly services: Services
}

export async function explainCall (options: ExplainOptions): Promise<Explanation> {
  const explaining = new Explaining(options)
  const end = await explaining.run().catch((error: unknown) => explaining.ended(error))
  return { action: options.action.id, steps: explaining.steps, proposal: explaining.proposal, end }
}

class Explaining {
  readonly steps: Array<{ readonly step: Step, readonly lines: string[] }> = []
  proposal: Shown | null = null
  readonly #options: ExplainOptions

  constructor (options: ExplainOptions) {
    this.#options = options
  }

  async run (): Promise<Explanation['end']> {
    const { arrival, caller, action, services } = this.#options
    const record = new CallRecord(arrival, services)
    this.#at('authenticate', callerLine(caller))
    const call = await this.#step('decode', () => decode(arrival, caller))
    const capable = await this.#step('capability', () => requireCapability(call, record, services))
    this.#say(...capabilityLines(action, caller))
    const valid = await this.#step('arguments', () => validateArguments(capable))
    this.#say(`they match the input schema: ${JSON.stringify(valid.args)}`)
    const scoped = await this.#step('scope', () => requireScope(valid, services))
    this.#say(...action.scope.length === 0 ? ['no rule'] : action.scope.map(({ text }) => `holds: ${text}`))
    const recalled = await this.#step('recall', () => recall(scoped, services))
    if (recalled.kind === 'duplicate' || recalled.kind === 'proposed') throw new Error('a dry run recalls nothing')
    this.#say(recalled.kind === 'write' ? 'taken for new: a dry run knows no earlier attempt' : 'an observation is asked anew each time')
    const admitted = await this.#step('admit', () => admit(recalled, record, services))
    if (admitted.kind === 'duplicate') throw new Error('a dry run recalls nothing')
    this.#say(...limitLines(action))
    const known = await this.#step('facts', () => gatherFacts(admitted, record, services))
    if (known.kind === 'already_so') return { kind: 'already_in_desired_state' }
    this.#say(...factLines(action, known.facts.bindings.values, known.facts.target))
    const approved = await this.#step('consent', () => requireConsent(known, record, services))
    if (approved.kind === 'proposed') throw new Error('a dry run asks nobody')
    if (action.consent === 'none') this.#say('none is needed')
    else this.#sayProposal(known.facts)
    const reserved = await this.#step('reserve', () => reserve(approved, record, services))
    if (reserved.kind === 'duplicate') throw new Error('a dry run recalls nothing')
    this.#say(reserved.attempt === null
      ? 'an observation leaves no record'
      : `the attempt is recorded before anything leaves; key ${reserved.attempt.key} (another one in a real call)`)
    const authorised = await this.#step('credential', () => obtainCredential(reserved, services))
    const declared = action.upstream.credentials[action.write ? 'write' : 'read']
    this.#say(declared === null ? 'the upstream takes none' : `from ${declared.secret}`)
    this.#at('dispatch', 'one send; a dry run ends here')
    return { kind: 'would_send', request: shown(action, authorised.credential.apply(reserved.request)) }
  }

  #sayProposal (facts: Facts): void {
    const { action, services } = this.#options
    const { shown, requirement } = presented(facts, services)
    this.proposal = shown
    this.#say(`${action.consent}: a person would be asked first, and this goes on as if the answer were yes`, ...shownLines(shown, requirement))
  }

  /** What ended it is a refusal, a read that nobody answered, or a fault of our own. */
  ended (error: unknown): Explanation['end'] {
    if (error instanceof ReadNeeded) {
      return { kind: 'undecided', read: error.read, request: shown(this.#options.action, error.request) }
    }
    if (!(error instanceof Refusal)) throw error
    const { code, message, details } = error
    this.#at(error.step, `refused: ${code}`)
    return { kind: 'refused', code, message, field: details.field ?? null, internal: details.internal ?? null }
  }

  async #step<Value> (step: Step, run: () => Value | Promise<Value>): Promise<Value> {
    const value = await run()
    this.#at(step)
    return value
  }

  #at (step: Step, ...lines: readonly string[]): void {
    const last = this.steps.at(-1)
    if (last?.step === step) last.lines.push(...lines)
    else this.steps.push({ step, lines: [...lines] })
  }

  #say (...lines: readonly string[]): void {
    this.steps.at(-1)!.lines.push(...lines)
  }
}

/** `1 authenticate`, as README numbers them. */
export const numberOf = (step: Step): number => STEPS.indexOf(step) + 1

function callerLine ({ sub, tenant, run, roles }: Caller): string {
  return `${sub} of tenant ${tenant}, ${run === null ? 'without a run' : `run ${run}`}, roles ${roles.join(', ') || 'none'}`
}

function capabilityLines ({ title, effect, involves }: Action, caller: Caller): readonly string[] {
  const further = involves.length === 0 ? '' : `, involves ${involves.join(', ')}`
  return [`${title}; ${effect.replaceAll('_', ' ')}${further}`, `granted by ${caller.roles.join(', ')}`]
}

function limitLines (action: Action): readonly string[] {
  const { callsPerRun, concurrencyPerTenant, timeoutMs } = action.limits
  return [[
    callsPerRun === null ? 'any number of calls a run' : `at most ${callsPerRun} calls a run`,
    ...concurrencyPerTenant === null ? [] : [`${concurrencyPerTenant} at once in a tenant`],
    `${timeoutMs} ms to answer`,
  ].join(', ')]
}

function factLines (action: Action, values: JsonObject, target: Target | null): readonly string[] {
  return [
    ...action.reads.map(({ name }) => `read ${name}: answered as it was given`),
    ...Object.entries(values).map(([name, value]) => `${name} = ${JSON.stringify(value)}`),
    ...action.checks.map(({ text }) => `holds: ${text}`),
    ...target === null ? [] : [`target ${target.type} ${target.id}${target.version === null ? '' : `, version ${JSON.stringify(target.version)}`}`],
    ...action.reads.length + action.checks.length === 0 && target === null ? ['nothing to read or to check'] : [],
  ]
}

function shown (action: Action, request: WireRequest): ShownRequest {
  const { method, path, body } = request
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) =>
    [name, name === 'authorization' ? readable(value) : value]))
  return { method, url: `${action.upstream.origin}${path}`, headers, body: body === null ? null : body.toString('utf8') }
}

/** A chip that was written in base64 is none that anybody can read. */
function readable (authorization: string): string {
  const pair = /^Basic (.+)$/.exec(authorization)?.[1]
  return pair === undefined ? authorization : `Basic base64(${Buffer.from(pair, 'base64').toString('utf8')})`
}
