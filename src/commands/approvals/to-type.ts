// What is typed at a terminal before a yes is sent: a value of the proposal, other from one to the next, so that no fixed word fed to it approves anything.
import { kindOf } from '../../consent/alphabets.ts'
import { readBinding } from '../../consent/binding.ts'
import type { ProposalRecord } from '../../consent/proposal.ts'

/** As much of a proposal's id as is typed where it has neither an amount nor an object. */
const ID_END = 6
/** What a keyboard has, without a space at either end: whatever else stood there could not be typed from what is shown. */
const TYPEABLE = /^[\x21-\x7e](?:[\x20-\x7e]{0,78}[\x21-\x7e])?$/

/** @param ofRequirement what the broker itself asks for, where the requirement is to type a value */
export function toTypeHere (record: Pick<ProposalRecord, 'id' | 'binding' | 'requirement' | 'shown'>, ofRequirement: string): string {
  if (record.requirement.confirm === 'type_value') return ofRequirement
  const values = record.shown.effect.flatMap(part => part.kind === 'slot' && typeof part.value === 'string' ? [part.value] : [])
  const amount = values.find(value => kindOf(value) === 'amount')
  const known = [amount, readBinding(record.binding).target?.id]
  return known.find(value => value !== undefined && TYPEABLE.test(value)) ?? record.id.slice(-ID_END)
}
