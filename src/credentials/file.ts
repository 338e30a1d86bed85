// `file:PATH`: read at first use, and again when the file has become another one. Looking costs one stat a second; mounted secrets are replaced by
// swapping a symbolic link, which a stat of the path follows and a watch of the file would miss.
import { constants } from 'node:fs'
import { open, stat, type FileHandle } from 'node:fs/promises'
import type { BigIntStats } from 'node:fs'
import type { Secret } from '../secret.ts'
import { OVERLAP_MS, SECRET_BYTES_MAX, secretOf, SecretUnavailable, type SecretSource } from './secret-source.ts'

export const POLL_MS = 1_000

/**
 * Nobody but the owner may read it, except a group that may only read: that is how a secret mounted for a non-root process looks (fsGroup, mode
 * 0440). Group write, and anything for others, is refused: what more can read or replace it is not a secret.
 */
const REFUSED_MODE_BITS = 0o037n

interface Version {
  readonly secret: Secret
  /** What a stat says of the file that it was read from. */
  readonly mark: string
  readonly replacedAtMs: number | null
}

/** @param nowMs monotonic */
export function openFile (path: string, nowMs: () => number): SecretSource {
  return new FileSource(path, nowMs)
}

class FileSource implements SecretSource {
  readonly #path: string
  readonly #nowMs: () => number
  #version: Version | null = null
  #retired: Array<{ readonly secret: Secret, readonly untilMs: number }> = []
  /** What was found when last looked: null if all was well. */
  #fault: SecretUnavailable | null = null
  #lookedAtMs = -Infinity
  #looking: Promise<void> | null = null

  constructor (path: string, nowMs: () => number) {
    this.#path = path
    this.#nowMs = nowMs
  }

  async current (): Promise<Secret> {
    if (this.#nowMs() - this.#lookedAtMs >= POLL_MS) {
      // One look at a time, shared by all who ask meanwhile.
      this.#looking ??= this.#look().finally(() => { this.#looking = null })
      await this.#looking
    }
    if (this.#fault !== null) throw this.#fault
    return this.#version!.secret
  }

  latest (): { readonly secret: Secret, readonly replacedAtMs: number | null } | null {
    return this.#version
  }

  live (): readonly Secret[] {
    if (this.#version === null) return []
    return this.#retired.length === 0 ? [this.#version.secret] : [this.#version.secret, ...this.#retired.map(retired => retired.secret)]
  }

  doubt (): void {
    this.#lookedAtMs = -Infinity
  }

  async #look (): Promise<void> {
    const startedAtMs = this.#nowMs()
    this.#forgetRetired(startedAtMs)
    try {
      const found = await stat(this.#path, { bigint: true })
      if (this.#version === null || this.#fault !== null || markOf(found) !== this.#version.mark) await this.#read()
      this.#fault = null
    } catch (error) {
      // A file that has gone is a secret withdrawn: what was read before is not used any more, but is still looked for in answers.
      this.#fault = error instanceof SecretUnavailable ? error : new SecretUnavailable(`file:${this.#path} cannot be read: ${codeOf(error)}`)
    }
    this.#lookedAtMs = startedAtMs
  }

  async #read (): Promise<void> {
    const { bytes, mark } = await readWhole(this.#path)
    const secret = secretOf(`file:${this.#path}`, bytes)
    bytes.fill(0)
    const before = this.#version
    if (before !== null && before.secret.reveal().equals(secret.reveal())) {
      secret.destroy()
      this.#version = { ...before, mark }
      return
    }
    if (before !== null) this.#retired.push({ secret: before.secret, untilMs: this.#nowMs() + OVERLAP_MS })
    this.#version = { secret, mark, replacedAtMs: before === null ? null : this.#nowMs() }
  }

  #forgetRetired (nowMs: number): void {
    if (this.#retired.length === 0) return
    const kept = this.#retired.filter(retired => retired.untilMs > nowMs)
    for (const retired of this.#retired) {
      if (!kept.includes(retired)) retired.secret.destroy()
    }
    this.#retired = kept
  }
}

/** The bytes of one state of the file: a file that is written to while it is read would give half of each. */
async function readWhole (path: string): Promise<{ readonly bytes: Buffer, readonly mark: string }> {
  // Non-blocking, or opening a named pipe would wait for its writer.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    for (let tries = 0; tries < 3; tries += 1) {
      const before = await handle.stat({ bigint: true })
      refuseFile(path, before)
      const bytes = await readFrom(handle)
      if (markOf(await handle.stat({ bigint: true })) === markOf(before)) return { bytes, mark: markOf(before) }
    }
    throw new SecretUnavailable(`file:${path} changes while it is read`)
  } finally {
    await handle.close()
  }
}

function refuseFile (path: string, found: BigIntStats): void {
  if (!found.isFile()) throw new SecretUnavailable(`file:${path} is not a file`)
  if (found.size > BigInt(SECRET_BYTES_MAX)) throw new SecretUnavailable(`file:${path} holds more than ${SECRET_BYTES_MAX} bytes`)
  if ((found.mode & REFUSED_MODE_BITS) !== 0n) {
    const mode = (found.mode & 0o777n).toString(8)
    throw new SecretUnavailable(`file:${path} has mode 0${mode}: allowed are 0600, 0400, and 0640, 0440 for a group that may only read`)
  }
}

async function readFrom (handle: FileHandle): Promise<Buffer> {
  const bytes = Buffer.alloc(SECRET_BYTES_MAX + 2)
  let length = 0
  for (;;) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length)
    length += bytesRead
    if (bytesRead === 0 || length === bytes.length) return bytes.subarray(0, length)
  }
}

function markOf (found: BigIntStats): string {
  return `${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`
}

function codeOf (error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'it failed'
}
