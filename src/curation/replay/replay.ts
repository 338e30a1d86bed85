// Makes recorded calls again on today's catalog, in front of a recording upstream, and compares what is decided now with what was decided then.
import type { Action } from '../../catalog/catalog.ts'
import { ERRORS, isErrorCode } from '../../errors.ts'
import { play, type ScriptedReaction } from '../rehearsal/script.ts'
import { isRefusal, type Answered, type Stage } from '../rehearsal/stage.ts'
import { factsFor } from '../test/facts.ts'
import { filled, type Trace } from './trace.ts'

export interface Replayed {
  readonly trace: string
  readonly action: string
  readonly then: string
  readonly now: string
  /** `undecided`: it hangs on what the upstream knew, which the trace does not say. */
  readonly verdict: 'same' | 'differs' | 'undecided'
  /** In words, where it differs or is undecided. */
  readonly message: string | null
}

/** @param progress told as it goes on */
export async function replay (
  stage: Stage, traces: readonly Trace[], consents: ReadonlyMap<string, string>, progress: (done: number, all: number, about: string) => void
): Promise<readonly Replayed[]> {
  const results: Replayed[] = []
  for (const [index, trace] of traces.entries()) {
    progress(index, traces.length, trace.action)
    results.push(await replayOne(stage, trace, index, consents))
  }
  progress(traces.length, traces.length, '')
  return results
}

async function replayOne (stage: Stage, trace: Trace, index: number, consents: ReadonlyMap<string, string>): Promise<Replayed> {
  const action = stage.catalog.actions.get(trace.action) ?? null
  const { roles, tenant = 'default', run, claims = {} } = trace.caller
  const args = action === null ? trace.arguments : filled(trace, action)
  const known = action === null || script(stage, action, trace, args)
  const answered = await stage.call({
    action: trace.action,
    text: JSON.stringify(args),
    key: trace.key ?? null,
    caller: { roles, tenant, run: run === undefined ? `replay-${index}` : run, claims },
  })
  const { recorded } = trace
  const then = inWords(recorded.allowed, recorded.code)
  const now = inWords(!isRefusal(answered), answered.envelope.error?.code)
  const message = difference(trace, answered, action, consents)
  const base = { trace: trace.id ?? String(index + 1), action: trace.action, then, now }
  if (message === null) return { ...base, verdict: 'same', message: null }
  if (!known && hangsOnFacts(trace, answered)) return { ...base, verdict: 'undecided', message: 'what the upstream knew is not in the trace' }
  return { ...base, verdict: 'differs', message }
}

const inWords = (allowed: boolean, code: string | undefined): string => allowed ? 'allowed' : `refused ${code ?? ''}`.trim()

/** Answers what is read. @returns whether all of it is known */
function script (stage: Stage, action: Action, trace: Trace, args: Trace['arguments']): boolean {
  const given = trace.upstream?.map(({ operation, status = 200, headers = {}, body }): ScriptedReaction =>
    ({ operation, react: () => ({ kind: 'answer', status, headers, body }) }))
  if (given !== undefined || action.reads.length === 0) {
    play(stage.upstream, action, given ?? [])
    return true
  }
  const facts = factsFor(action, args, trace.caller.claims ?? {})
  play(stage.upstream, action, action.reads.flatMap((read): ScriptedReaction[] => {
    const answer = facts?.get(read.name)
    if (answer === undefined) return []
    const { status, headers, body } = answer
    return [{ operation: read.request.operation.id, react: () => ({ kind: 'answer', status, headers, body: body ?? undefined }) }]
  }))
  return false
}

function difference (
  { recorded, action: id }: Trace, answered: Answered, action: Action | null, consents: ReadonlyMap<string, string>
): string | null {
  const refused = isRefusal(answered)
  const code = answered.envelope.error?.code ?? ''
  const field = answered.envelope.error?.field ?? ''
  if (recorded.allowed && refused) return `was allowed, and is refused with ${code}${field === '' ? '' : ` (${field})`}`
  if (!recorded.allowed && !refused) return `was refused with ${recorded.code ?? 'some code'}, and is allowed as ${action?.effect ?? 'nothing'}`
  if (!recorded.allowed && recorded.code !== undefined && recorded.code !== code) {
    return `was refused with ${recorded.code}, and is refused with ${code}`
  }
  if (recorded.allowed && recorded.effect !== undefined && recorded.effect !== action?.effect) {
    return `was ${recorded.effect}, and is ${action?.effect ?? 'nothing'}`
  }
  const consent = consents.get(id)
  return recorded.consent === undefined || consent === undefined || recorded.consent === consent
    ? null
    : `needed the consent ${recorded.consent}, and needs ${consent}`
}

/** One of the two decisions was made by a business rule, or for want of facts. */
function hangsOnFacts (trace: Trace, answered: Answered): boolean {
  return [trace.recorded.code, answered.envelope.error?.code].some(
    code => code !== undefined && (!isErrorCode(code) || ERRORS[code].step === 'facts' || code === 'UPSTREAM_NOT_FOUND')
  )
}
