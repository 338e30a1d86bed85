// A credential on a listener that is not for it. The access token of an agent is told by what it says of itself: whether it is good does not matter to a
// listener that takes none, and the token by which another machine is let through to the metrics is none of ours.
import type { FastifyRequest } from 'fastify'
import type { DoorEvent, Telemetry } from '../telemetry/telemetry.ts'

/** For the audit. */
export interface Stray {
  readonly correlationId: string
  /** HMAC of the address. */
  readonly source: string | null
}

export const tellStray = (telemetry: Pick<Telemetry, 'door'>, plane: DoorEvent['plane'], kind: 'person' | 'agent') => (event: Stray): void => {
  telemetry.door({ ...event, what: 'plane_violation', plane, actor: { kind, iss: null, subMark: null, runMark: null, tenant: null }, reason: null })
}

/** Paths of the other listeners. */
const ELSEWHERE = /^\/(?:approvals|operator|audit|metrics|sign-in)(?:[/?]|$)/

export const leadsElsewhere = ({ raw }: FastifyRequest): boolean => ELSEWHERE.test(raw.url ?? '')

export function carriesAccessToken ({ headers: { authorization } }: FastifyRequest): boolean {
  const head = /^Bearer +([\w-]+)\.[\w-]+\.[\w-]*$/i.exec(authorization ?? '')?.[1]
  if (head === undefined) return false
  try {
    const { typ } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { readonly typ?: unknown }
    return typeof typ === 'string' && /^(?:application\/)?at\+jwt$/i.test(typ)
  } catch {
    return false
  }
}
