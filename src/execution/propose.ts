// A proposal is made: the exact request and all that it rests on, bound to one digest, with what a person will be shown of it. Nothing is sent.
import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { strictest } from '../catalog/requirement.ts'
import { isObject, type Action, type Bindings, type EffectPart, type Json, type Requirement } from '../catalog/catalog.ts'
import { bindingOf, bindingText, STAND_IN, type Bound } from '../consent/binding.ts'
import { bindingDigest, canonicalDigest } from '../consent/canonical.ts'
import { diffRows } from '../consent/diff.ts'
import { HARD_MS, MADE_MAX, MADE_WITHIN_MS, PENDING_MAX, PENDING_MS, PROPOSAL_FORMAT, type GrantTerms, type ProposalRecord, type Shown } from '../consent/proposal.ts'
import { redact } from '../consent/redact.ts'
import { Refusal } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import type { WireRequest } from '../upstream/wire.ts'
import type { Facts } from './call.ts'
import { evaluating } from './facts.ts'
import { onBehalfOf } from './on-behalf-of.ts'
import { ownerOf } from './recall.ts'
import { standing, type Proposed, type Unproposed } from './recall-proposal.ts'
import type { Services } from './services.ts'
import { reachState } from './state.ts'

const REASON_POINTS_MAX = 500
/** Of an HMAC, to tell values apart by. */
const MARK_DIGITS = 8
const BODY_SHOWN_BYTES = 64 * 1024

export interface Names {
  readonly recordKey: string
  readonly fingerprint: string
  readonly keyed: boolean
}

/** @param grant what is asked for beyond this call; null: this call alone */
export async function propose (facts: Facts, names: Names, place: Unproposed, grant: GrantTerms | null, services: Services): Promise<Proposed> {
  const { action } = facts.scoped.valid.capable
  const record = newProposal(facts, names, place, grant, services)
  await requireNotTooMany(record, services)
  await failpoint('before_propose')
  const made = await reachState(services, 'propose', () => services.store.propose(record, place.after, PENDING_MAX))
  await failpoint('after_propose')
  switch (made.kind) {
    case 'proposed':
      services.consentEvents.tell({ type: 'pending', record: made.record })
      return { kind: 'proposed', held: { record: made.record, nowMs: made.record.createdAtMs }, duplicate: false }
    case 'too_many_pending': throw Refusal.of('TOO_MANY_PENDING', { hint: 'Wait for decisions, or withdraw a proposal that is not wanted any more.' })
    case 'desk_full': throw Refusal.of('TOO_MANY_PENDING', { hint: 'Those who may decide it have too many undecided proposals before them, of all agents together.' })
    case 'run_stopped': throw Refusal.of('RUN_STOPPED')
    case 'recalled': {
      const live = await standing(made.latest, action, services)
      if (live?.kind === 'proposed') return live
      // It has been used up since this call was recalled, perhaps for this very call, or has ended: what is repeated is looked up anew.
      throw Refusal.of('CALL_IN_PROGRESS', { retryAfterSeconds: 1 })
    }
  }
}

/** What was taken back counts too: otherwise who takes back what they propose could propose for ever. */
async function requireNotTooMany ({ tag, agentKey }: ProposalRecord, services: Services): Promise<void> {
  const sinceMs = services.now().getTime() - MADE_WITHIN_MS
  const made = await reachState(services, 'countProposals', () => services.store.countProposals(tag, agentKey, sinceMs))
  if (made < MADE_MAX) return
  throw Refusal.of('TOO_MANY_PENDING', { hint: `This agent has made ${MADE_MAX} proposals within the last hour; those that were taken back count too.` })
}

/** What the request of a call is bound to, with this id and key of an attempt in it. */
export function boundOf (facts: Facts, requirement: Requirement, grant: GrantTerms | null, request: WireRequest, attempt = STAND_IN): Bound {
  const { action, call: { caller } } = facts.scoped.valid.capable
  return {
    action, agent: ownerOf(caller), onBehalfOf: onBehalfOf(caller), args: facts.scoped.valid.args, target: facts.target, request, attempt, requirement, grant,
  }
}

function newProposal (facts: Facts, { recordKey, fingerprint, keyed }: Names, place: Unproposed, grant: GrantTerms | null, services: Services): ProposalRecord {
  const { action, call, catalog } = facts.scoped.valid.capable
  const { caller, reason, arrival } = call
  const { request, shown, requirement, words } = presented(facts, services)
  const bound = boundOf(facts, requirement, grant, request)
  const binding = bindingText(bindingOf(bound, {
    shown_sha256: canonicalDigest(shown as unknown as Json), created_at: services.timestamp(), nonce: randomBytes(16).toString('hex'),
  }))
  return {
    format: PROPOSAL_FORMAT,
    id: `prop_${caller.tag}${randomBytes(16).toString('hex')}`,
    kind: grant === null ? 'call' : 'session',
    tag: caller.tag,
    runKey: caller.runKey,
    agentKey: services.identity.agentKey(caller),
    recordKey,
    equalKey: place.equalKey,
    fingerprint,
    keyed,
    owner: bound.agent,
    onBehalfOf: bound.onBehalfOf,
    action: action.id,
    catalog: catalog.digest,
    upstream: action.upstream.name,
    effect: action.effect,
    involves: action.involves,
    binding,
    digest: bindingDigest(binding),
    argumentsSha256: canonicalDigest(facts.scoped.valid.args),
    shown,
    reason: reason === null ? null : shortened(words(reason)),
    requirement,
    grant,
    supersedes: place.supersedes,
    correlationId: arrival.correlationId,
    epoch: services.lock.epoch(),
    state: 'pending',
    revision: 1,
    cause: null,
    decisions: [],
    attemptId: null,
    uses: 0,
    // Spans, until the store stamps its own time.
    createdAtMs: 0,
    pendingUntilMs: PENDING_MS,
    hardUntilMs: HARD_MS,
    decidedAtMs: null,
    commitByMs: null,
    endedAtMs: null,
  }
}

/** What a person is shown of a call, and whose yes it takes. */
export function presented (facts: Facts, services: Pick<Services, 'upstream' | 'identity'>): { readonly request: WireRequest, readonly shown: Shown, readonly requirement: Requirement, words (text: string): string } {
  const { valid: { args, capable: { action, call: { caller: { tenant } } } } } = facts.scoped
  const request = requestFor(facts, services)
  const markOf = (value: Json): string => services.identity.mark('redacted', tenant, value).slice(3, 3 + MARK_DIGITS)
  const { shown, words } = redact(shownOf(action, facts.bindings, request), args, action.proposal?.redact ?? [], markOf)
  return { request, shown, words, requirement: shown.undecodable.length === 0 ? action.requirement : strictest(action.requirement) }
}

/** As it would leave, but for the attempt and the credential. */
function requestFor (facts: Facts, services: Pick<Services, 'upstream'>): WireRequest {
  const { action } = facts.scoped.valid.capable
  const bindings: Bindings = action.write ? { ...facts.bindings, attempt: STAND_IN } : facts.bindings
  return services.upstream.build(action.upstream, evaluating(() => action.request.place(bindings)))
}

function shownOf (action: Action, bindings: Bindings, { method, path, headers, body }: WireRequest): Shown {
  const { proposal } = action
  const made = proposal === null
    ? { effect: titled(action), before: null, after: bindings.args, facts: {} }
    : evaluating(() => ({
      effect: proposal.effect(bindings), before: proposal.before(bindings), after: proposal.after(bindings), facts: proposal.facts(bindings),
    }))
  const text = body === null || !isUtf8(body) || body.length > BODY_SHOWN_BYTES ? null : body.toString('utf8')
  return {
    title: action.title,
    effect: made.effect,
    before: made.before,
    after: made.after,
    diff: diffRows(made.before, made.after),
    facts: isObject(made.facts) ? made.facts : made.facts === null ? {} : { facts: made.facts },
    request: { method, url: `${action.upstream.origin}${path}`, headers, body: text },
    undecodable: body !== null && text === null ? ['/request/body'] : [],
  }
}

/** An observation has no sentence of its own; what it is asked with stands below it. */
const titled = ({ title }: Action): readonly EffectPart[] => [{ kind: 'text', text: title }]

function shortened (reason: string): string {
  const points = [...reason.normalize('NFC')]
  return points.length <= REASON_POINTS_MAX ? points.join('') : `${points.slice(0, REASON_POINTS_MAX - 1).join('')}…`
}
