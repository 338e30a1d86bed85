// Consent for a run: a grant that is good for this call is spent, one use each; where there is none, one is asked for.
import { randomUUID } from 'node:crypto'
import type { Json } from '../catalog/catalog.ts'
import { canonicalDigest, isSame } from '../consent/canonical.ts'
import { covers, isForSameArguments, outdated, termsOf } from '../consent/grant.ts'
import { stateAt, type ProposalRecord } from '../consent/proposal.ts'
import { failpoint } from '../failpoints.ts'
import type { HeldProposal } from '../store/consent-store.ts'
import type { Facts } from './call.ts'
import { whyNotDecided } from './entitled.ts'
import { invalidate } from './invalidate.ts'
import { onBehalfOf } from './on-behalf-of.ts'
import { propose } from './propose.ts'
import { ownerOf } from './recall.ts'
import { standing, supersededBy, type Proposed } from './recall-proposal.ts'
import type { CallRecord } from './record.ts'
import type { Services } from './services.ts'
import { reachState } from './state.ts'

export interface Granted {
  readonly kind: 'granted'
  readonly grant: ProposalRecord
}

/** The use is given back where nothing left. */
export async function requireGrant (facts: Facts, record: CallRecord, services: Services): Promise<Granted | Proposed> {
  const { call: { caller } } = facts.scoped.valid.capable
  const grants = await reachState(services, 'grantsOf', () => services.store.grantsOf(caller.tag, caller.runKey))
  for (const held of grants) {
    const grant = await spend(held, facts, record, services)
    if (grant !== null) return { kind: 'granted', grant }
  }
  return ask(facts, services)
}

/** null: it is not good for this call, or not any more. */
async function spend ({ record: grant, nowMs }: HeldProposal, facts: Facts, record: CallRecord, services: Services): Promise<ProposalRecord | null> {
  const { action, call: { caller } } = facts.scoped.valid.capable
  // Whom it is for was shown, and may have decided who could say yes.
  if (!isSame(onBehalfOf(caller) as unknown as Json, grant.onBehalfOf as unknown as Json)) return null
  if (stateAt(grant, nowMs) !== 'approved' || !covers(grant, action, facts.target, canonicalDigest(facts.scoped.valid.args))) return null
  const stale = outdated(grant, action)
  const cause = await whyNotDecided(grant, action.requirement, services) ?? stale
  if (cause !== null) {
    if (stale === null || !services.isServedElsewhere(grant.catalog)) await invalidate(grant, cause, services)
    return null
  }
  const useId = randomUUID()
  await failpoint('before_spend')
  const spent = await reachState(services, 'spend', () => services.store.advanceProposal(grant, { type: 'spend' }, useId))
  if (spent.kind !== 'changed') return null
  record.spending(spent.record, () => services.background(giveBack(spent.record, useId, services)))
  await failpoint('after_spend')
  return spent.record
}

/** Where it cannot be given back it is lost: one use less, never one more. */
async function giveBack (grant: ProposalRecord, useId: string, services: Services): Promise<void> {
  await services.store.advanceProposal(grant, { type: 'give_back' }, `${useId}-back`).catch(() => undefined)
}

async function ask (facts: Facts, services: Services): Promise<Proposed> {
  const { valid: { args, capable: { action, call: { caller } } } } = facts.scoped
  const { identity, store } = services
  const owner = ownerOf(caller)
  const target = facts.target === null ? null : [facts.target.type, facts.target.id]
  const terms = termsOf(action, facts.target)
  const key = identity.grantKey(owner, action.id, target, isForSameArguments(action.effect, terms) ? canonicalDigest(args) : null)
  const latest = await reachState(services, 'recallProposal', () => store.recallProposal(caller.tag, key))
  // A grant that is approved and not good for this call, or used up, is no answer to it.
  const open = latest !== null && stateAt(latest.record, latest.nowMs) === 'approved' ? null : latest
  const found = await standing(open, action, services)
  if (found?.kind === 'proposed') return found
  const place = found ?? { kind: 'unproposed', equalKey: key, after: latest?.record.id ?? null, supersedes: supersededBy(latest) }
  const names = { recordKey: key, fingerprint: identity.fingerprint(action.id, args), keyed: false }
  return propose(facts, names, place, terms, services)
}
