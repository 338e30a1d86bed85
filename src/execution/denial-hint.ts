// What an agent that was told no can rightly do next. Nothing here is to lead it round the no: only where a value or the object was found wrong is there
// something to correct.
import { COOL_DOWN_MS, stateAt, type DenyCode } from '../consent/proposal.ts'
import type { HeldProposal } from '../store/consent-store.ts'

const NOT_IN_ANOTHER_FORM = 'Do not ask for the same in another form'

const ADVICE: Readonly<Record<DenyCode, string>> = {
  wrong_target: 'It is about the wrong object: find the right one before you propose anything.',
  wrong_value: 'A value in it is wrong: find the right one before you propose anything.',
  not_needed: `It is not needed. ${NOT_IN_ANOTHER_FORM}.`,
  not_now: 'This is not the time for it. The same call can be proposed later.',
  needs_more_context: 'Who decides has to know more. The same call can be proposed later, with a reason that says it.',
  policy: `It is against a rule of those who decide. ${NOT_IN_ANOTHER_FORM}.`,
  suspicious: `It looks suspicious to those who decide. ${NOT_IN_ANOTHER_FORM}; tell whom you work for.`,
  other: `${NOT_IN_ANOTHER_FORM}.`,
}

export interface DenialHint {
  readonly hint: string
  /** Until an equal call is heard again; null: it is. */
  readonly retryAfterSeconds: number | null
}

/** null: it was not denied. */
export function denialHint ({ record, nowMs }: HeldProposal): DenialHint | null {
  if (stateAt(record, nowMs) !== 'denied') return null
  const advice = ADVICE[record.decisions.find(({ decision }) => decision === 'deny')?.reasonCode ?? 'other']
  const leftMs = (record.decidedAtMs ?? nowMs) + COOL_DOWN_MS - nowMs
  if (leftMs < 0) return { hint: advice, retryAfterSeconds: null }
  // At the very end of them it is still refused.
  const minutes = COOL_DOWN_MS / 60_000
  return { hint: `${advice} For ${minutes} minutes after the denial the same call is refused.`, retryAfterSeconds: Math.floor(leftMs / 1_000) + 1 }
}
