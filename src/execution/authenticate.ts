// Step 1: who calls. The token is verified before the body is read. A surface answers a refusal of this step with 401 and `WWW-Authenticate: Bearer`
// (RFC 6750 §3), the same body whatever was wrong.
import type { TokenVerifier } from './access-token.ts'
import type { Arrival, Caller } from './call.ts'

export type { TokenVerifier } from './access-token.ts'

/** @throws Refusal UNAUTHENTICATED or ROLE_CONFLICT */
export async function authenticate (arrival: Pick<Arrival, 'authorization'>, services: { readonly verifier: TokenVerifier }): Promise<Caller> {
  return services.verifier.remembered(arrival.authorization) ?? services.verifier.verify(arrival.authorization)
}
