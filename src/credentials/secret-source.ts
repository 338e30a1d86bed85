// Where the bytes of a secret come from: one file a kind (kinds.ts lists them), all behind this.
import { Secret, SECRET_BYTES_MIN } from '../secret.ts'

/** How long the secret before the current one is still looked for in answers. */
export const OVERLAP_MS = 5 * 60_000

/** Far above any real key; more is the wrong file. */
export const SECRET_BYTES_MAX = 64 * 1024

/** The secret cannot be had. The message names where it was looked for and never what was found. For operators only. */
export class SecretUnavailable extends Error {
  override readonly name = 'SecretUnavailable'
}

export interface SecretSource {
  /** The secret as it is now; the same object as long as it has not changed. @throws SecretUnavailable */
  current (): Promise<Secret>
  /** The one that `current` gave last, null before; the monotonic instant at which it replaced another one, null for the first. */
  latest (): { readonly secret: Secret, readonly replacedAtMs: number | null } | null
  /** What an answer must not hold: the latest one, and those that it replaced within OVERLAP_MS. */
  live (): readonly Secret[]
  /** What was sent before may be one that is not known here any more, so that it cannot be looked for. */
  isBlind? (): boolean
  /** The latest one was refused: look anew when next asked. */
  doubt (): void
}

/**
 * The secret that these bytes are: line ends at the end are an editor's, not the secret's.
 * @throws SecretUnavailable
 */
export function secretOf (reference: string, bytes: Buffer): Secret {
  let end = bytes.length
  while (end > 0 && (bytes[end - 1] === 0x0a || bytes[end - 1] === 0x0d)) end -= 1
  if (end < SECRET_BYTES_MIN) throw new SecretUnavailable(`${reference} holds fewer than ${SECRET_BYTES_MIN} bytes`)
  if (end > SECRET_BYTES_MAX) throw new SecretUnavailable(`${reference} holds more than ${SECRET_BYTES_MAX} bytes`)
  return new Secret(reference, bytes.subarray(0, end))
}
