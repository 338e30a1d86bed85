// What waits for a person's yes, and how it moves: one pure reducer, no clock and no I/O. The drivers of the store only make its moves atomic. A
// proposal of kind `call` stands for one write; one of kind `session` asks for a grant, and is that grant once it is approved.
import type { Effect, EffectPart, Involvement, Json, JsonObject, Requirement } from '../catalog/catalog.ts'
import type { RunOwner } from '../attempts/identity.ts'

export type { EffectPart, Requirement } from '../catalog/catalog.ts'

/** Written with every record; a replica neither moves nor sweeps a higher one. */
export const PROPOSAL_FORMAT = 1

/** How long a person may take to decide. */
export const PENDING_MS = 15 * 60_000
/** From the decision on: how long an approval may wait for its commit. */
export const APPROVED_MS = 10 * 60_000
/** No proposal lives longer, however often it was extended. */
export const HARD_MS = 60 * 60_000
/** How long an equal call is refused after a denial. */
export const COOL_DOWN_MS = 10 * 60_000
/**
 * How many undecided proposals there may be: of one agent (iss, sub, tenant), and on the desk of one approver. Who approvers are, only their identity
 * provider knows; what is known here is by which roles a proposal may be decided. Whoever has a role has before them all that it may decide, so a desk is
 * a role's; and a tenant's, so that none of them fills the desk of another. What several roles may decide lies on the desk of each, and one that is full
 * refuses it: otherwise somebody would have more before them. It takes several agents to fill a desk.
 */
export interface PendingMax {
  readonly agent: number
  readonly desk: number
}
export const PENDING_MAX: PendingMax = Object.freeze({ agent: 5, desk: 25 })
/** Proposals that one agent may make within `MADE_WITHIN_MS`, whatever became of them: each is kept, and people are told of each. */
export const MADE_MAX = 100
export const MADE_WITHIN_MS = 60 * 60_000

export type ProposalState =
  | 'pending' | 'approved' | 'consumed' | 'denied' | 'expired' | 'withdrawn' | 'superseded' | 'invalidated' | 'revoked'

/** Why what was approved may not be executed any more. */
export const INVALID_CAUSES = [
  'target_changed', 'sheet_changed', 'policy_changed', 'vault_epoch_changed', 'approver_ineligible', 'agent_revoked', 'request_changed',
  'stored_bytes_changed', 'state_lost', 'run_stopped',
] as const
export type InvalidCause = (typeof INVALID_CAUSES)[number]

export const DENY_CODES = [
  'wrong_target', 'wrong_value', 'not_needed', 'not_now', 'needs_more_context', 'policy', 'suspicious', 'other',
] as const
export type DenyCode = (typeof DENY_CODES)[number]

/** One difference. `undefined` is absence, which is not null and not ''. */
export interface DiffRow {
  /** JSON Pointer into before and after. */
  readonly pointer: string
  readonly was?: Json
  readonly now?: Json
}

/** What a person is shown: computed by the broker from facts when the proposal was made, and never again. */
export interface Shown {
  readonly title: string
  readonly effect: readonly EffectPart[]
  readonly before: Json
  readonly after: Json
  readonly diff: readonly DiffRow[]
  readonly facts: JsonObject
  /** The exact request but for the credential and what only an attempt has. `body`: as text, where it is one. */
  readonly request: { readonly method: string, readonly url: string, readonly headers: { readonly [name: string]: string }, readonly body: string | null }
  /** Pointers of what could not be decoded; where there are any the strictest consent is asked for. */
  readonly undecodable: readonly string[]
  /** Where the sheet keeps something from people: pointers into before and after, at which marks stand. */
  readonly redacted?: readonly string[]
  /** What they are shown in the place of the arguments then. */
  readonly arguments?: JsonObject
}

/** What a grant allows, fixed when it was asked for. */
export interface GrantTerms {
  readonly actions: ReadonlyArray<{ readonly id: string, readonly digest: string }>
  /** The only objects it is good for; empty where the actions have no target. */
  readonly targets: ReadonlyArray<{ readonly type: string, readonly id: string }>
  readonly usesMax: number
  /** From the approval on. */
  readonly lifeMs: number
}

export interface Approver {
  readonly iss: string
  readonly sub: string
  /** One name for one person, whatever they signed in with: `iss|sub`, or what the operator says is the same. */
  readonly principal: string
  /** For other people to read; untrusted. */
  readonly display: string
  /** As they were at the decision. */
  readonly roles: readonly string[]
  /** When they signed in, seconds since the epoch. */
  readonly authTimeS: number
  readonly acr: string | null
}

/** Immutable, one per (proposal, principal). */
export interface Decision {
  /** Made when the page was rendered: the idempotency key of the click. */
  readonly id: string
  /** Of what the person saw. */
  readonly digest: string
  readonly approver: Approver
  readonly decision: 'approve' | 'deny'
  readonly reasonCode: DenyCode | null
  readonly reasonText: string | null
  /** `staff`: the agent is not told the text. */
  readonly visibility: 'agent' | 'staff'
  readonly shown: { readonly renderer: string, readonly msOnPage: number | null, readonly surface: 'page' | 'terminal' }
  /** Epoch of the vault lock under which it was made. */
  readonly epoch: number
  /** The store's time. */
  readonly atMs: number
}

export interface ProposalRecord {
  readonly format: number
  /** `prop_` + hash tag + 128 random bits. */
  readonly id: string
  readonly kind: 'call' | 'session'
  readonly tag: string
  readonly runKey: string
  /** Hashed (iss, sub, tenant): what the cap of undecided proposals counts by. */
  readonly agentKey: string
  /** Calls under one runtime key share it; without one it is the equal key. */
  readonly recordKey: string
  /** Equal calls of a run share it, whatever their runtime keys: one of them waits at a time, and the cool-down after a denial goes by it. */
  readonly equalKey: string
  readonly fingerprint: string
  readonly keyed: boolean
  readonly owner: RunOwner
  readonly onBehalfOf: { readonly iss: string, readonly sub: string } | null
  readonly action: string
  /** Of the catalog that it was made by: while a live replica holds that one, another replica leaves it alone. */
  readonly catalog: string
  readonly upstream: string
  readonly effect: Effect
  readonly involves: readonly Involvement[]
  /** RFC 8785 text of the binding (binding.ts): what was approved is this. Its digest is always computed again from it. */
  readonly binding: string
  /** SHA-256("aval/proposal/v1\0" + binding), hex. */
  readonly digest: string
  /** SHA-256 of the arguments in RFC 8785. */
  readonly argumentsSha256: string
  readonly shown: Shown
  /** The agent's own words: untrusted, at most 500 code points. */
  readonly reason: string | null
  readonly requirement: Requirement
  /** Of kind `session` alone. */
  readonly grant: GrantTerms | null
  /** The proposal that this one is instead of. */
  readonly supersedes: string | null
  readonly correlationId: string
  /** Epoch of the vault lock when it was made. */
  readonly epoch: number

  readonly state: ProposalState
  /** Rises by one with every change. */
  readonly revision: number
  readonly cause: InvalidCause | null
  readonly decisions: readonly Decision[]
  /** Whoever took it back, for other people to read; untrusted, and never told to an agent. */
  readonly revokedBy?: string
  /** What consumed it. */
  readonly attemptId: string | null
  /** Of a grant: how often it was used. */
  readonly uses: number

  // The store's times, milliseconds since the epoch.
  readonly createdAtMs: number
  readonly pendingUntilMs: number
  readonly hardUntilMs: number
  readonly decidedAtMs: number | null
  /** Of an approval: until when it may be committed; of a grant: until when it may be used. */
  readonly commitByMs: number | null
  readonly endedAtMs: number | null
}

export type ProposalEvent =
  /** `epoch` is the present one: what was decided under another does not count towards the quorum. */
  | { readonly type: 'decide', readonly decision: Omit<Decision, 'atMs'> }
  /** The person needs more time; changes nothing of what is shown. */
  | { readonly type: 'extend' }
  | { readonly type: 'withdraw' }
  | { readonly type: 'supersede' }
  | { readonly type: 'invalidate', readonly cause: InvalidCause }
  /** A person takes an approval or a grant back, or the yes that still waits for others: what they meant to happen is over for everyone. */
  | { readonly type: 'revoke', readonly by?: string }
  /** Its time is over. */
  | { readonly type: 'expire' }
  /** One use of a grant, known by its id; asked again with the same change id it is one use. */
  | { readonly type: 'spend' }
  /** What the use was for provably never left. */
  | { readonly type: 'give_back' }

export type ProposalRefusal =
  /** Written by a newer version: what its fields mean is not known here. */
  | 'newer_format'
  | 'ended' | 'expired' | 'already_voted' | 'digest_differs' | 'not_pending' | 'not_approved' | 'used_up'

export type ProposalAdvance =
  | { readonly kind: 'changed', readonly record: ProposalRecord }
  | { readonly kind: 'already' }
  | { readonly kind: 'refused', readonly why: ProposalRefusal }

export const isOpen = (state: ProposalState): boolean => state === 'pending' || state === 'approved'

/** Until when its state holds by itself; null once it has ended. */
export function endsAtMs (record: ProposalRecord): number | null {
  if (record.state === 'pending') return record.pendingUntilMs
  return record.state === 'approved' ? record.commitByMs : null
}

/** The state at that time of the store: what nobody has swept yet has ended all the same. */
export function stateAt (record: ProposalRecord, nowMs: number): ProposalState {
  const ends = endsAtMs(record)
  return ends !== null && nowMs > ends ? 'expired' : record.state
}

/** @param nowMs the store's time, in the same atomic change */
export function advanceProposal (record: ProposalRecord, event: ProposalEvent, nowMs: number): ProposalAdvance {
  if (event.type === 'decide') return decide(record, event.decision, nowMs)
  if (event.type === 'expire') return expire(record, nowMs)
  if (event.type === 'give_back') return giveBack(record)
  if (!isOpen(record.state)) return record.state === ENDS[event.type] ? ALREADY : refuse('ended')
  if (stateAt(record, nowMs) === 'expired') return refuse('expired')
  switch (event.type) {
    case 'extend':
      if (record.state !== 'pending') return refuse('not_pending')
      return change(record, { pendingUntilMs: Math.min(nowMs + PENDING_MS, record.hardUntilMs) })
    case 'withdraw': return end(record, 'withdrawn', nowMs)
    case 'supersede': return end(record, 'superseded', nowMs)
    case 'invalidate': return end(record, 'invalidated', nowMs, event.cause)
    case 'revoke': return revoke(record, event.by, nowMs)
    case 'spend':
      if (record.state !== 'approved' || record.grant === null) return refuse('not_approved')
      return record.uses < record.grant.usesMax ? change(record, { uses: record.uses + 1 }) : refuse('used_up')
  }
}

/** By it more becomes possible, and not less. */
export const goesOn = (event: ProposalEvent): boolean =>
  event.type === 'extend' || event.type === 'spend' || (event.type === 'decide' && event.decision.decision === 'approve')

const ENDS: Partial<Record<ProposalEvent['type'], ProposalState>> = {
  withdraw: 'withdrawn', supersede: 'superseded', invalidate: 'invalidated', revoke: 'revoked',
}

/** One denial is final; a yes counts where its digest is that of what is decided on and the lock has not fallen since. */
function decide (record: ProposalRecord, made: Omit<Decision, 'atMs'>, nowMs: number): ProposalAdvance {
  const before = record.decisions.find(({ approver }) => approver.principal === made.approver.principal)
  const stands = before !== undefined && (before.epoch === made.epoch || before.decision === 'deny')
  if (stands) return before.decision === made.decision ? ALREADY : refuse('already_voted')
  if (record.state !== 'pending') return refuse('ended')
  if (stateAt(record, nowMs) === 'expired') return refuse('expired')
  if (made.digest !== record.digest) return refuse('digest_differs')
  const decisions = [...record.decisions.filter(one => one !== before), { ...made, atMs: nowMs }]
  if (made.decision === 'deny') return change(record, { decisions, state: 'denied', decidedAtMs: nowMs, endedAtMs: nowMs })
  const votes = decisions.filter(({ decision, epoch }) => decision === 'approve' && epoch === made.epoch).length
  if (votes < record.requirement.approve) return change(record, { decisions })
  const commitByMs = record.grant === null ? Math.min(nowMs + APPROVED_MS, record.hardUntilMs) : nowMs + record.grant.lifeMs
  return change(record, { decisions, state: 'approved', decidedAtMs: nowMs, commitByMs })
}

function revoke (record: ProposalRecord, by: string | undefined, nowMs: number): ProposalAdvance {
  if (record.state !== 'approved' && record.decisions.length === 0) return refuse('not_approved')
  return end(by === undefined ? record : { ...record, revokedBy: by }, 'revoked', nowMs)
}

/** What has ended stays as it was, its uses too. */
function giveBack (record: ProposalRecord): ProposalAdvance {
  const isGrant = record.kind === 'session' && record.state === 'approved'
  return isGrant && record.uses > 0 ? change(record, { uses: record.uses - 1 }) : refuse('not_approved')
}

function expire (record: ProposalRecord, nowMs: number): ProposalAdvance {
  if (record.state === 'expired') return ALREADY
  return stateAt(record, nowMs) === 'expired' ? end(record, 'expired', nowMs) : refuse('ended')
}

/** By an attempt, in the step that begins it. */
export function consumed (record: ProposalRecord, attemptId: string): ProposalRecord {
  return { ...record, state: 'consumed', attemptId, revision: record.revision + 1 }
}

/** Its attempt provably never left: approved again, for as long as it would have been. */
export function released (record: ProposalRecord, attemptId: string): ProposalRecord | null {
  if (record.state !== 'consumed' || record.attemptId !== attemptId) return null
  return { ...record, state: 'approved', attemptId: null, revision: record.revision + 1 }
}

const ALREADY: ProposalAdvance = Object.freeze({ kind: 'already' })
const refuse = (why: ProposalRefusal): ProposalAdvance => ({ kind: 'refused', why })
const change = (record: ProposalRecord, patch: Partial<ProposalRecord>): ProposalAdvance =>
  ({ kind: 'changed', record: { ...record, ...patch, revision: record.revision + 1 } })
const end = (record: ProposalRecord, state: ProposalState, nowMs: number, cause: InvalidCause | null = null): ProposalAdvance =>
  change(record, { state, cause, endedAtMs: nowMs })

/** The hash tag inside a proposal id, or null where the text is none. */
export function tagOfProposal (id: string): string | null {
  return /^prop_[0-3][0-9a-f][0-9a-f]{32}$/.test(id) ? id.slice(5, 7) : null
}
