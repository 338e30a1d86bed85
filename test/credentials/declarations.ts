// Upstreams with credentials, as the catalog would have them.
import type { CredentialDeclaration, Upstream } from '../../src/catalog/catalog.ts'

export const bearer = (secret: string): CredentialDeclaration => ({ scheme: { kind: 'http', scheme: 'bearer' }, secret, username: null, prefix: '' })
export const basic = (secret: string, username: string | null): CredentialDeclaration =>
  ({ scheme: { kind: 'http', scheme: 'basic' }, secret, username, prefix: '' })
export const apiKey = (place: 'header' | 'query' | 'cookie', name: string, secret: string, prefix = ''): CredentialDeclaration =>
  ({ scheme: { kind: 'apiKey', in: place, name }, secret, username: null, prefix })

export function shopWith (read: CredentialDeclaration | null, write: CredentialDeclaration | null = read, name = 'shop'): Upstream {
  return {
    name,
    origin: 'https://api.upstream.test',
    basePath: '',
    networks: ['public'],
    headers: {},
    credentials: { read, write },
    timeouts: { connectMs: 1_000, totalMs: 5_000 },
    limits: { concurrency: 8, perSecond: null, tenantShare: 1 },
  }
}
