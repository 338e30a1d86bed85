// Metrics of what people are asked and how they answer: whether anybody looks at it, and whether what is approved is read.
import type { Counter, Gauge, Histogram } from 'prom-client'
import type { ConsentEvent } from '../consent/events.ts'
import type { Waiting } from '../consent/sweep.ts'
import { DENY_CODES, INVALID_CAUSES, type ProposalRecord } from '../consent/proposal.ts'

export interface Kinds {
  counter<Label extends string> (name: string, help: string, labelNames?: readonly Label[]): Counter<Label>
  gauge<Label extends string> (name: string, help: string, labelNames?: readonly Label[]): Gauge<Label>
  histogram<Label extends string> (name: string, help: string, buckets: number[], labelNames?: readonly Label[]): Histogram<Label>
}

/** From a glance to the longest that a proposal may wait. */
const DECISION_SECONDS = [3, 10, 30, 60, 120, 300, 600, 900, 1_800, 3_600]
/** Nobody has read what they approve sooner. */
const FAST_MS = 3_000

const KINDS = ['call', 'session'] as const
const BECAME = ['pending', 'approved', 'denied', 'expired', 'withdrawn', 'superseded', 'invalidated', 'revoked', 'committed'] as const

export type ConsentDefinitions = ReturnType<typeof consentDefinitions>

export function consentDefinitions ({ counter, gauge, histogram }: Kinds) {
  return {
    proposals: counter('aval_proposals_total', 'Proposals by what became of them; pending: made. Of kind session they are grants from approved on.', ['kind', 'became']),
    undecided: gauge('aval_proposals_undecided', 'Proposals that wait for a decision.'),
    oldest: gauge('aval_oldest_undecided_age_seconds', 'Age of the proposal that has waited for longest; 0 where none does.'),
    decisionSeconds: histogram('aval_decision_duration_seconds', 'From a proposal until a person said yes or no to it.', DECISION_SECONDS, ['decision']),
    fastApprovals: counter('aval_fast_approvals_total', 'Approvals less than 3 s after the page was made.'),
    denials: counter('aval_denials_total', 'Denials by the reason that was chosen.', ['reason']),
    invalidations: counter('aval_proposals_invalidated_total', 'Proposals that what they rest on took the ground from, by cause.', ['cause']),
  }
}

export function consentMetrics (m: ConsentDefinitions) {
  // A counter that is not there yet cannot be seen to rise.
  for (const kind of KINDS) for (const became of BECAME) m.proposals.inc({ kind, became }, 0)
  for (const reason of DENY_CODES) m.denials.inc({ reason }, 0)
  for (const cause of INVALID_CAUSES) m.invalidations.inc({ cause }, 0)
  return {
    consent (event: ConsentEvent): void {
      if (!('record' in event)) return
      const { type, record } = event
      // What is learned of a commit later is counted with its attempt.
      if (type !== 'voted' && type !== 'extended' && type !== 'learned') m.proposals.inc({ kind: record.kind, became: type })
      if (type === 'voted' || type === 'approved' || type === 'denied') decided(m, record)
      if (type === 'invalidated') m.invalidations.inc({ cause: record.cause! })
    },
    /** What waits for people; whoever polls the store sets it. */
    waiting ({ undecided, oldestAgeMs }: Waiting): void {
      m.undecided.set(undecided)
      m.oldest.set((oldestAgeMs ?? 0) / 1000)
    },
  }
}

function decided (m: ConsentDefinitions, { decisions, createdAtMs }: ProposalRecord): void {
  const last = decisions.at(-1)!
  m.decisionSeconds.observe({ decision: last.decision }, Math.max(0, last.atMs - createdAtMs) / 1000)
  if (last.decision === 'deny') m.denials.inc({ reason: last.reasonCode ?? 'other' })
  else if (last.shown.msOnPage !== null && last.shown.msOnPage < FAST_MS) m.fastApprovals.inc()
}
