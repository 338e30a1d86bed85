// Rows about what people are asked: who saw what, what they said to which content, and which attempt used it up.
import type { ConsentEvent } from '../consent/events.ts'
import { rowMs, rowText, type AuditEventName, type RowFields } from './audit-row.ts'
import type { IntentEvent, PersonEvent } from './telemetry.ts'

const PERSON_ROWS: Record<PersonEvent['what'], AuditEventName> = {
  viewed: 'proposal.viewed', approved: 'proposal.decided', denied: 'proposal.decided', extended: 'proposal.extended', revoked: 'proposal.revoked',
}

/** All but the actor. */
export function fieldsOfPerson ({ what, proposal, actionId, correlationId, surface, renderer, msOnPage, reasonCode }: PersonEvent): RowFields {
  const isShown = surface !== null || renderer !== null
  return {
    event: PERSON_ROWS[what],
    action: { definition: undefined, effect: undefined, id: actionId },
    code: reasonCode === null ? undefined : rowText(reasonCode),
    correlation_id: rowText(correlationId),
    proposal: { digest: proposal.digest, id: proposal.id, state: proposal.state },
    shown: isShown
      ? { ms: msOnPage === null ? undefined : rowMs(msOnPage), renderer: renderer === null ? undefined : rowText(renderer), surface: surface ?? undefined }
      : undefined,
    what: PERSON_ROWS[what] === 'proposal.decided' ? what : undefined,
  }
}

/** Durable before the attempt is sent: what was approved, and what it is used up by. */
export function fieldsOfConsumed (event: IntentEvent, approval: NonNullable<IntentEvent['approval']>): RowFields {
  return {
    event: 'proposal.consumed',
    action: { definition: event.definition, effect: undefined, id: event.actionId },
    attempt: { duplicate: undefined, id: event.attemptId, state: undefined },
    correlation_id: event.correlationId,
    proposal: { digest: approval.digest, id: approval.id, state: undefined },
  }
}

/** null: another row tells of it, of the person who did it or of the attempt. */
export function fieldsOfConsent (event: ConsentEvent): RowFields | null {
  if (!('record' in event)) return null
  const { record } = event
  const made = event.type === 'pending'
  const ended = event.type === 'expired' || event.type === 'withdrawn' || event.type === 'superseded' || event.type === 'invalidated' || event.type === 'revoked'
  if (!made && !ended) return null
  return {
    event: made ? 'proposal.made' : 'proposal.ended',
    action: { definition: undefined, effect: record.effect, id: record.action },
    code: record.cause ?? undefined,
    correlation_id: rowText(record.correlationId),
    proposal: { digest: record.digest, id: record.id, state: record.state },
    what: made ? record.kind : event.type,
  }
}
