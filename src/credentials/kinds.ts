// The kinds of places that a secret can come from, by the word before the colon.
import { openEnv } from './env.ts'
import { openFile } from './file.ts'
import { noVault, type Vault } from './vault.ts'
import { VAULT_NAME } from './vault-file.ts'
import { SecretUnavailable, type SecretSource } from './secret-source.ts'

export interface SourceContext {
  /** The environment as it was when the process started. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Monotonic. */
  readonly nowMs: () => number
  /** null: there is none. */
  readonly vault: Vault | null
}

interface Kind {
  /** Whether `{tenant}` may stand in the name. */
  readonly byTenant: boolean
  /** What its names look like. */
  readonly name: RegExp
  open (name: string, context: SourceContext): SecretSource
}

export const KINDS: { readonly [kind: string]: Kind } = Object.freeze({
  env: { byTenant: false, name: /^[A-Za-z_][A-Za-z0-9_]*$/, open: (name, { env }) => openEnv(name, env) },
  file: { byTenant: true, name: /^[^\0]+$/, open: (name, { nowMs }) => openFile(name, nowMs) },
  vault: { byTenant: true, name: VAULT_NAME, open: (name, { vault }) => vault?.source(name) ?? noVault(name) },
} satisfies { [kind: string]: Kind })

/** No separator and no dot: a tenant never leaves the folder that the reference names. */
const TENANT = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/
const PLACEHOLDER = '{tenant}'

/** What is wrong with a reference as it stands in an upstream.yaml; null if nothing is. */
export function faultOfReference (reference: string): string | null {
  const { word, name, kind } = split(reference)
  if (kind === undefined) return `there is no kind of secret "${word}": write ${Object.keys(KINDS).map(known => `${known}:…`).join(' or ')}`
  if (name.includes(PLACEHOLDER) && !kind.byTenant) return `${PLACEHOLDER} cannot stand in ${word}:`
  if (!kind.name.test(name.replaceAll(PLACEHOLDER, 't'))) return `${word}: is followed by a name`
  return null
}

export const isByTenant = (reference: string): boolean => reference.includes(PLACEHOLDER)

/** The reference for one tenant. @throws SecretUnavailable */
export function resolveReference (reference: string, tenant: string): string {
  if (!isByTenant(reference)) return reference
  const fault = faultOfReference(reference)
  if (fault !== null) throw new SecretUnavailable(fault)
  if (!TENANT.test(tenant)) throw new SecretUnavailable(`${reference}: the tenant has no name that can stand there`)
  return reference.replaceAll(PLACEHOLDER, tenant)
}

/** @throws SecretUnavailable */
export function openSource (reference: string, context: SourceContext): SecretSource {
  const fault = faultOfReference(reference)
  if (fault !== null) throw new SecretUnavailable(fault)
  const { name, kind } = split(reference)
  return kind!.open(name, context)
}

function split (reference: string): { readonly word: string, readonly name: string, readonly kind: Kind | undefined } {
  const colon = reference.indexOf(':')
  const word = colon === -1 ? '' : reference.slice(0, colon)
  return { word, name: reference.slice(colon + 1), kind: Object.hasOwn(KINDS, word) ? KINDS[word] : undefined }
}
