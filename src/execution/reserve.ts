// Step 10: the attempt, its claims and its spending become durable, all or nothing, before the first byte can leave. The exact request is built here,
// because it may carry the attempt's key; one that cannot be built has begun nothing.
import { randomBytes } from 'node:crypto'
import { RECORD_FORMAT, SEND_WINDOW_MS, type AttemptRecord } from '../attempts/attempt.ts'
import type { AttemptView, Bindings } from '../catalog/catalog.ts'
import { Refusal, type ErrorCode } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import type { BeginLimits, Begun, Recalled, RecordName } from '../store/store.ts'
import type { WireRequest } from '../upstream/wire.ts'
import { UNRESOLVED_MAX } from './admit.ts'
import type { Facts } from './call.ts'
import { ApprovalMoved, type Approved } from './consent.ts'
import { evaluating } from './facts.ts'
import type { CallRecord } from './record.ts'
import { repeatOf, type Duplicate } from './repeat.ts'
import type { Services } from './services.ts'
import { reachState } from './state.ts'

/** Equal calls that race for one key; each round of it means that another attempt of this key was begun and ended meanwhile. */
const ROUNDS_MAX = 5

const REFUSED_BY_BEGIN = {
  run_stopped: 'RUN_STOPPED',
  budget_exhausted: 'BUDGET_EXHAUSTED',
  unresolved_limit: 'UNRESOLVED_LIMIT',
  rate_limited: 'RATE_LIMITED',
  target_busy: 'TARGET_BUSY',
} as const satisfies Record<Exclude<Begun['kind'], 'begun' | 'recalled' | 'target_changed' | 'proposal_changed'>, ErrorCode>

/** The request that will be sent, and the attempt that allows it (null for an observation). Made by `reserve` alone. */
export class Reserved {
  readonly kind = 'reserved'
  readonly facts: Facts
  readonly request: WireRequest
  readonly attempt: AttemptRecord | null
  readonly bindings: Bindings
  /** Of the lock, where it rests on a person's yes. */
  readonly epoch: number | null
  #durable = true

  private constructor ({ facts, epoch }: Approved, request: WireRequest, attempt: AttemptRecord | null, bindings: Bindings) {
    this.facts = facts
    this.epoch = epoch
    this.request = request
    this.attempt = attempt
    this.bindings = bindings
  }

  get durable (): boolean { return this.#durable }

  static async make (approved: Approved, record: CallRecord, services: Services): Promise<Reserved | Duplicate> {
    const { facts, admitted: { recalled } } = approved
    if (recalled.kind === 'observation') {
      return new Reserved(approved, buildRequest(facts, facts.bindings, services), null, facts.bindings)
    }
    const keeping = services.keepDefinition(facts.scoped.valid.capable.action.digest)
    if (keeping !== null) await reachState(services, 'definition', () => keeping)
    let place = recalled.state?.finding.kind === 'free' ? recalled.state.finding : NEVER_USED
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const turn = place.after === null ? firstTurn(services.now().getTime()) : place
      const { attempt, bindings, request } = prepare(approved, recalled.name, turn, services)
      record.attempting(attempt)
      await failpoint('before_begin')
      const begun = await reachState(services, 'begin', () => services.store.begin(attempt, place.after, beginLimits(approved, recalled.state)))
      await failpoint('after_begin')
      if (begun.kind === 'begun') return new Reserved(approved, request, begun.record, bindings)
      record.notAttempting()
      if (begun.kind !== 'recalled') {
        // Called again, it reads the version again.
        if (begun.kind === 'target_changed') throw Refusal.of('VERSION_CONFLICT', { retryable: true }, 'reserve')
        if (begun.kind === 'proposal_changed') throw new ApprovalMoved()
        const passes = begun.kind === 'target_busy' || begun.kind === 'rate_limited'
        throw Refusal.of(REFUSED_BY_BEGIN[begun.kind], passes ? { retryAfterSeconds: 1 } : {})
      }
      const duplicate = repeatOf(begun.recalled)
      if (duplicate !== null) return duplicate
      if (begun.recalled.finding.kind === 'free') place = begun.recalled.finding
    }
    throw Refusal.of('CALL_IN_PROGRESS', { retryAfterSeconds: 1 })
  }
}

const NEVER_USED = Object.freeze({ n: 0, g: 0, since: 0, after: null })
/** For so long a settled attempt is remembered; where two attempts know nothing of each other, the later one was begun after this. */
const REMEMBERED_MS = 7 * 24 * 3_600_000
/** More than a key can have attempts in this time. */
const GENERATIONS = 1_000_000

/**
 * A key of which nothing is known was never used, or was forgotten since. So numbers do not begin at 0 again: no two attempts may have one name, nor may
 * what is meant anew go upstream under a key that the upstream may remember for longer. Within a week the key is the same for the same call all the
 * same: should the store lose an attempt, an upstream that knows its keys does not do it twice.
 */
export function firstTurn (nowMs: number): Turn {
  return { n: nowMs, g: Math.floor(nowMs / REMEMBERED_MS) * GENERATIONS, since: nowMs }
}

export function reserve (approved: Approved, record: CallRecord, services: Services): Promise<Reserved | Duplicate> {
  return Reserved.make(approved, record, services)
}

function beginLimits ({ facts, approval }: Approved, recalled: Recalled | null): BeginLimits {
  const { action } = facts.scoped.valid.capable
  const { callsPerRun, concurrencyPerTenant } = action.limits
  // The target is claimed only now: a write that ended between the read of its version and this claim has made that version old. Where the upstream
  // compares versions itself, it knows better.
  const wasRead = recalled !== null && facts.target !== null && facts.target.version !== null && !action.versionGuarded
  return {
    callsPerRun, concurrencyPerTenant, unresolvedMax: UNRESOLVED_MAX, unchangedSinceMs: wasRead ? recalled.atMs : null,
    ...(approval === null ? {} : { consume: { proposal: approval.id, revision: approval.revision } }),
  }
}

function buildRequest (facts: Facts, bindings: Bindings, services: Services): WireRequest {
  const { action } = facts.scoped.valid.capable
  return services.upstream.build(action.upstream, evaluating(() => action.request.place(bindings)))
}

/** Which attempt of its record key, and under which generation of the upstream key. */
interface Turn {
  readonly n: number
  readonly g: number
  readonly since: number
}

interface Prepared {
  readonly attempt: AttemptRecord
  readonly bindings: Bindings
  readonly request: WireRequest
}

function prepare (approved: Approved, name: RecordName, place: Turn, services: Services): Prepared {
  const { identity } = services
  const { facts, approval } = approved
  const { action } = facts.scoped.valid.capable
  const id = identity.attemptId(name.tag, name.recordKey, place.n)
  const view: AttemptView = { id, key: identity.upstreamKey(name.recordKey, place.g), reference: null }
  const bindings: Bindings = { ...facts.bindings, attempt: view }
  const request = buildRequest(facts, bindings, services)
  approved.requireSame(request, view, services.lock.epoch())
  const attempt = newRecord(facts, name, place, view, bindings, services)
  return { attempt: approval === null ? attempt : { ...attempt, proposal: approval.id, askedAs: approval.recordKey }, bindings, request }
}

function newRecord (facts: Facts, name: RecordName, place: Turn, view: AttemptView, bindings: Bindings, services: Services): AttemptRecord {
  const { identity } = services
  const { action, call } = facts.scoped.valid.capable
  const { caller, arrival } = call
  const { tenant } = caller
  const { target } = facts
  const serialize = action.limits.serialize === null ? null : evaluating(() => action.limits.serialize!(bindings))
  return {
    format: RECORD_FORMAT,
    id: view.id,
    tag: name.tag,
    recordKey: name.recordKey,
    runKey: name.runKey,
    keyed: name.keyed,
    fingerprint: name.fingerprint,
    n: place.n,
    g: place.g,
    since: place.since,
    key: view.key,
    action: action.id,
    definition: action.digest,
    upstream: action.upstream.name,
    owner: { iss: caller.iss, sub: caller.sub, tenant, run: caller.run! },
    caller: caller.view,
    args: bindings.args,
    values: bindings.values,
    target,
    claims: {
      target: target === null ? null : identity.claim('target', tenant, action.upstream.name, target.type, target.id),
      serialize: serialize === null ? null : identity.claim('serialize', tenant, action.upstream.name, serialize),
      equal: identity.claim('equal', tenant, action.id, bindings.args),
    },
    guarded: action.versionGuarded,
    sensitive: action.sensitivity === 'secret',
    ...(action.strict ? { strict: true as const } : {}),
    timeoutMs: action.limits.timeoutMs,
    quiescenceMs: SEND_WINDOW_MS + action.limits.timeoutMs + (action.lookup?.absent?.settlesAfterMs ?? 0),
    correlationId: arrival.correlationId,
    state: 'prepared',
    revision: 1,
    token: randomBytes(16).toString('hex'),
    reference: null,
    missing: null,
    cancelRequested: false,
    lookups: 0,
    firstAbsentAtMs: null,
    settlement: null,
    // Stamped by the store, which also counts the lease from its own clock.
    preparedAtMs: 0,
    dispatchedAtMs: null,
    unknownAtMs: null,
    settledAtMs: null,
    dueAtMs: null,
  }
}
