// Proposals as the broker makes them, for the tests of the store and of the desk.
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import type { AttemptRecord } from '../../src/attempts/attempt.ts'
import {
  HARD_MS, PENDING_MS, PROPOSAL_FORMAT, type Decision, type GrantTerms, type PendingMax, type ProposalEvent, type ProposalRecord, type Requirement,
} from '../../src/consent/proposal.ts'
import type { JsonObject } from '../../src/catalog/catalog.ts'
import { sha256Hex } from '../../src/attempts/identity.ts'
import type { BeginLimits, Store } from '../../src/store/store.ts'
import { draft, FREE, identity, type Draft } from './drafts.ts'

export const REQUIREMENT: Requirement = { approve: 1, roles: ['support_lead'], separation: 'agent', signInMaxAgeS: null, confirm: 'none' }
export const TERMS: GrantTerms = { actions: [{ id: 'change.v1', digest: 'd'.repeat(64) }], targets: [], usesMax: 2, lifeMs: 600_000 }

export interface ProposalDraft {
  readonly tenant?: string
  readonly run?: string
  readonly sub?: string
  readonly args?: JsonObject
  /** The agent's Idempotency-Key. */
  readonly key?: string
  /** Equal drafts of one serial have one id. */
  readonly serial?: number
  readonly requirement?: Partial<Requirement>
  readonly grant?: GrantTerms | null
  readonly pendingMs?: number
  readonly hardMs?: number
  readonly format?: number
  readonly onBehalfOf?: ProposalRecord['onBehalfOf']
  readonly supersedes?: string
  readonly action?: string
  readonly epoch?: number
}

export const atMost = (agent: number, desk = 1_000): PendingMax => ({ agent, desk })

let made = 0

/** Without `args` it differs from every other one. */
export function proposal (over: ProposalDraft = {}): ProposalRecord {
  const { tenant = 't1', run = 'r1', sub = 'agent', grant = null, action = 'change.v1' } = over
  const args = over.args ?? { made: ++made }
  const owner = { iss: 'https://issuer.example', sub, tenant, run }
  const tag = identity.tag(tenant)
  const fingerprint = identity.fingerprint(action, args)
  const equalKey = identity.claim('equal call', owner.iss, sub, tenant, run, fingerprint)
  const bits = over.serial === undefined ? randomBytes(16).toString('hex') : over.serial.toString(16).padStart(32, '0')
  const binding = JSON.stringify({ args, bits })
  return {
    format: over.format ?? PROPOSAL_FORMAT, id: `prop_${tag}${bits}`, kind: grant === null ? 'call' : 'session', tag, runKey: identity.runKey(owner),
    agentKey: identity.claim('agent', owner.iss, sub, tenant), recordKey: over.key === undefined ? equalKey : identity.claim('key', over.key), equalKey,
    fingerprint, keyed: over.key !== undefined, owner, onBehalfOf: over.onBehalfOf ?? null,
    action, upstream: 'shop', effect: 'reversible_change', involves: [],
    binding, digest: sha256Hex(`aval/proposal/v1\0${binding}`), argumentsSha256: sha256Hex(JSON.stringify(args)),
    shown: {
      title: 'Change a customer', effect: [{ kind: 'text', text: 'Change ' }, { kind: 'slot', of: 'args.made', value: args['made'] ?? null }],
      before: { empty: [], name: 'Ünïcode \u2028 "was"', amount: 0.1 }, after: {}, diff: [{ pointer: '/name', was: '' }, { pointer: '/other', now: null }],
      facts: {}, request: { method: 'POST', url: 'https://api.example/v1/orders', headers: {}, body: null }, undecodable: [],
    },
    catalog: 'c'.repeat(64), reason: 'because @now "{}"', requirement: { ...REQUIREMENT, ...over.requirement }, grant, supersedes: over.supersedes ?? null, correlationId: 'c-1',
    epoch: over.epoch ?? 1, state: 'pending', revision: 1, cause: null, decisions: [], attemptId: null, uses: 0,
    createdAtMs: 0, pendingUntilMs: over.pendingMs ?? PENDING_MS, hardUntilMs: over.hardMs ?? HARD_MS, decidedAtMs: null, commitByMs: null, endedAtMs: null,
  }
}

export async function proposed (store: Store, over: ProposalDraft = {}): Promise<ProposalRecord> {
  const answer = await store.propose(proposal(over), null, atMost(100))
  if (answer.kind !== 'proposed') assert.fail(answer.kind)
  return answer.record
}

export interface Saying {
  readonly who?: string
  readonly decision?: Decision['decision']
  readonly epoch?: number
  readonly digest?: string
}

export function saying (record: ProposalRecord, { who = 'ann', decision = 'approve', epoch = 1, digest = record.digest }: Saying = {}): ProposalEvent {
  return {
    type: 'decide',
    decision: {
      id: randomUUID(), digest, decision, epoch, reasonCode: decision === 'deny' ? 'not_now' : null, reasonText: null, visibility: 'agent',
      approver: { iss: 'https://idp.example', sub: who, principal: `https://idp.example|${who}`, display: who, roles: ['support_lead'], authTimeS: 1, acr: null },
      shown: { renderer: 'test', msOnPage: null, surface: 'page' },
    },
  }
}

export async function moved (store: Store, record: ProposalRecord, event: ProposalEvent, changeId?: string): Promise<ProposalRecord> {
  const advanced = await store.advanceProposal(record, event, changeId)
  if (advanced.kind !== 'changed') assert.fail(`${event.type} of ${record.state}: ${JSON.stringify(advanced)}`)
  return advanced.record
}

export const approvedOne = async (store: Store, over: ProposalDraft = {}): Promise<ProposalRecord> => {
  const record = await proposed(store, over)
  return moved(store, record, saying(record))
}

/** The attempt by which this proposal is committed, and the limits that say so. */
export function commitOf (record: ProposalRecord, over: Draft = {}): { readonly attempt: AttemptRecord, readonly limits: BeginLimits } {
  const attempt = draft({ tenant: record.owner.tenant, run: record.owner.run, ...over })
  const recordKey = identity.claim('proposal', record.id)
  return {
    attempt: { ...attempt, recordKey, id: identity.attemptId(record.tag, recordKey, over.n ?? 0), fingerprint: record.fingerprint, proposal: record.id },
    limits: { ...FREE, consume: { proposal: record.id, revision: record.revision } },
  }
}
