// Signatures of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`, by every secret that is valid now, so that a receiver which knows the old one
// or the new one can verify it.
import { createHmac } from 'node:crypto'
import { SecretUnavailable, type SecretSource } from './secret-source.ts'
import type { Secret } from '../secret.ts'

export interface Signer {
  /** The value of `webhook-signature`. @throws SecretUnavailable */
  sign (id: string, timestampS: number, body: string): Promise<string>
  /** What is wrong with the secrets now, for operators; null: nothing. */
  fault (): Promise<string | null>
}

const PREFIX = 'whsec_'

/** @param sources the new one first */
export function createSigner (sources: readonly SecretSource[]): Signer {
  return {
    async sign (id, timestampS, body) {
      const signed = `${id}.${timestampS}.${body}`
      const secrets = (await Promise.all(sources.map(allOf))).flat()
      return secrets.map(secret => `v1,${createHmac('sha256', keyOf(secret)).update(signed).digest('base64')}`).join(' ')
    },
    async fault () {
      try {
        for (const source of sources) keyOf(await source.current())
        return null
      } catch (error) {
        if (error instanceof SecretUnavailable) return error.message
        throw error
      }
    },
  }
}

/** The current one, and those that it replaced a moment ago. */
async function allOf (source: SecretSource): Promise<readonly Secret[]> {
  await source.current()
  return source.live()
}

/** @throws SecretUnavailable where it is not of the form that receivers expect */
function keyOf (secret: Secret): Buffer {
  const text = secret.reveal().toString('latin1')
  const encoded = text.startsWith(PREFIX) ? text.slice(PREFIX.length) : ''
  const key = Buffer.from(encoded, 'base64')
  const exact = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) && key.toString('base64').replace(/=+$/, '') === encoded.replace(/=+$/, '')
  if (!exact || key.length < 24 || key.length > 64) throw new SecretUnavailable(`${secret.reference} is not ${PREFIX} and base64 of 24 to 64 bytes`)
  return key
}
