// The people listener from its parts: what the rest of the broker hands over, and how what happens here is told.
import type { FastifyInstance } from 'fastify'
import type { PeopleConfig } from '../../config.ts'
import type { Desk } from '../../consent/desk.ts'
import type { Principals } from '../../consent/principals.ts'
import type { Identity } from '../../attempts/identity.ts'
import type { Secret } from '../../secret.ts'
import type { Actor, Telemetry } from '../../telemetry/telemetry.ts'
import type { IssuerFetch } from '../../upstream/issuer-fetch.ts'
import type { ListenerOptions } from '../server.ts'
import type { PeopleEvents } from './context.ts'
import { createIdentityProvider } from './identity-provider.ts'
import type { KnownRoles } from './known-roles.ts'
import { createOperatorDesk, type OperatorServices } from './operator-desk.ts'
import { buildPeople } from './people.ts'

export interface PeopleParts extends OperatorServices {
  readonly listener: ListenerOptions
  readonly people: PeopleConfig
  readonly desk: Desk
  readonly principals: Principals
  readonly knownRoles: KnownRoles
  readonly fetch: IssuerFetch
  secretAt (reference: string): Promise<Secret>
  markSource (address: string): string | null
}

/** Not listening yet. */
export function openPeople (parts: PeopleParts): FastifyInstance {
  const { people, identity, principals, knownRoles, store } = parts
  const { issuer, client, origin, roles } = people
  const reference = people.secret
  const secret = reference === null ? null : () => parts.secretAt(reference)
  const nowMs = (): number => Date.now()
  return buildPeople({
    ...parts.listener,
    desk: parts.desk,
    operator: createOperatorDesk(parts),
    provider: createIdentityProvider({ issuer, client, secret, origin, roleClaim: roles?.claim ?? null }, { fetch: parts.fetch, nowMs }),
    store,
    people: eventsOf(parts.telemetry, identity),
    origin,
    trust: JSON.stringify([issuer, client, identity.keyId()]),
    knownRoles,
    principalOf: (iss, sub) => principals.of(iss, sub),
    markSource: parts.markSource,
    nowMs,
  })
}

const NOBODY: Actor = Object.freeze({ kind: 'person', iss: null, subMark: null, runMark: null, tenant: null })

function eventsOf (telemetry: Telemetry, identity: Identity): PeopleEvents {
  const somebody = (iss: string, sub: string | null): Actor => ({ ...NOBODY, iss, subMark: sub === null ? null : identity.mark('sub', iss, sub) })
  const door = { plane: 'people', source: null, reason: null } as const
  return {
    signedIn ({ correlationId, iss, sub, roles }) {
      // Whoever decides what agents do and operates the broker as well is two people's work in one: allowed, and said.
      const both = roles.includes('operator') && roles.length > 1
      telemetry.door({ ...door, what: 'signed_in', actor: somebody(iss, sub), correlationId, reason: both ? 'operator and approver' : null })
    },
    signedOut: ({ correlationId, iss, sub }) => telemetry.door({ ...door, what: 'signed_out', actor: somebody(iss, sub), correlationId }),
    signInRefused: ({ correlationId, reason, source }) => telemetry.door({ ...door, what: 'sign_in_refused', actor: NOBODY, correlationId, reason, source }),
    planeViolation: ({ correlationId, source }) =>
      telemetry.door({ ...door, what: 'plane_violation', actor: { ...NOBODY, kind: 'agent' }, correlationId, source }),
    providerFault: ({ correlationId, reason }) => telemetry.refused({ correlationId, code: 'STATE_UNAVAILABLE', internal: reason }),
  }
}
