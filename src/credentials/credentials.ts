// The credentials of the broker: chosen by upstream, tenant and use, put on a request by `apply`, looked for in answers, given a rest when refused.
import type { CredentialDeclaration, Upstream } from '../catalog/catalog.ts'
import { Refusal } from '../errors.ts'
import type { Secret } from '../secret.ts'
import type { WireRequest } from '../upstream/wire.ts'
import type { Credential, Credentials, CredentialUse } from './credential.ts'
import { faultOfReference, isByTenant, openSource, resolveReference, type SourceContext } from './kinds.ts'
import { basicPair, faultOfScheme, isPaired, place } from './placement.ts'
import { holdsAny, needlesOf } from './scan.ts'
import { SecretUnavailable, type SecretSource } from './secret-source.ts'
import { createSigner, type Signer } from './signature.ts'
import type { Vault } from './vault.ts'
import { VaultFault } from './vault-file.ts'

export interface CredentialsOptions {
  /** The environment as it was when the process started. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Monotonic; `performance.now` unless a test says otherwise. */
  readonly nowMs?: () => number
  readonly vault?: Vault | null
}

export interface CheckedCredentials extends Credentials {
  /**
   * What is wrong with what these upstreams declare, in words for operators, one a fault: for start-up and reload. Secrets of a tenant are known
   * only when that tenant calls.
   */
  check (upstreams: Iterable<Upstream>): Promise<readonly string[]>
  /** From now on no secret is given to anyone, and those of the vault are dropped; `open` ends that. */
  close (): void
  /** @throws VaultFault where the vault has a key of its own and it does not open it; all other secrets are given all the same */
  open (): Promise<void>
  /** As `open`, and all that these upstreams name of the vault is in it. @throws VaultFault */
  openAtStart (upstreams: Iterable<Upstream>): Promise<void>
  /** The text, or a sentence in its place where it holds any secret that is alive in this process: the last filter of the log. */
  scrub (text: string): string
  /** Signs notices by the secrets at these references, the new one first. @throws SecretUnavailable where one is no reference */
  signer (references: readonly string[]): Signer
  /** A secret of the broker's own configuration, as it is now. @throws SecretUnavailable */
  secretAt (reference: string): Promise<Secret>
}

const SCRUBBED = '{"level":"error","msg":"a line that held a secret was left out"}'

/** After a 401: whoever calls meanwhile is refused, so that a wrong key does not become a storm that locks the account. */
export const REST_MS = 30_000

/** Sources are small; a flood of tenants must not keep them all. */
const SOURCES_MAX = 10_000

const EMPTY: WireRequest = Object.freeze({ method: 'GET', path: '/', headers: Object.freeze({}), body: null })
const NOTHING: Credential = Object.freeze({ apply: (request: WireRequest) => request })

export function createCredentials (options: CredentialsOptions): CheckedCredentials {
  return new SourcedCredentials({ env: options.env, nowMs: options.nowMs ?? (() => performance.now()), vault: options.vault ?? null })
}

class SourcedCredentials implements CheckedCredentials {
  readonly #context: SourceContext
  /** By reference, the tenant's name in it. */
  readonly #sources = new Map<string, SecretSource>()
  /** Until when a secret rests at an upstream. A new secret is another object and does not rest. */
  readonly #rests = new WeakMap<Secret, Map<string, number>>()
  /** The secret that was last tried for a declaration. */
  readonly #placed = new WeakMap<CredentialDeclaration, Secret>()
  /** By how it is sent: the same secret may go to one upstream alone and to another in a pair. */
  #needles = new WeakMap<Secret, Map<string, readonly string[]>>()

  #closed = false

  constructor (context: SourceContext) {
    this.#context = context
  }

  close (): void {
    this.#closed = true
    this.#context.vault?.close()
    // They hold the letters of secrets that are no more; for those that are there still they are made anew.
    this.#needles = new WeakMap()
  }

  async open (): Promise<void> {
    this.#closed = false
    if (this.#context.vault?.isOpen() === false) await this.#context.vault.open(null)
  }

  async openAtStart (upstreams: Iterable<Upstream>): Promise<void> {
    await this.open()
    if (this.#context.vault?.isOpen() === false) return
    const missing = (await this.check(upstreams)).filter(fault => fault.includes(': vault:'))
    if (missing.length > 0) throw new VaultFault(missing.join('\n'))
  }

  async obtain (upstream: Upstream, tenant: string, use: CredentialUse): Promise<Credential> {
    const declaration = upstream.credentials[use]
    if (declaration === null) return NOTHING
    if (this.#closed) throw Refusal.of('VAULT_LOCKED', {}, 'credential')
    try {
      const secret = await this.#source(declaration, tenant).current()
      const other = otherOf(upstream, use)
      if (other !== null) await this.#know(other, tenant)
      this.#refuseResting(upstream, secret)
      this.#tryPlace(declaration, secret)
      return new PlacedCredential(declaration, secret)
    } catch (error) {
      throw asRefusal(error)
    }
  }

  refused (upstream: Upstream, tenant: string, use: CredentialUse): void {
    const declaration = upstream.credentials[use]
    const source = declaration === null ? undefined : this.#known(declaration, tenant)
    const latest = source?.latest() ?? null
    if (source === undefined || latest === null) return
    source.doubt()
    const nowMs = this.#context.nowMs()
    // Right after a change the refusal may be about the one before, still under way.
    if (latest.replacedAtMs !== null && nowMs - latest.replacedAtMs < upstream.timeouts.totalMs) return
    let rests = this.#rests.get(latest.secret)
    if (rests === undefined) {
      rests = new Map()
      this.#rests.set(latest.secret, rests)
    }
    rests.set(upstream.name, nowMs + REST_MS)
  }

  leaks (upstream: Upstream, tenant: string, ...texts: ReadonlyArray<Buffer | string>): boolean {
    const { read, write } = upstream.credentials
    if ([read, write].some(one => one !== null && this.#known(one, tenant)?.isBlind?.() === true)) return true
    const needles: string[] = []
    if (read !== null) this.#collect(read, tenant, needles)
    if (write !== null && !sameWay(read, write)) this.#collect(write, tenant, needles)
    return holdsAny(texts, needles)
  }

  scrub (text: string): string {
    for (const source of this.#sources.values()) {
      for (const secret of source.live()) {
        if (holdsAny([text], this.#anyNeedlesOf(secret))) return SCRUBBED
      }
    }
    return text
  }

  signer (references: readonly string[]): Signer {
    return createSigner(references.map(reference => this.#sourceAt(reference)))
  }

  async secretAt (reference: string): Promise<Secret> {
    return this.#sourceAt(reference).current()
  }

  async check (upstreams: Iterable<Upstream>): Promise<readonly string[]> {
    const faults: string[] = []
    for (const upstream of upstreams) {
      for (const use of ['read', 'write'] as const) {
        const declaration = upstream.credentials[use]
        if (declaration === null) continue
        const fault = await this.#faultOf(declaration)
        if (fault !== null && !faults.includes(`${upstream.name}: ${fault}`)) faults.push(`${upstream.name}: ${fault}`)
      }
    }
    return faults
  }

  async #faultOf (declaration: CredentialDeclaration): Promise<string | null> {
    const fault = faultOfReference(declaration.secret) ?? faultOfScheme(declaration)
    if (fault !== null || isByTenant(declaration.secret) || this.#isShut(declaration.secret)) return fault
    try {
      place(EMPTY, declaration, await this.#source(declaration, '').current())
      return null
    } catch (error) {
      if (error instanceof SecretUnavailable) return error.message
      throw error
    }
  }

  /** Nothing can be said of it before the vault is open. */
  #isShut (reference: string): boolean {
    return reference.startsWith('vault:') && this.#context.vault?.isOpen() === false
  }

  async #know (declaration: CredentialDeclaration, tenant: string): Promise<void> {
    try {
      await this.#source(declaration, tenant).current()
    } catch (error) {
      // This call does not need it.
      if (!(error instanceof SecretUnavailable)) throw error
    }
  }

  /** A secret that cannot stand where it must is found out here, before anything is reserved or marked as sent; `apply` then cannot fail. */
  #tryPlace (declaration: CredentialDeclaration, secret: Secret): void {
    const placed = this.#placed.get(declaration)
    if (placed === secret) return
    place(EMPTY, declaration, secret)
    this.#placed.set(declaration, secret)
  }

  #refuseResting (upstream: Upstream, secret: Secret): void {
    const leftMs = (this.#rests.get(secret)?.get(upstream.name) ?? 0) - this.#context.nowMs()
    if (leftMs <= 0) return
    const internal = `${secret.reference} was refused by ${upstream.name} a moment ago`
    throw Refusal.of('CREDENTIAL_UNAVAILABLE', { retryAfterSeconds: Math.ceil(leftMs / 1_000), internal })
  }

  #collect (declaration: CredentialDeclaration, tenant: string, needles: string[]): void {
    for (const secret of this.#known(declaration, tenant)?.live() ?? []) needles.push(...this.#needlesOf(declaration, secret))
  }

  #needlesOf (declaration: CredentialDeclaration, secret: Secret): readonly string[] {
    const way = wayOf(declaration)
    let byWay = this.#needles.get(secret)
    if (byWay === undefined) {
      byWay = new Map()
      this.#needles.set(secret, byWay)
    }
    let needles = byWay.get(way)
    if (needles === undefined) {
      needles = needlesOf(secret.reveal(), way === ALONE ? null : basicPair(declaration, secret))
      byWay.set(way, needles)
    }
    return needles
  }

  /** In whatever way it is sent. */
  #anyNeedlesOf (secret: Secret): readonly string[] {
    let byWay = this.#needles.get(secret)
    if (byWay === undefined) {
      byWay = new Map([[ALONE, needlesOf(secret.reveal(), null)]])
      this.#needles.set(secret, byWay)
    }
    return byWay.size === 1 ? byWay.values().next().value! : [...byWay.values()].flat()
  }

  /** undefined: nothing of it was ever read here, so nothing of it was ever sent. */
  #known (declaration: CredentialDeclaration, tenant: string): SecretSource | undefined {
    try {
      return this.#sources.get(resolveReference(declaration.secret, tenant))
    } catch {
      return undefined
    }
  }

  #source (declaration: CredentialDeclaration, tenant: string): SecretSource {
    return this.#sourceAt(resolveReference(declaration.secret, tenant))
  }

  #sourceAt (reference: string): SecretSource {
    let source = this.#sources.get(reference)
    if (source === undefined) {
      source = openSource(reference, this.#context)
      if (this.#sources.size >= SOURCES_MAX) this.#sources.delete(this.#sources.keys().next().value!)
      this.#sources.set(reference, source)
    }
    return source
  }
}

class PlacedCredential implements Credential {
  readonly #declaration: CredentialDeclaration
  readonly #secret: Secret

  constructor (declaration: CredentialDeclaration, secret: Secret) {
    this.#declaration = declaration
    this.#secret = secret
  }

  apply (request: WireRequest): WireRequest {
    if (this.#secret.isDestroyed) throw Refusal.of('CREDENTIAL_UNAVAILABLE', { internal: `${this.#secret.reference}: the vault was closed since it was given` })
    return place(request, this.#declaration, this.#secret)
  }
}

/** An upstream knows all its keys, and may show one in an answer to the other: both are looked for, so both are read. null: there is one alone. */
function otherOf (upstream: Upstream, use: CredentialUse): CredentialDeclaration | null {
  const other = upstream.credentials[use === 'read' ? 'write' : 'read']
  return other === null || other.secret === upstream.credentials[use]?.secret ? null : other
}

const ALONE = 'alone'

const wayOf = (declaration: CredentialDeclaration): string => isPaired(declaration) ? `with ${declaration.username}` : ALONE

function sameWay (one: CredentialDeclaration | null, other: CredentialDeclaration): boolean {
  return one !== null && one.secret === other.secret && wayOf(one) === wayOf(other)
}

function asRefusal (error: unknown): unknown {
  return error instanceof SecretUnavailable ? Refusal.of('CREDENTIAL_UNAVAILABLE', { internal: error.message }) : error
}
