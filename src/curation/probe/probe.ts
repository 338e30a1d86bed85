// Whether an upstream honours the idempotency that a sheet declares: the same key is sent twice with the same body and once with another one, against
// a sandbox. The requests are made by the steps of execution; only the three sends with one key are its own, since a broker would never make them.
import { isDeepStrictEqual } from 'node:util'
import { readAnswer } from '../../catalog/answer.ts'
import type { Action, AttemptView, Bindings, Consent, Json, Verdict } from '../../catalog/catalog.ts'
import { admit } from '../../execution/admit.ts'
import { validateArguments } from '../../execution/arguments.ts'
import type { Arrival, Caller } from '../../execution/call.ts'
import { requireCapability } from '../../execution/capability.ts'
import { decode } from '../../execution/decode.ts'
import { gatherFacts } from '../../execution/facts.ts'
import { presented } from '../../execution/propose.ts'
import { recall } from '../../execution/recall.ts'
import { CallRecord } from '../../execution/record.ts'
import { requireScope } from '../../execution/scope.ts'
import type { Services } from '../../execution/services.ts'
import type { Reply, WireRequest } from '../../upstream/wire.ts'
import { shownLines } from '../explain/shown.ts'

export interface ProbeOptions {
  readonly action: Action
  /** As the sheet and the policy have it; the probe itself asks nobody. */
  readonly consent: Consent
  readonly caller: Caller
  readonly services: Services
  readonly first: Arrival
  /** The same call with other arguments. */
  readonly other: Arrival
  /** One that the upstream has never seen. */
  readonly attempt: AttemptView
}

/** What came back of one send. */
export interface Probed {
  readonly status: number | null
  /** By the sheet's rules. */
  readonly outcome: Verdict['outcome']
  /** Why there is no status. */
  readonly lost: string | null
}

export interface ProbeReport {
  readonly action: string
  readonly first: Probed
  readonly repeat: Probed | null
  readonly other: Probed | null
  readonly conclusion: Conclusion
  /** What a person would be shown of the first call before it is sent, a line each; empty: nobody is asked. */
  readonly proposal: readonly string[]
  /** One sentence each. */
  readonly reasons: readonly string[]
}

export type Conclusion = 'honoured' | 'not_honoured' | 'undecided'

/** The two calls cannot be probed with; nothing was written. */
export class ProbeFault extends Error {
  override readonly name = 'ProbeFault'
}

interface Answered extends Probed {
  readonly body: Json
}

interface Ready {
  readonly request: WireRequest
  readonly bindings: Bindings
  readonly proposal: readonly string[]
}

/** @throws Refusal where a call is refused before it would be sent, ProbeFault */
export async function probe (options: ProbeOptions): Promise<ProbeReport> {
  const { action } = options
  const one = await prepare(options.first, options)
  const another = await prepare(options.other, options)
  if (isSameRequest(one.request, another.request)) throw new ProbeFault('both calls make the same request: give --other a value that changes it')
  const { proposal } = one
  const first = await send(one, options)
  if (first.outcome !== 'completed' && first.outcome !== 'pending') {
    const reasons = [`the first request did not succeed (${said(first)}), so a repeat would prove nothing`]
    return { action: action.id, proposal, first: plain(first), repeat: null, other: null, conclusion: 'undecided', reasons }
  }
  const repeat = await send(one, options)
  const other = await send(another, options)
  return { action: action.id, proposal, first: plain(first), repeat: plain(repeat), other: plain(other), ...concludeProbe(first, repeat, other) }
}

/** Pure. */
export function concludeProbe (first: Answered, repeat: Answered, other: Answered): Pick<ProbeReport, 'conclusion' | 'reasons'> {
  const judged = [judgeRepeat(first, repeat), judgeOther(first, other)]
  const conclusion = judged.some(one => one.conclusion === 'not_honoured')
    ? 'not_honoured'
    : judged.some(one => one.conclusion === 'undecided') ? 'undecided' : 'honoured'
  return { conclusion, reasons: judged.map(({ reason }) => reason) }
}

interface Judged { readonly conclusion: Conclusion, readonly reason: string }

function judgeRepeat (first: Answered, repeat: Answered): Judged {
  if (repeat.status === null) return { conclusion: 'undecided', reason: `same key, same body: no answer came (${repeat.lost})` }
  if (isSuccess(repeat) && isDeepStrictEqual(first.body, repeat.body)) {
    return { conclusion: 'honoured', reason: 'same key, same body: the first answer came again' }
  }
  if (isSuccess(repeat)) {
    return { conclusion: 'not_honoured', reason: `same key, same body: another answer came (${said(repeat)}), as of a second effect` }
  }
  if ([400, 409, 422].includes(repeat.status)) {
    return { conclusion: 'honoured', reason: `same key, same body: refused as a repeat (${said(repeat)}); the first answer is not given again` }
  }
  return { conclusion: 'undecided', reason: `same key, same body: ${said(repeat)} says nothing of the key` }
}

function judgeOther (first: Answered, other: Answered): Judged {
  if (other.status === null) return { conclusion: 'undecided', reason: `same key, another body: no answer came (${other.lost})` }
  if ([400, 409, 422].includes(other.status)) return { conclusion: 'honoured', reason: `same key, another body: refused (${said(other)})` }
  if (isSuccess(other) && isDeepStrictEqual(first.body, other.body)) {
    return { conclusion: 'honoured', reason: 'same key, another body: the first answer came again; the key alone is looked at' }
  }
  if (isSuccess(other)) {
    return { conclusion: 'not_honoured', reason: `same key, another body: it was done (${said(other)}); the key is not looked at` }
  }
  return { conclusion: 'undecided', reason: `same key, another body: ${said(other)} says nothing of the key` }
}

async function prepare (arrival: Arrival, { action, consent, caller, services, attempt }: ProbeOptions): Promise<Ready> {
  const record = new CallRecord(arrival, services)
  try {
    const capable = await requireCapability(await decode(arrival, caller), record, services)
    const scoped = requireScope(validateArguments(capable), services)
    const recalled = await recall(scoped, services)
    const admitted = recalled.kind === 'duplicate' || recalled.kind === 'proposed' ? recalled : await admit(recalled, record, services)
    if (admitted.kind !== 'admitted') throw new ProbeFault('there is nothing that a first call could repeat')
    const known = await gatherFacts(admitted, record, services)
    if (known.kind === 'already_so') throw new ProbeFault('the object is already as the call wants it: nothing would be sent')
    const bindings: Bindings = { ...known.facts.bindings, attempt }
    const { shown, requirement } = presented(known.facts, services)
    const proposal = consent === 'none' ? [] : shownLines(shown, requirement)
    return { bindings, proposal, request: services.upstream.build(action.upstream, action.request.place(bindings)) }
  } finally {
    record.close()
  }
}

async function send ({ request, bindings }: Ready, { action, caller, services }: ProbeOptions): Promise<Answered> {
  const credential = await services.credentials.obtain(action.upstream, caller.tenant, 'write')
  const sendByMs = performance.now() + action.limits.timeoutMs
  const options = { kind: 'write', timeoutMs: action.limits.timeoutMs, sendByMs, attemptId: null } as const
  const reply = await services.upstream.send(action.upstream, credential.apply(request), options)
  return answeredBy(reply, action, bindings)
}

function answeredBy (reply: Reply, action: Action, bindings: Bindings): Answered {
  if (reply.kind !== 'answer') return { status: null, outcome: 'unknown', lost: `${reply.kind} ${reply.cause}`, body: null }
  const read = readAnswer(action.request.operation, reply)
  if (read.kind === 'invalid') return { status: reply.status, outcome: 'unknown', lost: null, body: null }
  return { status: reply.status, outcome: action.judge({ ...bindings, response: read.answer }).outcome, lost: null, body: read.answer.body }
}

function isSameRequest (one: WireRequest, other: WireRequest): boolean {
  return one.method === other.method && one.path === other.path && (one.body ?? '').toString() === (other.body ?? '').toString()
}

const isSuccess = ({ status }: Probed): boolean => status !== null && status >= 200 && status <= 299

const said = ({ status, outcome, lost }: Probed): string => status === null ? lost ?? 'no answer' : `${status}, ${outcome}`

const plain = ({ status, outcome, lost }: Answered): Probed => ({ status, outcome, lost })
