// What the desk tells, as telemetry takes it: people are marks there, as agents are.
import type { Identity } from '../attempts/identity.ts'
import type { DeskServices } from '../consent/create-desk.ts'
import type { Telemetry } from './telemetry.ts'

export function deskAudit (telemetry: Telemetry, identity: Identity): DeskServices['audit'] {
  return {
    person: ({ person, record, what, surface, renderer, msOnPage, reasonCode }) => telemetry.person({
      actor: { kind: 'person', iss: person.iss, subMark: identity.mark('sub', person.iss, person.sub), runMark: null, tenant: record.owner.tenant },
      what, surface, renderer, msOnPage, reasonCode,
      proposal: { id: record.id, digest: record.digest, state: record.state },
      actionId: record.action,
      correlationId: record.correlationId,
    }),
    altered: record => telemetry.integrity({ attemptId: record.id, what: 'altered_proposal' }),
    hasRoom: () => telemetry.hasRoom(),
  }
}
