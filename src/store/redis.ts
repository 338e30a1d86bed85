// The store on Redis: any number of replicas. The reducer runs here; a script makes what it decided atomic by compare-and-set on the revision, and
// each verb is one script and one round trip as long as nobody else changed the same attempt meanwhile.
import { randomUUID } from 'node:crypto'
import {
  advance as reduce, freesKey, givesBack, PREPARE_LEASE_MS, RECORD_FORMAT, type Advance, type AttemptEvent, type AttemptRecord, type Stamp,
} from '../attempts/attempt.ts'
import { tagOfAttempt } from '../attempts/identity.ts'
import { PROPOSAL_FORMAT } from '../consent/proposal.ts'
import { failpoint } from '../failpoints.ts'
import { begunAt, changesTarget, nameOf, pack, placeMs, requirePrepared } from './codec.ts'
import { connectRedis, type RedisConnection } from './redis-connection.ts'
import { redisLock } from './redis-lock.ts'
import { definitionKey, KEY_ID, keysOf, PING, STOPPED_RUNS, TAGS, WATCH_TAG } from './redis-keys.ts'
import { redisProposals } from './redis-proposals.ts'
import { attemptOf, list, number, recalledOf, stampsOf, text } from './redis-reply.ts'
import { SCRIPTS } from './redis-scripts.ts'
import { parseRedisUrl } from './redis-url.ts'
import { CHANGED_KEPT_MS, RETENTION, RUN_LIST_MAX, STOPPED_LISTED_MS, type Retention } from './retention.ts'
import {
  StateUnavailable, type Advanced, type After, type Begun, type BeginLimits, type Due, type Entered, type Place, type PlaceLimits, type Recalled,
  type RecordName, type Store,
} from './store.ts'

export interface RedisStoreOptions {
  readonly retention?: Retention
  /** How long the first connection may take. */
  readonly startMs?: number
}

const START_MS = 5_000
/** Changes by others between our reading and our writing; an attempt has few that can change it, and each of them ends. */
const ROUNDS_MAX = 20
/** Of a replica that is gone: if it comes back after this it takes the missing canary for a loss, and tells all it knows again, which harms nobody. */
export const CANARY_MS = 30 * 24 * 3_600_000
const PING_KEPT_MS = 60_000
const STAMPS: readonly Stamp[] = ['dispatchedAtMs', 'unknownAtMs', 'firstAbsentAtMs', 'settledAtMs']
const FORMATS: readonly number[] = Array.from({ length: RECORD_FORMAT }, (_, index) => index + 1)

interface Context {
  readonly redis: RedisConnection
  readonly retention: Retention
  readonly canary: Canary | null
}

/**
 * A counter that rises with every mark: one for a whole server, which loses all that came after a moment, and one in each hash tag of a cluster, where
 * each master loses for itself. Where it stands lower than it was ever seen, the store has lost what it acknowledged.
 */
export interface Canary {
  readonly replica: string
  /** The highest value that was acknowledged, 0 where none was. */
  remembered (tag: string): number
  beaten (tag: string, value: number): void
  lost (): void
}

/** @throws StateRefused, StateUnavailable */
export async function openRedis (url: string, options: RedisStoreOptions = {}): Promise<Store> {
  return redisStore(await connectRedis(parseRedisUrl(url), options.startMs ?? START_MS), { ...options, canary: null })
}

export function redisStore (redis: RedisConnection, options: RedisStoreOptions & { readonly canary: Canary | null }): Store {
  const context: Context = { redis, retention: options.retention ?? RETENTION, canary: options.canary }
  let turn = 0
  return {
    ...redisProposals(redis, context.retention),
    recall: name => recall(context, name),
    begin: (record, after, limits) => begin(context, record, after, limits),
    advance: (held, event, changeId) => advance(context, held, event, changeId ?? randomUUID()),
    find: id => find(context, id),
    claimDue: (limit, leaseMs) => claimDue(context, limit, leaseMs, turn++),
    ofRun: (tag, runKey, limit) => ofRun(context, tag, runKey, limit),
    unresolved: limit => unresolved(context, limit),
    stopRun: (tag, runKey) => stopRun(context, tag, runKey),
    stoppedRuns: async () => list(await redis.run(SCRIPTS.stoppedRuns, [STOPPED_RUNS], [STOPPED_LISTED_MS])).map(text),
    countRefusal: (tag, runKey, action) => countRefusal(context, tag, runKey, action),
    refusals: async (tag, runKey, action) => number(await redis.command('HGET', keysOf(tag).run(runKey), `refusals:${action}`) ?? '0'),
    enter: (place, limits, deadlineMs) => enter(context, place, limits, deadlineMs),
    leave: async place => { await redis.command('ZREM', keysOf(place.tag).places(place.action, place.tenant), place.callId) },
    keepDefinition: async (digest, kept) => { await redis.command('SET', definitionKey(digest), kept, 'NX') },
    definition: async digest => textOrNull(await redis.command('GET', definitionKey(digest))),
    bindKey: async keyId => text(await redis.run(SCRIPTS.bindKey, [KEY_ID], [keyId])) === keyId,
    ...redisLock(redis, options.canary?.replica ?? null),
    // A write: a replica, or a server without memory or disk, answers reads as if nothing were wrong.
    ping: async () => { await redis.command('SET', PING, '1', 'PX', PING_KEPT_MS) },
    close: () => redis.close(),
  }
}

async function recall (context: Context, name: RecordName): Promise<Recalled> {
  const keys = keysOf(name.tag)
  const reply = await context.redis.run(SCRIPTS.recall,
    [keys.record(name.recordKey), keys.run(name.runKey), keys.unresolvedOf(name.action, name.tenant)], [keys.prefix, name.action, name.upstream])
  return recalledOf(name, list(reply))
}

async function begin (context: Context, record: AttemptRecord, after: After | null, limits: BeginLimits): Promise<Begun> {
  requirePrepared(record, limits)
  const name = nameOf(record)
  const keys = keysOf(record.tag)
  const { action, tenant } = name
  await failpoint('before_redis_begin')
  const reply = list(await context.redis.run(SCRIPTS.begin, [
    keys.record(record.recordKey), keys.attempt(record.id), keys.run(record.runKey), keys.runAttempts(record.runKey), keys.due(record.format),
    keys.unresolvedOf(action, tenant), keys.places(action, tenant), ...claimKeys(record),
  ], [
    keys.prefix, record.id, record.token, after?.id ?? '', after?.revision ?? '',
    limits.callsPerRun ?? '', limits.concurrencyPerTenant ?? '', limits.unresolvedMax, record.guarded ? 1 : 0,
    placeMs(record), PREPARE_LEASE_MS, context.retention.runMs, RUN_LIST_MAX,
    action, record.upstream, record.format, record.revision, pack(record).body,
    ...changedSince(record, limits), limits.consume?.proposal ?? '', limits.consume?.revision ?? '', PROPOSAL_FORMAT,
  ]))
  await failpoint('after_redis_begin')
  const [answer, ...rest] = reply
  const kind = text(answer)
  switch (kind) {
    case 'begun': return { kind, record: begunAt(record, number(rest[0])) }
    case 'again': return { kind: 'begun', record: attemptOf(rest[1])! }
    case 'recalled': return { kind, recalled: recalledOf(name, rest) }
    default: return { kind: kind as Exclude<Begun['kind'], 'begun' | 'recalled'> }
  }
}

/** Only who read the version of its target asks whether that is old by now. */
function changedSince (record: AttemptRecord, { unchangedSinceMs }: BeginLimits): readonly [key: string, sinceMs: number] {
  const { target } = record.claims
  return target === null || typeof unchangedSinceMs !== 'number' ? ['', 0] : [keysOf(record.tag).changed(target), unchangedSinceMs]
}

/** The equal writes first, then what this attempt holds alone. */
export function claimKeys (record: AttemptRecord): readonly string[] {
  const keys = keysOf(record.tag)
  const held = [record.claims.target, record.claims.serialize].filter(claim => claim !== null)
  return [keys.equal(record.claims.equal), ...held.map(claim => keys.claim(claim))]
}

async function advance (context: Context, held: AttemptRecord, event: AttemptEvent, change: string): Promise<Advanced> {
  let record = held
  let fresh = false
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const reduced: Advance = record.format > RECORD_FORMAT ? { kind: 'refused', alarm: false } : reduce(record, event)
    if (reduced.kind === 'changed') {
      await failpoint('before_redis_change')
      const reply = list(await writeChange(context, record, reduced, change))
      await failpoint('after_redis_change')
      const kind = text(reply[0])
      if (kind === 'changed') {
        if (event.type === 'dispatch') context.canary?.beaten(canaryTag(context, record), number(reply[2]))
        return { kind, record: { ...reduced.record, ...stampsOf(reply[1]) } }
      }
      if (kind === 'lost') {
        context.canary!.lost()
        throw new StateUnavailable('Redis: it has lost what it acknowledged')
      }
      if (kind === 'missing') return { kind }
      record = attemptOf(reply[1])!
      fresh = true
    } else if (fresh) {
      return reduced.kind === 'already' ? { kind: 'already', record } : { kind: 'refused', record, alarm: reduced.alarm }
    } else {
      // What the caller holds may be old: only what the store holds can refuse.
      const now = await find(context, held.id)
      if (now === null) return { kind: 'missing' }
      record = now
      fresh = true
    }
  }
  throw new StateUnavailable('Redis: the attempt changes faster than it can be written')
}

/** Of a whole server the one that beats by itself: it is remembered by a replica that has never made a mark in this tag, too. */
const canaryTag = ({ redis }: Context, { tag }: AttemptRecord): string => redis.cluster ? tag : WATCH_TAG

function writeChange (context: Context, from: AttemptRecord, change: Extract<Advance, { kind: 'changed' }>, changeId: string): Promise<unknown> {
  const { record, stamp, dueAfterMs } = change
  const canary = stamp === 'dispatchedAtMs' ? context.canary : null
  const keys = keysOf(record.tag)
  const beaten = canaryTag(context, record)
  const tenant = record.owner.tenant
  const { body, result } = pack(record)
  const run = record.strict === true && stamp === 'dispatchedAtMs' ? context.redis.runDurably : context.redis.run
  return run(SCRIPTS.change, [
    keys.attempt(record.id), keys.record(record.recordKey), keys.result(record.id), keys.due(record.format),
    keys.unresolved, keys.unresolvedOf(record.action, tenant), keys.places(record.action, tenant), keysOf(canary === null ? record.tag : beaten).canary(canary?.replica ?? 'none'),
    ...claimKeys(record),
  ], [
    keys.prefix, record.id, from.revision, changeId, record.revision,
    record.state, body, stamp ?? '', dueAfterMs ?? '',
    result ?? '', context.retention.resultMs, context.retention.settledMs, from.token, from.format,
    STAMPS.filter(name => from[name] !== null && record[name] === null).join(' '),
    canary?.remembered(beaten) ?? '', CANARY_MS, changesTarget(record) ? keys.changed(record.claims.target!) : '', CHANGED_KEPT_MS,
    freesKey(record) ? 1 : 0, record.proposal ?? '', givesBack(record) ? 1 : 0, PROPOSAL_FORMAT, from.state,
  ])
}

async function find (context: Context, id: string): Promise<AttemptRecord | null> {
  const tag = tagOfAttempt(id)
  if (tag === null) return null
  const keys = keysOf(tag)
  return attemptOf(await context.redis.run(SCRIPTS.read, [keys.attempt(id), keys.result(id)], []))
}

/**
 * Every hash tag is asked, all at once; what may be claimed is dealt out one by one over those that have something, from another tag each time.
 */
async function claimDue (context: Context, limit: number, leaseMs: number, turn: number): Promise<readonly Due[]> {
  const first = turn % TAGS.length
  const tags = [...TAGS.slice(first), ...TAGS.slice(0, first)]
  const dueKeys = (tag: string): readonly string[] => FORMATS.map(format => keysOf(tag).due(format))
  const counts = await Promise.all(tags.map(async tag => number(await context.redis.run(SCRIPTS.countDue, dueKeys(tag), []))))
  const shares = deal(limit, counts)
  const claimed = await Promise.all(tags.map(async (tag, index) => {
    const share = shares[index]!
    if (share === 0) return []
    const [nowMs, records] = list(await context.redis.run(SCRIPTS.claimDue, dueKeys(tag), [keysOf(tag).prefix, share, leaseMs]))
    return list(records).map(record => ({ record: attemptOf(record)!, nowMs: number(nowMs) }))
  }))
  return claimed.flat()
}

const textOrNull = (reply: unknown): string | null => reply === null ? null : text(reply)

/** Deals at most `limit` cards to hands that can take so many each, one card a hand and round. */
export function deal (limit: number, rooms: readonly number[]): readonly number[] {
  const shares = rooms.map(() => 0)
  let left = Math.min(limit, rooms.reduce((sum, room) => sum + room, 0))
  while (left > 0) {
    for (let index = 0; index < rooms.length && left > 0; index++) {
      if (shares[index]! >= rooms[index]!) continue
      shares[index]!++
      left--
    }
  }
  return shares
}

async function ofRun (context: Context, tag: string, runKey: string, limit: number): Promise<readonly AttemptRecord[]> {
  const keys = keysOf(tag)
  return list(await context.redis.run(SCRIPTS.ofRun, [keys.runAttempts(runKey)], [keys.prefix, limit])).map(reply => attemptOf(reply)!)
}

async function unresolved (context: Context, limit: number): Promise<readonly AttemptRecord[]> {
  if (limit < 1) return []
  const found = (await Promise.all(TAGS.map(async tag => {
    const flat = list(await context.redis.command('ZRANGE', keysOf(tag).unresolved, 0, limit - 1, 'WITHSCORES'))
    return Array.from({ length: flat.length / 2 }, (_, index) => ({ id: text(flat[2 * index]), preparedAtMs: number(flat[2 * index + 1]) }))
  }))).flat()
  found.sort((one, other) => one.preparedAtMs - other.preparedAtMs || (one.id < other.id ? -1 : 1))
  const records = await Promise.all(found.slice(0, limit).map(({ id }) => find(context, id)))
  return records.filter(record => record !== null)
}

/** First what `begin` goes by, then the list that replicas poll; asked again, both are done again. */
async function stopRun (context: Context, tag: string, runKey: string): Promise<void> {
  await context.redis.run(SCRIPTS.stopRun, [keysOf(tag).run(runKey)], [context.retention.runMs])
  await context.redis.run(SCRIPTS.listStopped, [STOPPED_RUNS], [runKey, STOPPED_LISTED_MS])
}

async function countRefusal (context: Context, tag: string, runKey: string, action: string): Promise<number> {
  return number(await context.redis.run(SCRIPTS.countRefusal, [keysOf(tag).run(runKey)], [action, context.retention.runMs]))
}

async function enter (context: Context, place: Place, limits: PlaceLimits, deadlineMs: number): Promise<Entered> {
  const keys = keysOf(place.tag)
  const reply = await context.redis.run(SCRIPTS.enter, [keys.run(place.runKey), keys.places(place.action, place.tenant)], [
    place.callId, place.action, limits.callsPerRun ?? '', limits.concurrencyPerTenant ?? '', deadlineMs, context.retention.runMs,
  ])
  return text(reply) as Entered
}
