// A grant: one yes for several calls of a run, within terms that were fixed when it was asked for. Which calls it is good for is decided here.
import type { Action, Effect, Target } from '../catalog/catalog.ts'
import type { GrantTerms, InvalidCause, ProposalRecord } from './proposal.ts'
import { readBinding } from './binding.ts'

const MINUTE_MS = 60_000

interface Ceiling {
  readonly usesMax: number
  readonly lifeMs: number
}

const CEILINGS: Readonly<Record<Exclude<Effect, 'irreversible_change'>, Ceiling>> = {
  observation: { usesMax: 100, lifeMs: 60 * MINUTE_MS },
  reversible_change: { usesMax: 20, lifeMs: 30 * MINUTE_MS },
  external_commitment: { usesMax: 10, lifeMs: 30 * MINUTE_MS },
}
/** An observation that needs a yes for each call leaves no attempt that could use one up: it gets a grant for that one call. */
const ONCE: Ceiling = { usesMax: 1, lifeMs: 10 * MINUTE_MS }

/** @throws Error where nothing of this consequence is ever granted for a session; the load refuses such a sheet */
export function termsOf (action: Action, target: Target | null): GrantTerms {
  if (action.effect === 'irreversible_change') throw new Error(`${action.id} cannot be granted for a session`)
  const { usesMax, lifeMs } = action.consent === 'call' ? ONCE : CEILINGS[action.effect]
  const targets = target === null ? [] : [{ type: target.type, id: target.id }]
  return { actions: [{ id: action.id, digest: action.digest }], targets, usesMax, lifeMs }
}

/** Where a write names no object, only what it says can say whom it reaches: it is good for that alone, and so is what is for one call. */
export const isForSameArguments = (effect: Effect, { usesMax, targets }: GrantTerms): boolean =>
  usesMax === ONCE.usesMax || (effect !== 'observation' && targets.length === 0)

/** @param argumentsSha256 matters where the yes was for these alone */
export function covers ({ grant, effect, argumentsSha256: asked }: ProposalRecord, action: Action, target: Target | null, argumentsSha256: string): boolean {
  if (grant === null || !grant.actions.some(({ id }) => id === action.id)) return false
  if (isForSameArguments(effect, grant) && asked !== argumentsSha256) return false
  if (target === null) return grant.targets.length === 0
  return grant.targets.some(({ type, id }) => type === target.type && id === target.id)
}

/** Why what was decided under other sheets or rules is not good any more; null where they are the same. */
export function outdated (record: ProposalRecord, action: Action): InvalidCause | null {
  const { action: { sheet_sha256: sheet }, policy_sha256: policy } = readBinding(record.binding)
  if (sheet !== action.digest) return 'sheet_changed'
  return policy === action.rulesDigest ? null : 'policy_changed'
}
