// Names of attempts: HMACs under AVAL_KEY over canonical JSON arrays, never joined text.
import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Json, JsonObject } from '../catalog/catalog.ts'
import type { Secret } from '../secret.ts'
import { Hmac } from './hmac.ts'

/** Whose run it is. */
export interface RunOwner {
  readonly iss: string
  readonly sub: string
  readonly tenant: string
  readonly run: string
}

export const HASH_TAGS = 64

export class Identity {
  readonly #key: Hmac

  constructor (key: Secret) {
    this.#key = new Hmac(key.reveal())
  }

  /** Tells two keys apart without telling the key. */
  keyId (): string {
    return this.#hmac(['key-id']).slice(0, 16)
  }

  /** Everything of a tenant shares one hash tag, so that a call's changes are one atomic step in Redis Cluster too. */
  tag (tenant: string): string {
    return (Number.parseInt(this.#hmac(['tag', tenant]).slice(0, 2), 16) % HASH_TAGS).toString(16).padStart(2, '0')
  }

  runKey (owner: { readonly iss: string, readonly sub: string, readonly tenant: string, readonly run: string | null }): string {
    return this.#hex(['run', owner.iss, owner.sub, owner.tenant, owner.run])
  }

  fingerprint (action: string, args: JsonObject): string {
    return this.#hex(['fingerprint', action, args])
  }

  /** With a runtime key the action is inside the fingerprint alone, so that one key never means two actions. */
  recordKey (owner: RunOwner, idempotencyKey: string | null, action: string, fingerprint: string): string {
    const who = [owner.iss, owner.sub, owner.tenant, owner.run]
    return this.#hex(idempotencyKey === null ? ['record', ...who, 'action', action, fingerprint] : ['record', ...who, 'key', idempotencyKey])
  }

  /** Of the attempts of what a person approved: one yes, one key. */
  proposalKey (owner: RunOwner, proposalId: string): string {
    return this.#hex(['record', owner.iss, owner.sub, owner.tenant, owner.run, 'proposal', proposalId])
  }

  /** Equal requests for a grant share it. */
  grantKey (owner: RunOwner, ...asked: readonly Json[]): string {
    return this.#hex(['grant', owner.iss, owner.sub, owner.tenant, owner.run, ...asked])
  }

  /** An agent whatever its run. */
  agentKey (owner: Pick<RunOwner, 'iss' | 'sub' | 'tenant'>): string {
    return this.#hex(['agent', owner.iss, owner.sub, owner.tenant])
  }

  /** `att_` + hash tag + 128 bits. */
  attemptId (tag: string, recordKey: string, n: number): string {
    return `att_${tag}${this.#hex(['attempt', recordKey, n])}`
  }

  /** A UUID (RFC 9562 version 8: custom), the same for every send that may reach the upstream under this generation. */
  upstreamKey (recordKey: string, g: number): string {
    const bytes = Buffer.from(this.#hmac(['key', recordKey, g]).slice(0, 32), 'hex')
    bytes[6] = (bytes[6]! & 0x0f) | 0x80
    bytes[8] = (bytes[8]! & 0x3f) | 0x80
    const hex = bytes.toString('hex')
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
  }

  /** A name for a claim, `["target", …]`. */
  claim (...parts: readonly Json[]): string {
    return this.#hex(parts)
  }

  /** For the audit: confirms a suspected value to whoever holds the key, and tells nothing to anyone else. */
  mark (...parts: readonly Json[]): string {
    return `h1:${this.#hex(['mark', ...parts])}`
  }

  #hmac (parts: readonly Json[]): string {
    return this.#key.hex(canonicalize(parts)!)
  }

  #hex (parts: readonly Json[]): string {
    return this.#hmac(parts).slice(0, 32)
  }
}

/** The hash tag inside an attempt id, or null where the text is no attempt id. */
export function tagOfAttempt (id: string): string | null {
  return /^att_[0-3][0-9a-f][0-9a-f]{32}$/.test(id) ? id.slice(4, 6) : null
}

export const sha256Hex = (bytes: Buffer | string): string => hash('sha256', bytes, 'hex')
