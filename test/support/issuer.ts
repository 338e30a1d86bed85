// An issuer of access tokens: real keys, a real JWKS endpoint on loopback, and a ledger of what was asked of it.
import { randomUUID } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK, type JWTHeaderParameters } from 'jose'

export const ISSUER = 'https://issuer.example'
export const AUDIENCE = 'https://aval.example'

export interface IssuerKey {
  readonly kid: string
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly jwk: JWK
}

export async function issuerKey (kid: string, alg = 'RS256'): Promise<IssuerKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, jwk: { ...await exportJWK(publicKey), kid, alg, use: 'sig' } }
}

export type Claims = { readonly [name: string]: unknown }

/** What a good token says, at `nowS` seconds since the epoch. */
export function goodClaims (nowS = Math.floor(Date.now() / 1000)): Record<string, unknown> {
  return {
    iss: ISSUER, aud: AUDIENCE, sub: 'agent-7', jti: randomUUID(), iat: nowS, exp: nowS + 600, roles: ['support_agent'], tenant: 'acme',
    run_id: 'run-1',
  }
}

/** `undefined` takes a claim or a header parameter away. */
export async function signToken (key: IssuerKey, claims: Claims = {}, header: Partial<JWTHeaderParameters> & Claims = {}): Promise<string> {
  const protectedHeader = withoutUndefined({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header }) as JWTHeaderParameters
  const payload = withoutUndefined({ ...goodClaims(), ...claims })
  const crit = Object.fromEntries((protectedHeader.crit ?? []).map(name => [name, true]))
  return new SignJWT(payload).setProtectedHeader(protectedHeader).sign(key.privateKey, { crit })
}

const withoutUndefined = (value: Claims): Record<string, unknown> => Object.fromEntries(
  Object.entries(value).filter(([, item]) => item !== undefined),
)

export interface JwksServer {
  readonly url: string
  /** Paths that were asked for, in order. */
  readonly ledger: string[]
  keys: readonly unknown[]
  /** What it does instead of answering the key set. */
  fault: 'none' | 'error' | 'hang_up' | 'redirect' | 'silent' | 'drip' | 'huge' | 'garbage'
}

/** A byte now and then: never silent, never done. */
function drip (response: ServerResponse, text: string): void {
  let at = 0
  const timer = setInterval(() => { response.write(text[at++ % text.length]) }, 20)
  response.on('close', () => clearInterval(timer))
}

export async function startJwksServer (t: TestContext, keys: readonly unknown[]): Promise<JwksServer> {
  const state = { ledger: [] as string[], keys, fault: 'none' as JwksServer['fault'], url: '' }
  const server = createServer((request, response) => {
    state.ledger.push(request.url ?? '')
    switch (state.fault) {
      case 'none': response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: state.keys })); break
      case 'error': response.writeHead(500).end('{}'); break
      case 'hang_up': request.socket.destroy(); break
      case 'redirect': response.writeHead(302, { location: '/elsewhere' }).end(); break
      case 'silent': break
      case 'drip': drip(response, JSON.stringify({ keys: state.keys })); break
      case 'huge': response.end(JSON.stringify({ keys: state.keys, padding: 'x'.repeat(300 * 1024) })); break
      case 'garbage': response.end('<html>'); break
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`
  return state
}
