// Several proposals on one page. There is nothing else to a batch: each of them is decided, used up and carried out by itself. What is decided together is
// of one kind, of one run, and all of it was on the page.
import { sha256Hex } from '../attempts/identity.ts'
import type { ProposalRecord } from './proposal.ts'

export const BATCH_MAX = 50

/** What asks to be typed asks for it one by one, and a grant is more than what is shown of it. */
export const fitsInBatch = ({ kind, requirement }: ProposalRecord): boolean => kind === 'call' && requirement.confirm !== 'type_value'

/** Calls of one action by one run, for the same person. */
export const belongTogether = (one: ProposalRecord, other: ProposalRecord): boolean =>
  fitsInBatch(one) && fitsInBatch(other) && one.runKey === other.runKey && one.action === other.action && isSamePerson(one.onBehalfOf, other.onBehalfOf)

const isSamePerson = (one: ProposalRecord['onBehalfOf'], other: ProposalRecord['onBehalfOf']): boolean => one?.iss === other?.iss && one?.sub === other?.sub

/** Over all that was shown, and in which order: one more, one less or one that is another is another batch. */
export const batchDigest = (records: readonly ProposalRecord[]): string =>
  sha256Hex(`aval/batch/v1\0${JSON.stringify(records.map(({ id, digest }) => [id, digest]))}`)
