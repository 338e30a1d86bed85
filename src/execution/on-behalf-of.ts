// For whom the agent acts, where its issuer says so: that person does not decide what was asked for them.
import { isObject, type Json } from '../catalog/catalog.ts'
import { Refusal } from '../errors.ts'
import type { Caller } from './call.ts'

export interface Requester {
  readonly iss: string
  readonly sub: string
}

/**
 * The claim `on_behalf_of`: a subject of the token's own issuer, or one of another, `{iss, sub}`.
 * @throws Refusal CONSENT_UNAVAILABLE where it cannot be read: whom the decision must be kept from is then not known
 */
export function onBehalfOf ({ iss, claims }: Pick<Caller, 'iss' | 'claims'>): Requester | null {
  const claim: Json | undefined = claims['on_behalf_of']
  if (claim === undefined || claim === null) return null
  if (isName(claim)) return { iss, sub: claim }
  if (isObject(claim) && isName(claim['iss']) && isName(claim['sub'])) return { iss: claim['iss'], sub: claim['sub'] }
  throw Refusal.of('CONSENT_UNAVAILABLE', { internal: 'the claim on_behalf_of is neither a subject nor {iss, sub}' }, 'consent')
}

const isName = (value: Json | undefined): value is string => typeof value === 'string' && value !== ''
