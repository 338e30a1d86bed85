// The same as the pages, for a program that shows it to a person: a terminal. What only the broker needs of a record is left out.
import { readBinding } from '../../consent/binding.ts'
import { toTypeFor } from '../../consent/confirm.ts'
import type { Decided, PageOf, Seen } from '../../consent/desk.ts'
import type { ProposalRecord } from '../../consent/proposal.ts'

export type Why = Extract<Decided, { kind: 'refused' }>['why']

export const STATUS_OF: Record<Why, number> = {
  not_entitled: 403, own_request: 403, already_voted: 409, sign_in_too_old: 403, not_pending: 409, locked: 423,
  changed: 409, expired: 410, not_confirmed: 422, reason_missing: 422,
}

type Forms = { readonly [act: string]: object }

const INTERNAL = ['tag', 'runKey', 'agentKey', 'recordKey', 'equalKey', 'fingerprint', 'keyed', 'epoch', 'format'] as const

function proposal (record: ProposalRecord): object {
  const shown: Partial<Record<string, unknown>> = { ...record, binding: readable(record) }
  for (const name of INTERNAL) delete shown[name]
  return shown
}

/** Of what may not be shown the binding holds all. What is left of it then is what a page shows. */
function readable ({ binding, shown }: ProposalRecord): string {
  if (shown.arguments === undefined) return binding
  const { target, upstream: { id, account } } = readBinding(binding)
  return JSON.stringify({ target, upstream: { id, account }, args: shown.arguments })
}

/** @param forms what has to be sent along with each act: `click` and `token` */
export const seenJson = (seen: Seen, forms: Forms): object => ({
  ok: true, ...seen, record: proposal(seen.record), before: seen.before === null ? null : proposal(seen.before), to_type: toTypeFor(seen.record), forms,
})

export const pageJson = ({ items, next }: PageOf<Seen>): object => ({
  ok: true, next, items: items.map(seen => ({ ...seen, record: proposal(seen.record), before: null })),
})

export function decidedJson (decided: Exclude<Decided, { kind: 'missing' }>, forms: Forms): { readonly status: number, readonly body: object } {
  const told = seenJson(decided.seen, forms)
  if (decided.kind === 'taken') return { status: 200, body: { ...told, decisive: decided.decisive, again: decided.again } }
  return { status: STATUS_OF[decided.why], body: { ...told, ok: false, why: decided.why } }
}
