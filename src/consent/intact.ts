// Whether a stored proposal is what was made: everything is computed again from its bytes.
import type { Json } from '../catalog/catalog.ts'
import { readBinding, type Binding } from './binding.ts'
import { bindingDigest, canonicalDigest, isSame } from './canonical.ts'
import type { ProposalRecord } from './proposal.ts'

export function isIntact (record: ProposalRecord): boolean {
  if (bindingDigest(record.binding) !== record.digest) return false
  if (record.decisions.some(({ digest, decision }) => decision === 'approve' && digest !== record.digest)) return false
  const binding = readBinding(record.binding)
  return canonicalDigest(record.shown as unknown as Json) === binding.shown_sha256 && canonicalDigest(binding.args) === record.argumentsSha256 &&
    isSame(saidOf(record), boundTo(binding))
}

/** What of the record repeats the binding. */
const saidOf = (record: ProposalRecord): Json => [
  record.action, { ...record.owner }, record.onBehalfOf === null ? null : { ...record.onBehalfOf }, record.effect, record.involves,
  record.requirement as unknown as Json, record.grant as unknown as Json,
]

const boundTo = ({ action, agent, tenant, on_behalf_of: requester, effect, involves, requirement, grant }: Binding): Json =>
  [action.id, { ...agent, tenant }, requester, effect, involves, requirement as unknown as Json, grant as unknown as Json]
