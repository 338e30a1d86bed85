// The certificates of test/support/tls, read for a TLS server.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Name = 'valid' | 'expired' | 'elsewhere' | 'self-signed'

const path = (name: string): string => join(import.meta.dirname, 'tls', name)
const read = (name: string): string => readFileSync(path(name), 'utf8')

/** PEM of the authority that a client must trust. */
export const AUTHORITY = read('authority.pem')

export function serverCertificate (name: Name): { readonly cert: string, readonly key: string } {
  return { cert: read(`${name}.pem`), key: read(`${name}.key.pem`) }
}

/** For a server that reads them itself. */
export function certificateFiles (name: Name): { readonly cert: string, readonly key: string, readonly authority: string } {
  return { cert: path(`${name}.pem`), key: path(`${name}.key.pem`), authority: path('authority.pem') }
}
