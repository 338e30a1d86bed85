// The proposals' part of the port in plain data: the reducer and lists, nothing else. What the drivers are compared with.
import {
  advanceProposal as reduce, consumed, goesOn, isOpen, PROPOSAL_FORMAT, released, stateAt, type ProposalRecord,
} from '../../src/consent/proposal.ts'
import type { ConsentStore, HeldProposal } from '../../src/store/consent-store.ts'
import { proposedAt, requireProposed } from '../../src/store/proposal-codec.ts'

export interface MemoryProposals extends ConsentStore {
  /** As the drivers do it inside `begin`: null where it is not as it was seen. */
  approval (seen: { readonly proposal: string, readonly revision: number }, nowMs: number): ProposalRecord | null
  consume (approval: ProposalRecord, attemptId: string): void
  giveBack (id: string, attemptId: string): void
}

export function memoryProposals (now: () => number, isStopped: (runKey: string) => boolean): MemoryProposals {
  const proposals: ProposalRecord[] = []
  /** In the order in which they were closed. */
  const closed: string[] = []
  const changes = new Map<string, Set<string>>()
  const kept = new Map<string, { readonly text: string, readonly untilMs: number }>()
  const find = (id: string): ProposalRecord | null => proposals.find(record => record.id === id) ?? null
  const held = (record: ProposalRecord | null | undefined): HeldProposal | null => record == null ? null : { record, nowMs: now() }
  const all = (records: readonly ProposalRecord[]): readonly HeldProposal[] => records.map(record => held(record)!)
  const isIn = (record: ProposalRecord, state: ProposalRecord['state']): boolean => stateAt(record, now()) === state

  const onDesk = ({ owner }: ProposalRecord, role: string): number =>
    proposals.filter(one => one.owner.tenant === owner.tenant && one.requirement.roles.includes(role) && isIn(one, 'pending')).length

  function put (record: ProposalRecord): void {
    proposals[proposals.findIndex(one => one.id === record.id)] = record
    const at = closed.indexOf(record.id)
    if (isOpen(record.state) && at >= 0) closed.splice(at, 1)
    if (!isOpen(record.state) && at < 0) closed.push(record.id)
  }

  return {
    approval (seen, nowMs) {
      const record = find(seen.proposal)
      const isAsSeen = record !== null && record.revision === seen.revision && record.format <= PROPOSAL_FORMAT && record.kind === 'call'
      return isAsSeen && stateAt(record, nowMs) === 'approved' ? record : null
    },
    consume: (approval, attemptId) => put(consumed(approval, attemptId)),
    giveBack (id, attemptId) {
      const record = find(id)
      const back = record === null || record.format > PROPOSAL_FORMAT ? null : released(record, attemptId)
      if (back !== null) put(back)
    },
    recallProposal: async (tag, name) =>
      held(proposals.findLast(record => record.tag === tag && (record.recordKey === name || record.equalKey === name))),
    async propose (record, after, pendingMax) {
      requireProposed(record)
      const own = find(record.id)
      if (own !== null) return { kind: 'proposed', record: own }
      if (isStopped(record.runKey)) return { kind: 'run_stopped' }
      const latest = proposals.findLast(one => one.equalKey === record.equalKey)
      if (latest !== undefined && latest.id !== after) return { kind: 'recalled', latest: held(latest)! }
      if (proposals.filter(one => one.agentKey === record.agentKey && isIn(one, 'pending')).length >= pendingMax.agent) return { kind: 'too_many_pending' }
      if (record.requirement.roles.some(role => onDesk(record, role) >= pendingMax.desk)) return { kind: 'desk_full' }
      proposals.push(proposedAt(record, now()))
      return { kind: 'proposed', record: proposals.at(-1)! }
    },
    findProposal: async id => held(find(id)),
    async advanceProposal (one, event, changeId) {
      const nowMs = now()
      const record = find(one.id)
      if (record === null) return { kind: 'missing' }
      if (record.format > PROPOSAL_FORMAT) return { kind: 'refused', record, nowMs, why: 'newer_format' }
      const known = changes.get(record.id) ?? new Set()
      if (changeId !== undefined && known.has(changeId)) return { kind: 'changed', record, nowMs }
      const reduced = reduce(record, event, nowMs)
      if (reduced.kind === 'already') return { kind: 'already', record, nowMs }
      if (reduced.kind === 'refused') return { kind: 'refused', record, nowMs, why: reduced.why }
      if (goesOn(event) && isStopped(record.runKey)) return { kind: 'refused', record, nowMs, why: 'run_stopped' }
      put(reduced.record)
      if (changeId !== undefined) changes.set(record.id, known.add(changeId))
      return { kind: 'changed', record: reduced.record, nowMs }
    },
    openProposals: async limit => all(proposals.filter(record => isIn(record, 'pending') || isIn(record, 'approved')).slice(0, limit)),
    endedProposals: async limit => all([...closed].reverse().slice(0, limit).map(id => find(id)!)),
    overdueProposals: async limit => all(proposals.filter(record =>
      isOpen(record.state) && isIn(record, 'expired') && record.format <= PROPOSAL_FORMAT).slice(0, limit)),
    grantsOf: async (tag, runKey) => all(proposals.filter(record =>
      record.tag === tag && record.runKey === runKey && record.kind === 'session' && isIn(record, 'approved'))),
    countProposals: async (tag, agentKey, sinceMs) => proposals.filter(record =>
      record.tag === tag && record.agentKey === agentKey && record.createdAtMs >= sinceMs).length,
    keepSession: async (hash, text, lifeMs) => { kept.set(hash, { text, untilMs: now() + lifeMs }) },
    session: async hash => (kept.get(hash)?.untilMs ?? -1) > now() ? kept.get(hash)!.text : null,
    dropSession: async hash => { kept.delete(hash) },
  }
}
