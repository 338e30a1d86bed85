// Rows about the door: who signed in and out, whose sign-in was refused, and what came to a listener that is not for it. Whoever has no credential could
// fill the disk with these, so only so many of nobody's are kept; all of them are logged and counted.
import { rowText, type AuditEventName, type RowFields } from './audit-row.ts'
import type { DoorEvent } from './telemetry.ts'

const ROWS: Record<DoorEvent['what'], AuditEventName> = {
  signed_in: 'person.signed_in', signed_out: 'person.signed_out', sign_in_refused: 'person.refused', plane_violation: 'plane.violation',
}

const NOBODYS_MAX = 60
const WINDOW_MS = 60_000

export interface DoorKeeper {
  /** All but the actor; null: no row is made of it. */
  fieldsOf (event: DoorEvent): RowFields | null
}

/** @param nowMs monotonic */
export function openDoorKeeper (nowMs: () => number = () => performance.now()): DoorKeeper {
  let [beganAtMs, kept] = [-Infinity, 0]
  return {
    fieldsOf ({ what, actor, reason, correlationId, source, plane }) {
      if (actor.subMark === null) {
        if (nowMs() - beganAtMs > WINDOW_MS) [beganAtMs, kept] = [nowMs(), 0]
        if (++kept > NOBODYS_MAX) return null
      }
      return {
        event: ROWS[what],
        code: reason === null ? undefined : rowText(reason),
        correlation_id: rowText(correlationId),
        source: source ?? undefined,
        what: what === 'plane_violation' ? plane : undefined,
      }
    },
  }
}
