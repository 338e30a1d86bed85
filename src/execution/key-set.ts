// The keys that sign access tokens, as they stand now: a JWK Set from a file or from the issuer. It is kept for a bounded time, asked for again at a
// bounded rate, and where it cannot be had nothing is believed.
import { readFileSync, statSync } from 'node:fs'
import { createLocalJWKSet, type CryptoKey, type JWK, type JWTHeaderParameters } from 'jose'

export type JwksSource =
  | { readonly kind: 'file', readonly path: string }
  | { readonly kind: 'url', readonly url: string }

export interface Clock {
  epochMs (): number
  monotonicMs (): number
}

export const SYSTEM_CLOCK: Clock = Object.freeze({ epochMs: () => Date.now(), monotonicMs: () => performance.now() })

/** Only signatures whose key is public at the issuer: no HMAC, no `none`. */
export const ALGORITHMS: readonly string[] = Object.freeze(['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519'])

/** Keys of the guided tour: everybody can read how they are made, so nothing but the tour believes them. */
export const DEMO_KID_PREFIX = 'aval-demo-'

/** A set that could not be refreshed for so long is not believed any more. */
const KEEP_MS = 10 * 60_000
/** From this age on it is refreshed behind the back of the calls that use it. */
const REFRESH_MS = 5 * 60_000
/** Between two fetches, whatever the tokens say; a rotated key is refused for at most so long. */
const AFTER_SUCCESS_MS = 10_000
const AFTER_FAILURE_MS = 5_000
/** Between two looks at the file. */
const FILE_CHECK_MS = 1_000
const FILE_BYTES_MAX = 256 * 1024
const KEYS_MAX = 100

/** Why a token is not believed, in our own words: for the log, never for an answer, and never with a part of the token. */
export class NotBelieved extends Error {
  override readonly name = 'NotBelieved'
}

export interface FoundKey {
  readonly key: CryptoKey
  readonly generation: number
}

export interface KeySet {
  /** Another number whenever the keys are not the same ones any more; what was verified under another number proves nothing. */
  generation (): number
  /** Whether the set may be used now. Sees to its renewal; costs nothing where none is due. */
  isUsable (): boolean
  /** The key, and the generation that it was found in. @throws NotBelieved where the set cannot be had or has no such key */
  find (header: JWTHeaderParameters): Promise<FoundKey>
  /** Loads the set before the first call needs it. @throws NotBelieved */
  warm (): Promise<void>
}

export interface KeySetOptions {
  readonly source: JwksSource
  /** Gives the parsed JSON; throws for whatever goes wrong. */
  readonly fetchJwks: (url: string) => Promise<unknown>
  readonly clock?: Clock
  /** For metrics: each load, and how it went. */
  readonly onLoad?: (event: { readonly ok: boolean, readonly keys: number, readonly reason: string | null }) => void
}

interface Loaded {
  readonly kids: ReadonlySet<string>
  /** What tells two sets apart. */
  readonly print: string
  readonly find: (header: JWTHeaderParameters) => Promise<CryptoKey>
}

export function createKeySet (options: KeySetOptions): KeySet {
  return options.source.kind === 'file' ? new FileKeySet(options, options.source.path) : new FetchedKeySet(options, options.source.url)
}

/** What both kinds share: the set in force and its number. */
abstract class HeldKeySet implements KeySet {
  protected readonly options: KeySetOptions
  protected readonly clock: Clock
  protected loaded: Loaded | null = null
  #generation = 0

  constructor (options: KeySetOptions) {
    this.options = options
    this.clock = options.clock ?? SYSTEM_CLOCK
  }

  generation (): number {
    return this.#generation
  }

  abstract isUsable (): boolean
  /** One more try to have the set, or the key that it lacks, where the pace allows one. */
  protected abstract ask (): Promise<void>

  async find (header: JWTHeaderParameters): Promise<FoundKey> {
    const { kid } = header
    if (typeof kid !== 'string') throw new NotBelieved('the token names no key')
    if (!this.isUsable() || this.loaded?.kids.has(kid) !== true) await this.ask()
    if (!this.isUsable() || this.loaded === null) throw new NotBelieved('the key set cannot be had')
    if (!this.loaded.kids.has(kid)) throw new NotBelieved('the key set has no key of this kid')
    const generation = this.#generation
    return { key: await this.loaded.find(header), generation }
  }

  async warm (): Promise<void> {
    if (!this.isUsable()) await this.ask()
    if (!this.isUsable()) throw new NotBelieved('the key set cannot be had')
  }

  protected take (document: unknown): void {
    const loaded = compile(document)
    if (loaded.print !== this.loaded?.print) this.#generation += 1
    this.loaded = loaded
    this.options.onLoad?.({ ok: true, keys: loaded.kids.size, reason: null })
  }

  protected drop (): void {
    if (this.loaded !== null) this.#generation += 1
    this.loaded = null
  }

  protected failed (error: unknown): void {
    // A message of JSON.parse quotes what it read.
    const { code, name, message } = error as NodeJS.ErrnoException
    const reason = name === 'SyntaxError' ? 'it is no JSON' : code ?? message ?? 'unknown'
    this.options.onLoad?.({ ok: false, keys: this.loaded?.kids.size ?? 0, reason })
  }
}

/** Read again when the file changes; a file that is gone or damaged means that nothing is believed until it is right again. */
class FileKeySet extends HeldKeySet {
  readonly #path: string
  #stamp = ''
  #checkedAtMs = -Infinity

  constructor (options: KeySetOptions, path: string) {
    super(options)
    this.#path = path
  }

  isUsable (): boolean {
    const nowMs = this.clock.monotonicMs()
    if (nowMs - this.#checkedAtMs >= FILE_CHECK_MS) {
      this.#checkedAtMs = nowMs
      this.#check()
    }
    return this.loaded !== null
  }

  protected ask (): Promise<void> {
    return Promise.resolve()
  }

  #check (): void {
    try {
      const { mtimeMs, ctimeMs, size, ino } = statSync(this.#path)
      const stamp = `${mtimeMs} ${ctimeMs} ${size} ${ino}`
      if (stamp === this.#stamp) return
      this.#stamp = stamp
      if (size > FILE_BYTES_MAX) throw new NotBelieved('the key set file is too large')
      this.take(JSON.parse(readFileSync(this.#path, 'utf8')))
    } catch (error) {
      this.#stamp = ''
      this.drop()
      this.failed(error)
    }
  }
}

/** Fetched from the issuer: one fetch at a time, and never sooner than the pace allows. */
class FetchedKeySet extends HeldKeySet {
  readonly #url: string
  #loadedAtMs = -Infinity
  #nextFetchAtMs = -Infinity
  #fetching: Promise<void> | null = null

  constructor (options: KeySetOptions, url: string) {
    super(options)
    this.#url = url
  }

  isUsable (): boolean {
    if (this.loaded === null) return false
    const ageMs = this.clock.monotonicMs() - this.#loadedAtMs
    if (ageMs >= REFRESH_MS) void this.ask()
    return ageMs < KEEP_MS
  }

  protected ask (): Promise<void> {
    if (this.#fetching === null && this.clock.monotonicMs() >= this.#nextFetchAtMs) {
      this.#fetching = this.#refresh().finally(() => { this.#fetching = null })
    }
    return this.#fetching ?? Promise.resolve()
  }

  async #refresh (): Promise<void> {
    try {
      this.take(await this.options.fetchJwks(this.#url))
      this.#loadedAtMs = this.clock.monotonicMs()
      this.#nextFetchAtMs = this.#loadedAtMs + AFTER_SUCCESS_MS
    } catch (error) {
      this.#nextFetchAtMs = this.clock.monotonicMs() + AFTER_FAILURE_MS
      this.failed(error)
    }
  }
}

function compile (document: unknown): Loaded {
  const keys = publicKeys(document)
  const find = createLocalJWKSet({ keys })
  return {
    kids: new Set(keys.map(key => key.kid!)),
    print: JSON.stringify(keys),
    // Two keys of one kid and kind make jose throw: which of them is meant cannot be known.
    find: async header => find(header),
  }
}

/** The keys that may verify a token; all others are left out as if they were not there. */
function publicKeys (document: unknown): JWK[] {
  const listed = (document as { keys?: unknown } | null)?.keys
  if (!Array.isArray(listed) || listed.length > KEYS_MAX) throw new NotBelieved('the answer is no JWK Set')
  const keys: JWK[] = []
  for (const entry of listed as unknown[]) {
    if (entry === null || typeof entry !== 'object') throw new NotBelieved('the answer is no JWK Set')
    const jwk = entry as JWK
    if (verifies(jwk)) keys.push(publicPart(jwk))
  }
  return keys
}

function verifies (jwk: JWK): boolean {
  if (typeof jwk.kid !== 'string' || jwk.kid === '') return false
  if (jwk.kty !== 'RSA' && jwk.kty !== 'EC' && jwk.kty !== 'OKP') return false
  // A private key that was published signs for everybody.
  if (jwk.d !== undefined) return false
  if (jwk.use !== undefined && jwk.use !== 'sig') return false
  if (jwk.key_ops !== undefined && !(Array.isArray(jwk.key_ops) && jwk.key_ops.includes('verify'))) return false
  return jwk.alg === undefined || ALGORITHMS.includes(jwk.alg)
}

function publicPart (jwk: JWK): JWK {
  const { kty, kid, alg, crv, x, y, n, e } = jwk
  return JSON.parse(JSON.stringify({ kty, kid, alg, crv, x, y, n, e })) as JWK
}
