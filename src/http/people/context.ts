// What the routes of people are handed.
import type { Desk, OperatorDesk } from '../../consent/desk.ts'
import type { IdentityProvider } from './identity-provider.ts'
import type { Sessions } from './sessions.ts'

/** What happens on this listener beside what the desks do, for audit and log. */
export interface PeopleEvents {
  signedIn (event: PersonEvent & { readonly roles: readonly string[] }): void
  /** `sub` null: a session that was named by the provider alone. */
  signedOut (event: Omit<PersonEvent, 'sub'> & { readonly sub: string | null }): void
  signInRefused (event: FromSomewhere & { readonly reason: string }): void
  /** An access token came here. */
  planeViolation (event: FromSomewhere): void
  providerFault (event: { readonly correlationId: string, readonly reason: string }): void
}

/** From whoever it was. */
export interface FromSomewhere {
  readonly correlationId: string
  /** HMAC of the address. */
  readonly source: string | null
}

export interface PersonEvent {
  readonly correlationId: string
  readonly iss: string
  readonly sub: string
}

export interface PeopleContext {
  readonly desk: Desk
  readonly operator: OperatorDesk
  readonly sessions: Sessions
  readonly provider: IdentityProvider
  readonly events: PeopleEvents
  /** Values of the configured claim → roles; none where the map has none. */
  rolesOf (values: readonly string[]): readonly string[]
  markSource (address: string): string | null
  /** Wall clock. */
  nowMs (): number
}
