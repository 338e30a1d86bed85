// What an endpoint is told: that something happened and where to look, never enough to decide by. The page alone shows what a yes would mean.
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { effectLine } from '../consent/effect-view.ts'
import type { ConsentEvent } from '../consent/events.ts'
import { endsAtMs, type ProposalRecord } from '../consent/proposal.ts'
import type { Endpoint, NoticeType } from './endpoints.ts'

export interface Notice {
  /** The same for the same change and endpoint, whoever tells it and however often. */
  readonly id: string
  readonly type: NoticeType
  readonly body: string
  /** null: it is about no proposal. */
  readonly proposalId: string | null
}

/** Receivers may refuse more. */
const BODY_BYTES_MAX = 20_000

/** null: nobody is told of this. */
export function noticeType (event: ConsentEvent): NoticeType | null {
  switch (event.type) {
    case 'locked': case 'unlocked': return `vault.${event.type}`
    case 'checkpoint': return 'audit.checkpoint'
    case 'voted': case 'extended': return null
    case 'committed': case 'learned': return event.outcome === 'unknown' ? 'proposal.unknown' : 'proposal.committed'
    case 'approved': return event.record.kind === 'session' ? 'grant.created' : 'proposal.approved'
    case 'expired': case 'invalidated': case 'revoked': return wasGrant(event.record) ? 'grant.ended' : `proposal.${event.type}`
    default: return `proposal.${event.type}`
  }
}

const wasGrant = (record: ProposalRecord): boolean => record.kind === 'session' && record.decidedAtMs !== null

export interface Telling {
  /** Under which people reach the broker; null: there is no page to point to. */
  readonly origin: string | null
  /** ISO 8601. */
  readonly now: string
}

/** null: this endpoint is not told of it. */
export function noticeFor (endpoint: Endpoint, event: ConsentEvent, { origin, now }: Telling): Notice | null {
  const type = noticeType(event)
  if (type === null || !endpoint.events.has(type)) return null
  if (event.type === 'checkpoint') {
    const { checkpoint: { writer, size, head }, note } = event
    const id = idOf(endpoint, type, [writer, size, head])
    return { id, type, body: JSON.stringify({ type, timestamp: now, data: { writer, size, head, note } }), proposalId: null }
  }
  if (!('record' in event)) {
    const data = { epoch: event.epoch }
    return { id: idOf(endpoint, type, [event.epoch]), type, body: JSON.stringify({ type, timestamp: now, data }), proposalId: null }
  }
  const { record } = event
  if (endpoint.roles !== null && !record.requirement.roles.some(role => endpoint.roles!.has(role))) return null
  const endsMs = endsAtMs(record)
  const data = {
    proposal_id: record.id,
    kind: record.kind,
    action_id: record.action,
    effect: record.effect,
    expires_at: endsMs === null ? null : new Date(endsMs).toISOString(),
    ...('outcome' in event && { outcome: event.outcome }),
    ...(record.cause !== null && { cause: record.cause }),
    ...(origin !== null && { url: `${origin}/approvals/${record.id}` }),
  }
  const write = (more: object): string => JSON.stringify({ type, timestamp: now, data: { ...data, ...more } })
  const whole = endpoint.includeEffect ? write({ effect_sentence: effectLine(record.shown.effect) }) : write({})
  const body = Buffer.byteLength(whole) < BODY_BYTES_MAX ? whole : write({})
  const of = [record.id, record.revision, ...'outcome' in event ? [event.outcome] : []]
  return { id: idOf(endpoint, type, of), type, body, proposalId: record.id }
}

/** Holds no dot: what is signed is parted by dots. */
function idOf ({ url }: Endpoint, type: NoticeType, of: ReadonlyArray<string | number>): string {
  return `msg_${createHash('sha256').update(canonicalize([url.href, type, ...of]) ?? '').digest('hex').slice(0, 40)}`
}
