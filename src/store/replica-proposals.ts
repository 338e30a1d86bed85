// Proposals as one of several replicas sees them. What people decided stands in no journal: where the store has lost something, a denial or a grant taken
// back may be lost with it, and what was denied would be open again. So whatever was proposed before a loss had ended is void. It can still be ended by
// whoever wants that, and the agent proposes anew; a person reads it once more.
import { goesOn, isOpen } from '../consent/proposal.ts'
import type { ConsentStore } from './consent-store.ts'
import type { Begun, Store } from './store.ts'

type Verbs = Pick<Store, 'begin' | keyof ConsentStore>

/**
 * @param whole refuses while the store is known to have lost something
 * @param lostUntilMs by the store's clock, when the latest loss had ended; -Infinity: there was none
 */
export function wholeProposals (raw: Store, whole: <T> (ask: () => Promise<T>) => Promise<T>, lostUntilMs: () => number): Verbs {
  const isVoid = ({ createdAtMs }: { readonly createdAtMs: number }): boolean => createdAtMs <= lostUntilMs()

  /** Nothing reads it without being told what it is by now. */
  const advance: ConsentStore['advanceProposal'] = async (held, event, changeId) => {
    if (!isVoid(held) || !goesOn(event)) return raw.advanceProposal(held, event, changeId)
    const ended = await raw.advanceProposal(held, { type: 'invalidate', cause: 'state_lost' })
    return ended.kind === 'missing' ? ended : { kind: 'refused', record: ended.record, nowMs: ended.nowMs, why: 'ended' }
  }

  async function begin (...[record, after, limits]: Parameters<Store['begin']>): Promise<Begun> {
    const held = limits.consume === undefined || lostUntilMs() === -Infinity ? null : await raw.findProposal(limits.consume.proposal)
    if (held === null || !isVoid(held.record) || !isOpen(held.record.state)) return raw.begin(record, after, limits)
    await raw.advanceProposal(held.record, { type: 'invalidate', cause: 'state_lost' })
    return { kind: 'proposal_changed' }
  }

  return {
    begin: (record, after, limits) => whole(() => begin(record, after, limits)),
    recallProposal: (tag, name) => whole(() => raw.recallProposal(tag, name)),
    propose: (record, after, pendingMax) => whole(() => raw.propose(record, after, pendingMax)),
    findProposal: id => whole(() => raw.findProposal(id)),
    advanceProposal: (held, event, changeId) => whole(() => advance(held, event, changeId)),
    openProposals: limit => whole(() => raw.openProposals(limit)),
    endedProposals: limit => whole(() => raw.endedProposals(limit)),
    overdueProposals: limit => whole(() => raw.overdueProposals(limit)),
    grantsOf: (tag, runKey) => whole(() => raw.grantsOf(tag, runKey)),
    countProposals: (tag, agentKey, sinceMs) => raw.countProposals(tag, agentKey, sinceMs),
    // Who was signed in may be forgotten, or remembered for a little longer: what they do is asked of what is above.
    keepSession: (hash, text, lifeMs) => raw.keepSession(hash, text, lifeMs),
    session: hash => raw.session(hash),
    dropSession: hash => raw.dropSession(hash),
  }
}
