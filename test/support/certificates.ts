// The certificates of test/support/tls, read for a TLS server.
import { readFileSync } from 'node:fs'

const read = (name: string): string => readFileSync(new URL(`./tls/${name}`, import.meta.url), 'utf8')

/** PEM of the authority that a client must trust. */
export const AUTHORITY = read('authority.pem')

export function serverCertificate (name: 'valid' | 'expired' | 'elsewhere' | 'self-signed'): { readonly cert: string, readonly key: string } {
  return { cert: read(`${name}.pem`), key: read(`${name}.key.pem`) }
}
