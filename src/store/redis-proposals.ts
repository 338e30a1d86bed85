// Proposals in Redis. The reducer runs here, as it does for attempts; a script makes what it decided atomic, and says when that was: a change is
// reduced as of some moment that has passed, its times are told as spans, and the script refuses what is late by its own clock.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  advanceProposal as reduce, goesOn, isOpen, PROPOSAL_FORMAT, stateAt, tagOfProposal, type Decision, type PendingMax, type ProposalEvent, type ProposalRecord,
  type ProposalState,
} from '../consent/proposal.ts'
import type { AdvancedProposal, ConsentStore, HeldProposal, Proposed } from './consent-store.ts'
import { hasChange, requireProposed } from './proposal-codec.ts'
import type { RedisConnection } from './redis-connection.ts'
import { keysOf, sessionKey, TAGS } from './redis-keys.ts'
import { list, number, text } from './redis-reply.ts'
import { SCRIPTS } from './redis-scripts.ts'
import type { Retention } from './retention.ts'
import { StateUnavailable } from './store.ts'

/** Changes by others between our reading and our writing: the uses of one grant meet here. */
const ROUNDS_MAX = 100
/** From this round on whoever lost one waits a little, so that not all of them come back at once. */
const WAITS_FROM = 3
/** What an agent proposed is counted for as long. */
const COUNTED_MS = 8 * 24 * 3_600_000
const FORMATS: readonly number[] = Array.from({ length: PROPOSAL_FORMAT }, (_, index) => index + 1)

const TIMES = ['createdAtMs', 'pendingUntilMs', 'hardUntilMs', 'decidedAtMs', 'commitByMs', 'endedAtMs'] as const

/** What scripts change or go by stands in fields of its own. */
type Fielded = 'id' | 'format' | 'revision' | 'state' | 'attemptId' | (typeof TIMES)[number]
type Body = Omit<ProposalRecord, Fielded | 'decisions'> & { readonly decisions: ReadonlyArray<Omit<Decision, 'atMs'>> }

function packProposal (record: ProposalRecord): string {
  const {
    id: _id, format: _format, revision: _revision, state: _state, attemptId: _attempt, createdAtMs: _created, pendingUntilMs: _pending,
    hardUntilMs: _hard, decidedAtMs: _decided, commitByMs: _commit, endedAtMs: _ended, ...rest
  } = record
  const body: Body = { ...rest, decisions: record.decisions.map(({ atMs: _at, ...decision }) => decision) }
  return JSON.stringify(body)
}

function fieldsOf (reply: unknown): ReadonlyMap<string, string> {
  const flat = list(reply)
  const fields = new Map<string, string>()
  for (let index = 0; index < flat.length; index += 2) fields.set(text(flat[index]), text(flat[index + 1]))
  return fields
}

/** null: there is none. */
export function proposalOf (reply: unknown): ProposalRecord | null {
  if (reply === null) return null
  const fields = fieldsOf(reply)
  const body = JSON.parse(text(fields.get('body'))) as Body
  const times = text(fields.get('decidedAt')).split(' ')
  const time = (name: string): number | null => fields.has(name) ? number(fields.get(name)) : null
  return {
    ...body,
    id: text(fields.get('id')), format: number(fields.get('format')), revision: number(fields.get('revision')),
    state: text(fields.get('state')) as ProposalState, attemptId: fields.get('attemptId') ?? null,
    decisions: body.decisions.map((decision, index) => ({ ...decision, atMs: number(times[index]) })),
    createdAtMs: number(fields.get('createdAtMs')), pendingUntilMs: number(fields.get('pendingUntilMs')), hardUntilMs: number(fields.get('hardUntilMs')),
    decidedAtMs: time('decidedAtMs'), commitByMs: time('commitByMs'), endedAtMs: time('endedAtMs'),
  }
}

function heldOf (nowMs: unknown, fields: unknown): HeldProposal | null {
  const record = proposalOf(fields)
  return record === null ? null : { record, nowMs: number(nowMs) }
}

export function redisProposals (redis: RedisConnection, retention: Retention): ConsentStore {
  return {
    async recallProposal (tag, name) {
      const keys = keysOf(tag)
      const [nowMs, fields] = list(await redis.run(SCRIPTS.readProposal, [keys.proposalName(name)], [keys.prefix, '']))
      return heldOf(nowMs, fields)
    },
    propose: (record, after, pendingMax) => propose(redis, record, after, pendingMax),
    findProposal: id => find(redis, id),
    advanceProposal: (held, event, changeId) => advance(redis, retention, held, event, changeId ?? randomUUID()),
    openProposals: limit => listed(redis, 'open', limit),
    endedProposals: limit => listed(redis, 'ended', limit),
    overdueProposals: limit => listed(redis, 'overdue', limit),
    async grantsOf (tag, runKey) {
      const keys = keysOf(tag)
      const [nowMs, found] = list(await redis.run(SCRIPTS.grantsOf, [keys.grants(runKey)], [keys.prefix]))
      return list(found).map(fields => heldOf(nowMs, fields)!).filter(held => stateAt(held.record, held.nowMs) === 'approved')
    },
    countProposals: async (tag, agentKey, sinceMs) => number(await redis.command('ZCOUNT', keysOf(tag).proposalsMade(agentKey), sinceMs, '+inf')),
    keepSession: async (hash, kept, lifeMs) => { await redis.command('SET', sessionKey(hash), kept, 'PX', lifeMs) },
    async session (hash) {
      const kept = await redis.command('GET', sessionKey(hash))
      return kept === null ? null : text(kept)
    },
    dropSession: async hash => { await redis.command('DEL', sessionKey(hash)) },
  }
}

async function find (redis: RedisConnection, id: string): Promise<HeldProposal | null> {
  const [nowMs, fields] = await read(redis, id) ?? [null, null]
  return heldOf(nowMs, fields)
}

/** `{now, fields}` as the script gives them, or null where the id is none. */
async function read (redis: RedisConnection, id: string): Promise<readonly unknown[] | null> {
  const tag = tagOfProposal(id)
  if (tag === null) return null
  const keys = keysOf(tag)
  return list(await redis.run(SCRIPTS.readProposal, [keys.proposal(id)], [keys.prefix, id]))
}

/** A tenant's name holds no colon, and neither of them a space. */
const desksOf = ({ owner, requirement }: ProposalRecord): readonly string[] => requirement.roles.map(role => `${owner.tenant}:${role}`)

async function propose (redis: RedisConnection, record: ProposalRecord, after: string | null, pendingMax: PendingMax): Promise<Proposed> {
  requireProposed(record)
  const keys = keysOf(record.tag)
  const desks = desksOf(record)
  const [answer, nowMs, fields] = list(await redis.run(SCRIPTS.propose, [
    keys.proposal(record.id), keys.proposalName(record.recordKey), keys.proposalName(record.equalKey), keys.run(record.runKey),
    keys.proposalsPending(record.agentKey), keys.proposalsMade(record.agentKey), ...desks.map(keys.proposalsDesk),
  ], [
    keys.prefix, record.id, after ?? '', pendingMax.agent, record.pendingUntilMs, record.hardUntilMs,
    record.format, record.revision, record.kind, record.agentKey, record.runKey, record.recordKey, record.equalKey, packProposal(record), COUNTED_MS,
    desks.join(' '), pendingMax.desk,
  ]))
  const kind = text(answer) as Proposed['kind']
  if (kind === 'proposed') return { kind, record: proposalOf(fields)! }
  return kind === 'recalled' ? { kind, latest: heldOf(nowMs, fields)! } : { kind }
}

async function advance (
  redis: RedisConnection, retention: Retention, held: ProposalRecord, event: ProposalEvent, changeId: string,
): Promise<AdvancedProposal> {
  let record = held
  // A moment that has surely come by the store's clock; whether its time is over since then, the script says.
  let nowMs = held.decidedAtMs ?? held.createdAtMs
  let changes: string | null = null
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const reduced = record.format > PROPOSAL_FORMAT ? NEWER : reduce(record, event, nowMs)
    let now: readonly unknown[]
    if (reduced.kind === 'changed') {
      if (round >= WAITS_FROM) await sleep(Math.random() * round)
      const [answer, ...rest] = list(await writeChange(redis, retention, record, reduced.record, event, nowMs, changeId))
      const kind = text(answer)
      if (kind === 'missing') return { kind }
      if (kind === 'changed') return { kind, record: proposalOf(rest[1])!, nowMs: number(rest[0]) }
      if (kind === 'run_stopped') return { kind: 'refused', record: proposalOf(rest[1])!, nowMs: number(rest[0]), why: kind }
      now = rest
    } else if (changes !== null) {
      // Done before, and something else since, by which it would not be possible any more.
      if (hasChange(changes, changeId)) return { kind: 'changed', record, nowMs }
      return reduced.kind === 'already' ? { kind: 'already', record, nowMs } : { kind: 'refused', record, nowMs, why: reduced.why }
    } else {
      // What the caller holds may be old: only what the store holds can refuse.
      now = await read(redis, held.id) ?? [null, null]
    }
    if (now[1] === null) return { kind: 'missing' }
    record = proposalOf(now[1])!
    changes = fieldsOf(now[1]).get('changes') ?? ''
    nowMs = number(now[0])
  }
  throw new StateUnavailable('Redis: the proposal changes faster than it can be written')
}

const NEWER = Object.freeze({ kind: 'refused', why: 'newer_format' })

function writeChange (
  redis: RedisConnection, retention: Retention, from: ProposalRecord, to: ProposalRecord, event: ProposalEvent, nowMs: number, changeId: string,
): Promise<unknown> {
  const keys = keysOf(from.tag)
  const decides = event.type === 'decide'
  // The one that is made now stands last.
  const before = decides ? to.decisions.slice(0, -1) : to.decisions
  return redis.run(SCRIPTS.changeProposal, [keys.proposal(from.id), keys.run(from.runKey)], [
    keys.prefix, from.id, from.revision, from.format, changeId, stateAt(from, nowMs) === 'expired' && isOpen(from.state) ? 1 : 0,
    to.revision, to.state, packProposal(to), timesOf(from, to, nowMs), before.map(({ atMs }) => atMs).join(' '), decides ? 1 : 0,
    isOpen(to.state) ? '' : retention.settledMs, goesOn(event) ? 1 : 0,
  ])
}

/** Each time that the change sets, as `name span most,`. What is as late as it may be at that moment is so at any later one. */
function timesOf (from: ProposalRecord, to: ProposalRecord, nowMs: number): string {
  return TIMES.filter(name => to[name] !== null && to[name] !== from[name]).map(name => {
    const isBounded = name === 'pendingUntilMs' || (name === 'commitByMs' && to.grant === null)
    return `${name} ${to[name]! - nowMs} ${isBounded ? to.hardUntilMs : ''},`
  }).join('')
}

/** Every hash tag is asked for the first of its own; the first of all of them are read. */
async function listed (redis: RedisConnection, which: 'open' | 'ended' | 'overdue', limit: number): Promise<readonly HeldProposal[]> {
  if (limit < 1) return []
  const found = (await Promise.all(TAGS.flatMap(tag => {
    const keys = keysOf(tag)
    const lists = which === 'open' ? [keys.proposalsOpen] : which === 'ended' ? [keys.proposalsEnded] : FORMATS.map(keys.proposalsEnd)
    return lists.map(async key => {
      const flat = list(await redis.run(SCRIPTS.listProposals, [key], [keys.prefix, which, limit]))
      return Array.from({ length: flat.length / 2 }, (_, index) => ({ id: text(flat[2 * index]), atMs: number(flat[2 * index + 1]) }))
    })
  }))).flat()
  const turn = which === 'ended' ? -1 : 1
  found.sort((one, other) => turn * (one.atMs - other.atMs) || (one.id < other.id ? -1 : 1))
  const held = await Promise.all(found.slice(0, limit).map(({ id }) => find(redis, id)))
  return held.filter(one => one !== null).filter(({ record, nowMs }) => isIn(which, record, nowMs))
}

/** It may have moved on since its id was read. */
function isIn (which: 'open' | 'ended' | 'overdue', record: ProposalRecord, nowMs: number): boolean {
  if (which === 'ended') return !isOpen(record.state)
  return isOpen(record.state) && isOpen(stateAt(record, nowMs)) === (which === 'open')
}
