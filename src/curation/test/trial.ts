// One call on the stage, held against what it should have been answered and what may have been sent.
import type { Action, JsonObject } from '../../catalog/catalog.ts'
import type { Answered, RehearsedCaller, Stage } from '../rehearsal/stage.ts'
import { isRefusal } from '../rehearsal/stage.ts'
import { REHEARSAL_ROLE } from '../rehearsal/rehearsed.ts'
import { operationOf } from '../rehearsal/operations.ts'
import type { Recorded } from '../rehearsal/recorder.ts'
import type { CaseResult } from './finding.ts'

export interface Trial {
  readonly name: string
  readonly group: CaseResult['group']
  readonly text: string
  readonly key?: string
  readonly caller: RehearsedCaller
  readonly expect: Expectation
}

export type Expectation =
  /** With nothing sent; `reads`: what is read before deciding may have been. */
  | { readonly kind: 'refused', readonly codes: readonly string[], readonly field: string | null, readonly reads?: true }
  /** The arguments are taken, whatever becomes of the call. */
  | { readonly kind: 'arguments taken' }
  /** A person is asked, and nothing but what is read before that is sent. */
  | { readonly kind: 'asked' }
  /** Sent: a write once, whatever the upstream makes of it. */
  | { readonly kind: 'sent' }
  /** Sent, and said to be anything but done. */
  | { readonly kind: 'not completed', readonly codes: readonly string[] }

export async function tryOut (stage: Stage, action: Action, trial: Trial): Promise<CaseResult & { readonly result: Answered }> {
  const before = stage.upstream.requests.length
  const result = await stage.call({ action: action.id, text: trial.text, key: trial.key ?? null, caller: trial.caller })
  const seen = stage.upstream.requests.slice(before)
  return {
    name: trial.name,
    group: trial.group,
    fault: faultOf(trial.expect, result, action, seen),
    answered: inWords(result),
    requests: seen.length,
    refused: trial.expect.kind === 'refused',
    result,
  }
}

/** null: it went as expected; else what went differently, in words. */
export function faultOf (expect: Expectation, result: Answered, action: Action, seen: readonly Recorded[]): string | null {
  const code = result.envelope.error?.code ?? null
  switch (expect.kind) {
    case 'refused': {
      const sent = expect.reads === true ? writesAmong(seen, action) : seen
      if (sent.length > 0) return `it had to be refused, and ${sent.length} requests were sent: ${sent[0]!.method} ${sent[0]!.path}`
      if (!isRefusal(result) || code === null) return `it had to be refused with ${expect.codes.join(' or ')}`
      if (!expect.codes.includes(code)) return `it had to be refused with ${expect.codes.join(' or ')}`
      const field = result.envelope.error?.field ?? null
      return expect.field === null || field === expect.field
        ? null
        : `the refusal had to name ${expect.field === '' ? 'the arguments' : expect.field}`
    }
    case 'asked':
      if (writesAmong(seen, action).length > 0) return 'a person had to be asked first, and it was sent'
      return result.envelope.pending_on === 'consent' ? null : 'a person had to be asked'
    case 'sent': {
      const sent = writesAmong(seen, action).length
      if (sent === 0) return 'it was approved, and was not sent'
      return action.write && sent > 1 ? `it was approved once, and was sent ${sent} times` : null
    }
    case 'arguments taken': return code !== null && ARGUMENT_CODES.has(code) ? 'its arguments are right by the schema' : null
    case 'not completed':
      if (result.envelope.outcome === 'completed' || result.envelope.outcome === 'already_in_desired_state') {
        return 'the upstream refused it, and it is told as done'
      }
      return code !== null && expect.codes.includes(code) ? null : `it had to answer ${expect.codes.join(' or ')}`
  }
}

/** Requests of the action itself, and not what is read for it. */
export function writesAmong (seen: readonly Recorded[], action: Action): readonly Recorded[] {
  const own = action.request.operation
  return seen.filter(one => operationOf(action, one)?.path === own.path && one.method === own.method)
}

const ARGUMENT_CODES: ReadonlySet<string> = new Set(
  ['INVALID_ARGUMENTS', 'UNSAFE_NUMBER', 'MALFORMED_JSON', 'MALFORMED_REQUEST', 'TOO_DEEP', 'TOO_LARGE', 'DUPLICATE_KEY', 'ILL_FORMED_TEXT']
)

export function inWords ({ envelope }: Answered): string {
  const { error } = envelope
  return [envelope.outcome, error?.code, error?.field].filter(part => part !== undefined && part !== null && part !== '').join(' ')
}

/** Callers whose runs are changed before a budget of the sheet could refuse what another rule has to refuse. */
export class Callers {
  readonly #every: number
  #calls = 0
  readonly #name: string

  constructor (action: Action, name: string) {
    this.#every = Math.max(1, Math.min(action.limits.refusalsPerRun ?? 500, action.limits.callsPerRun ?? 500))
    this.#name = name
  }

  next (claims: JsonObject, more: { readonly roles?: readonly string[], readonly run?: null } = {}): RehearsedCaller {
    const run = more.run === null ? null : `${this.#name}-${Math.floor(this.#calls++ / this.#every)}`
    return { roles: more.roles ?? [REHEARSAL_ROLE], tenant: 'default', run, claims }
  }
}
