// How a proposal is said to the agent that made it: what people are shown, what became of it and what goes on from there; never who decided.
import { effectText } from '../catalog/catalog.ts'
import { readBinding } from '../consent/binding.ts'
import { endsAtMs, stateAt, type ProposalRecord, type ProposalState } from '../consent/proposal.ts'
import { plain, plainLine, renderReason, renderUntrusted } from '../consent/untrusted.ts'
import { Refusal, type ErrorCode, type Next } from '../errors.ts'
import type { HeldProposal } from '../store/consent-store.ts'
import { errorOf } from './answer.ts'
import { denialHint } from './denial-hint.ts'
import type { Answer, Envelope, EnvelopeProposal } from './envelope.ts'
import type { People } from './people.ts'
import type { Services } from './services.ts'

const ASK_AGAIN_SECONDS = 5

export const proposalPath = (id: string): string => `/v1/proposals/${id}`

/** Where a client of the agent's shows it to a person: nothing in it may turn the words around. */
export const effectForPeople = ({ effect }: Pick<EnvelopeProposal, 'effect'>): string => plainLine(renderUntrusted(effect))

type Ended = Exclude<ProposalState, 'approved' | 'consumed'>

const CODES: Readonly<Record<Ended, ErrorCode>> = {
  pending: 'PROPOSAL_PENDING',
  denied: 'PROPOSAL_DENIED',
  expired: 'PROPOSAL_EXPIRED',
  withdrawn: 'PROPOSAL_WITHDRAWN',
  superseded: 'PROPOSAL_SUPERSEDED',
  invalidated: 'PROPOSAL_INVALIDATED',
  revoked: 'PROPOSAL_REVOKED',
}

const HINTS: Partial<Record<Ended, string>> = {
  expired: 'Nobody refused it; the call can be proposed anew.',
  invalidated: 'Nobody refused it; what it rests on has changed, and the call can be proposed anew.',
}

const hintOf = ({ cause }: ProposalRecord, state: Ended): string | undefined =>
  cause === 'run_stopped' ? 'The run was stopped: nothing more of it is carried out.' : HINTS[state]

export function proposalView ({ record, nowMs }: HeldProposal, people: People | null): EnvelopeProposal {
  const { shown } = record
  const state = stateAt(record, nowMs)
  const ends = state === 'pending' || state === 'approved' ? endsAtMs(record) : null
  return {
    id: record.id,
    kind: record.kind,
    state,
    effect: effectText(shown.effect),
    diff: shown.diff,
    facts: shown.facts,
    target: targetOf(record),
    arguments_sha256: record.argumentsSha256,
    expires_at: ends === null ? null : new Date(ends).toISOString(),
    ...(people === null || people.origin === null ? {} : { approval_url: `${people.origin}/approvals/${record.id}` }),
    ...(record.supersedes === null ? {} : { supersedes: record.supersedes }),
    ...(record.grant === null || state !== 'approved' ? {} : { uses_left: record.grant.usesMax - record.uses }),
    ...denial(record),
    ...(record.decidedAtMs === null ? {} : { decided_at: new Date(record.decidedAtMs).toISOString() }),
  }
}

function targetOf ({ binding }: ProposalRecord): EnvelopeProposal['target'] {
  const { target } = readBinding(binding)
  return target === null ? null : { type: target.type, id: target.id, version: target.version }
}

/** What was said to the staff stays among them. */
function denial ({ state, decisions }: ProposalRecord): Pick<EnvelopeProposal, 'reason_code' | 'reason'> {
  const denied = state === 'denied' ? decisions.find(({ decision }) => decision === 'deny') : undefined
  if (denied === undefined) return {}
  return {
    ...(denied.reasonCode === null ? {} : { reason_code: denied.reasonCode }),
    ...(denied.reasonText === null || denied.visibility === 'staff' ? {} : { reason: plain(renderReason(denied.reasonText)) }),
  }
}

/** Where it goes on. */
function nextOf (record: ProposalRecord, state: ProposalState): Next | null {
  const call: Next = { method: 'POST', path: `/v1/actions/${record.action}`, after_seconds: 0 }
  switch (state) {
    case 'pending': return { method: 'GET', path: proposalPath(record.id), after_seconds: ASK_AGAIN_SECONDS }
    // A grant is used by calling; what was proposed for one call is committed.
    case 'approved': return record.kind === 'session' ? call : { method: 'POST', path: `${proposalPath(record.id)}/commit`, after_seconds: 0 }
    case 'expired': case 'invalidated': case 'superseded': return record.cause === 'run_stopped' ? null : call
    default: return null
  }
}

/** As it stands: 202 while it is open, 200 once it has ended without a call. Of one that was used up, its attempt speaks. */
export function proposalAnswer (held: HeldProposal, correlationId: string, how: { readonly duplicate?: boolean }, services: Pick<Services, 'people'>): Answer {
  const { record, nowMs } = held
  const state = stateAt(record, nowMs)
  const next = nextOf(record, state)
  const open = state === 'pending' || state === 'approved'
  const common: Omit<Envelope, 'ok' | 'outcome'> = {
    action: record.action,
    ...(how.duplicate === undefined ? {} : { duplicate: how.duplicate }),
    correlation_id: correlationId,
    content: 'untrusted',
    proposal: proposalView(held, services.people),
    ...(next === null ? {} : { next }),
  }
  if (open) {
    const envelope: Envelope = { ok: true, outcome: 'pending', pending_on: 'consent', ...common }
    return { status: 202, location: proposalPath(record.id), retryAfterSeconds: null, envelope }
  }
  const code = CODES[state as Ended]
  const hint = hintOf(record, state as Ended) ?? null
  const error = errorOf(code, { message: null, retryable: false, cause: record.cause, hint, ...denialHint(held) })
  return { status: 200, location: null, retryAfterSeconds: null, envelope: { ok: false, outcome: 'rejected', sent: false, ...common, error } }
}

/** Why it cannot be committed as it stands. */
export function proposalRefusal (held: HeldProposal, services: Pick<Services, 'people'>, code: ErrorCode | null = null): Refusal {
  const { record, nowMs } = held
  const state = stateAt(record, nowMs) as Ended
  const next = nextOf(record, state)
  const hint = hintOf(record, state)
  return Refusal.of(code ?? CODES[state], {
    ...(record.cause === null ? {} : { cause: record.cause }),
    ...(hint === undefined ? {} : { hint }),
    ...(next === null ? {} : { next }),
    retryable: false,
    proposal: { ...proposalView(held, services.people) },
    ...(state === 'pending' ? { retryAfterSeconds: ASK_AGAIN_SECONDS } : {}),
    ...refusedAgain(held),
  }, 'consent')
}

function refusedAgain (held: HeldProposal): { readonly hint?: string, readonly retryAfterSeconds?: number } {
  const denial = denialHint(held)
  if (denial === null) return {}
  const { hint, retryAfterSeconds } = denial
  return retryAfterSeconds === null ? { hint } : { hint, retryAfterSeconds }
}
