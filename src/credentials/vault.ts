// `vault:NAME`: secrets of one encrypted file. They are in memory while the vault is open; closed, nothing of them is left here, and of what was sent
// with them before nothing is shown.
import type { Secret } from '../secret.ts'
import type { AgeKey } from './age.ts'
import { OVERLAP_MS, secretOf, SecretUnavailable, type SecretSource } from './secret-source.ts'
import { markOfVault, readKey, readVault, VaultFault, type VaultContents } from './vault-file.ts'

const POLL_MS = 1_000

export interface VaultOptions {
  readonly path: string
  /** Where the key is read from; null: a person gives it. */
  readonly key: { readonly kind: AgeKey['kind'], readonly path: string } | null
  /** Monotonic. */
  readonly nowMs?: () => number
}

export interface Vault {
  /** It can be opened without a person. */
  readonly hasKey: boolean
  isOpen (): boolean
  /** null: with its own key; without one it stays as it is. @throws VaultFault: what was open stays open */
  open (key: AgeKey | null): Promise<void>
  /** Drops every value and the key. What is being opened meanwhile stays closed. */
  close (): void
  source (name: string): SecretSource
}

interface Held {
  readonly key: AgeKey
  readonly mark: string
  readonly secrets: Map<string, { readonly secret: Secret, readonly replacedAtMs: number | null }>
  retired: Array<{ readonly name: string, readonly secret: Secret, readonly untilMs: number }>
}

export const createVault = (options: VaultOptions): Vault => new FileVault(options)

class FileVault implements Vault {
  readonly #options: VaultOptions
  readonly #nowMs: () => number
  #held: Held | null = null
  /** Why it cannot be read any more; null: it can. */
  #fault: VaultFault | null = null
  #looking: Promise<void> | null = null
  #lookedAtMs = -Infinity
  /** Rises with each closing. */
  #closings = 0
  #closedAtMs = -Infinity
  /** Names of what may have been sent from here. */
  readonly #given = new Set<string>()

  constructor (options: VaultOptions) {
    this.#options = options
    this.#nowMs = options.nowMs ?? (() => performance.now())
  }

  get hasKey (): boolean { return this.#options.key !== null }
  isOpen (): boolean { return this.#held !== null }

  async open (given: AgeKey | null): Promise<void> {
    const { key: own } = this.#options
    if (given === null && own === null) return
    const closings = this.#closings
    await this.#read(given ?? await readKey(own!.kind, own!.path), closings)
  }

  close (): void {
    this.#closings++
    if (this.#held !== null) this.#closedAtMs = this.#nowMs()
    for (const { secret } of this.#held?.secrets.values() ?? []) secret.destroy()
    for (const { secret } of this.#held?.retired ?? []) secret.destroy()
    this.#held = null
    this.#fault = null
    this.#lookedAtMs = -Infinity
  }

  source (name: string): SecretSource {
    return {
      current: () => this.#current(name),
      latest: () => this.#held?.secrets.get(name) ?? null,
      live: () => {
        const found = this.#held?.secrets.get(name)
        const retired = this.#held?.retired.filter(one => one.name === name).map(({ secret }) => secret) ?? []
        return found === undefined ? retired : [found.secret, ...retired]
      },
      doubt: () => { this.#lookedAtMs = -Infinity },
      isBlind: () => this.#held === null && this.#given.has(name) && this.#nowMs() - this.#closedAtMs < OVERLAP_MS,
    }
  }

  async #current (name: string): Promise<Secret> {
    if (this.#held === null) throw new SecretUnavailable(`vault:${name}: the vault is closed`)
    if (this.#nowMs() - this.#lookedAtMs >= POLL_MS) {
      this.#looking ??= this.#look().finally(() => { this.#looking = null })
      await this.#looking
    }
    if (this.#fault !== null) throw new SecretUnavailable(`vault:${name}: ${this.#fault.message}`)
    const found = this.#held?.secrets.get(name)
    if (found === undefined) throw new SecretUnavailable(`vault:${name} is not in the vault ${this.#options.path}`)
    this.#given.add(name)
    return found.secret
  }

  /** Edited by a command, it is read again with the key that opened it. */
  async #look (): Promise<void> {
    const startedAtMs = this.#nowMs()
    const held = this.#held!
    try {
      if (await markOfVault(this.#options.path) !== held.mark || this.#fault !== null) await this.#read(held.key, this.#closings)
    } catch (error) {
      if (!(error instanceof VaultFault)) throw error
      this.#fault = error
    }
    this.#lookedAtMs = startedAtMs
  }

  async #read (key: AgeKey, closings: number): Promise<void> {
    const { contents, mark } = await readVault(this.#options.path, key)
    if (closings !== this.#closings) throw new VaultFault('the vault was closed while it was being opened')
    this.#held = this.#take(contents, key, mark)
    this.#fault = null
    this.#lookedAtMs = this.#nowMs()
  }

  /** A value that is as it was stays the same secret. */
  #take (contents: VaultContents, key: AgeKey, mark: string): Held {
    const nowMs = this.#nowMs()
    const before = this.#held
    const secrets: Held['secrets'] = new Map()
    const retired = before?.retired.filter(({ untilMs }) => untilMs > nowMs) ?? []
    for (const [name, { value }] of Object.entries(contents.secrets)) {
      const secret = secretOf(`vault:${name}`, Buffer.from(value))
      const known = before?.secrets.get(name)
      secrets.set(name, known !== undefined && known.secret.reveal().equals(secret.reveal())
        ? known
        : { secret, replacedAtMs: known === undefined ? null : nowMs })
    }
    for (const [name, { secret }] of before?.secrets ?? []) {
      if (secrets.get(name)?.secret !== secret) retired.push({ name, secret, untilMs: nowMs + OVERLAP_MS })
    }
    return { key, mark, secrets, retired }
  }
}

/** Where there is none. */
export const noVault = (name: string): SecretSource => ({
  current: async () => { throw new SecretUnavailable(`vault:${name}: there is no vault; AVAL_VAULT names one`) },
  latest: () => null,
  live: () => [],
  doubt: () => {},
})
