// What a person does before a yes is taken, where the requirement asks for more than a click: it shows that what stands there was read.
import { readBinding } from './binding.ts'
import type { ProposalRecord } from './proposal.ts'

/** What has to be typed before something that cannot be undone is approved: a value of the proposal. */
export function toTypeFor (record: ProposalRecord): string {
  const id = readBinding(record.binding).target?.id ?? ''
  // An empty field must never be what was asked for.
  return id.trim() === '' ? record.action : id
}

/** @param confirmed 'yes' for a ticked box, or what was typed; space around it is the clipboard's */
export function isConfirmed (record: ProposalRecord, confirmed: string | null): boolean {
  switch (record.requirement.confirm) {
    case 'none': return true
    case 'checkbox': return confirmed === 'yes'
    case 'type_value': return confirmed !== null && confirmed.trim() === toTypeFor(record).trim()
  }
}
