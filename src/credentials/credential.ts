// The credential port: what execution asks for, and never sees the inside of.
import type { Upstream } from '../catalog/catalog.ts'
import type { WireRequest } from '../upstream/wire.ts'

export type CredentialUse = 'read' | 'write'

/** Ready to be put on one request; holds secrets only as `Secret`. */
export interface Credential {
  /**
   * The same request with the credential on it. The returned value must go to the client and nowhere else.
   * @throws Refusal CREDENTIAL_UNAVAILABLE where the vault has been closed since it was given
   */
  apply (request: WireRequest): WireRequest
}

export interface Credentials {
  /**
   * By upstream, tenant and use; never by anything that an agent said.
   * @throws Refusal CREDENTIAL_UNAVAILABLE where the secret cannot be had, is too short, or rests after a 401
   */
  obtain (upstream: Upstream, tenant: string, use: CredentialUse): Promise<Credential>
  /** The upstream answered 401: the credential rests for 30 s. */
  refused (upstream: Upstream, tenant: string, use: CredentialUse): void
  /** Whether one of these holds a live secret of this upstream and tenant in any of the encodings that scan.ts knows. */
  leaks (upstream: Upstream, tenant: string, ...texts: ReadonlyArray<Buffer | string>): boolean
}
