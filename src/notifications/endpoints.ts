// The file that AVAL_WEBHOOKS names: whom to tell what. Read once at start, with every fault where it stands.
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import type { Fault } from '../catalog/catalog.ts'
import { FaultList, type Reporter } from '../catalog/faults.ts'
import type { JsonSchema } from '../catalog/openapi/operation.ts'
import { checkStructure } from '../catalog/structure.ts'
import { readYaml, YamlFile } from '../catalog/yaml-file.ts'
import { parseNetworks, refuseAddress } from '../upstream/address.ts'
import { faultOfReference, isByTenant } from '../credentials/kinds.ts'

export const NOTICE_TYPES = [
  'proposal.pending', 'proposal.approved', 'proposal.denied', 'proposal.expired', 'proposal.withdrawn', 'proposal.superseded', 'proposal.invalidated',
  'proposal.revoked', 'proposal.committed', 'proposal.unknown', 'grant.created', 'grant.ended', 'vault.locked', 'vault.unlocked', 'audit.checkpoint',
] as const
/** What people want to hear of. */
const USUAL: readonly NoticeType[] = NOTICE_TYPES.filter(type => type !== 'audit.checkpoint')
export type NoticeType = (typeof NOTICE_TYPES)[number]

export interface Endpoint {
  readonly url: URL
  /** References; while a secret is changed both sign, the new one first. */
  readonly secrets: readonly string[]
  readonly events: ReadonlySet<NoticeType>
  /** Only what one of these roles may decide; null: everything. */
  readonly roles: ReadonlySet<string> | null
  /** The effect sentence, with its values, goes along. */
  readonly includeEffect: boolean
  readonly networks: readonly string[]
}

interface EndpointSheet {
  readonly url: string
  readonly secret: string | readonly string[]
  readonly events?: readonly NoticeType[]
  readonly roles?: readonly string[]
  readonly include_effect?: boolean
  readonly networks?: readonly string[]
}

const REFERENCE: JsonSchema = { type: 'string', minLength: 1, maxLength: 500 }

export const WEBHOOKS_SCHEMA: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Webhooks',
  description: 'Who is told of proposals: the file that AVAL_WEBHOOKS names.',
  type: 'object',
  additionalProperties: false,
  required: ['endpoints'],
  properties: {
    endpoints: {
      description: 'Each is told by itself; a slow one keeps no other waiting.',
      type: 'array',
      maxItems: 20,
      items: {
        description: 'One receiver of Standard Webhooks.',
        type: 'object',
        additionalProperties: false,
        required: ['url', 'secret'],
        properties: {
          url: { description: 'https; http only where networks does not hold public.', type: 'string', minLength: 1, maxLength: 2_000 },
          secret: {
            description: 'Where the secret is: env:NAME, file:PATH or vault:NAME. It reads whsec_ and base64 of 24 to 64 bytes. Two: the new one, then the one it replaces.',
            oneOf: [REFERENCE, { type: 'array', minItems: 1, maxItems: 2, uniqueItems: true, items: REFERENCE }],
          },
          events: { description: 'Left out: all but audit.checkpoint, which comes every minute or so.', type: 'array', minItems: 1, uniqueItems: true, items: { enum: NOTICE_TYPES } },
          roles: {
            description: 'Only proposals that one of these roles of people may decide. Left out: all.',
            type: 'array', minItems: 1, uniqueItems: true, items: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_.:-]{0,63}$' },
          },
          include_effect: { description: 'Whether the sentence that says what would happen goes along, values included.', type: 'boolean' },
          networks: {
            description: 'Address ranges that the name may resolve to: public (the default), loopback, or CIDRs.',
            type: 'array', minItems: 1, uniqueItems: true, items: { type: 'string' },
          },
        },
      },
    },
  },
}

/** All that is wrong with the file, a line each, `file:line:column rule message`. */
export class EndpointFaults extends Error {
  override readonly name = 'EndpointFaults'
  constructor (faults: readonly Fault[]) {
    super(`AVAL_WEBHOOKS names a file with faults:\n${faults.map(one => `${one.file}:${one.line}:${one.column} ${one.rule} ${one.message}`).join('\n')}`)
  }
}

/** @throws EndpointFaults */
export async function readEndpoints (path: string): Promise<readonly Endpoint[]> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    throw new EndpointFaults([{ file: path, line: 1, column: 1, rule: 'file-unreadable', message: `the file cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'it failed'}` }])
  }
  return parseEndpoints(path, bytes)
}

/** @throws EndpointFaults */
export function parseEndpoints (name: string, bytes: Buffer): readonly Endpoint[] {
  const file = readYaml(name, bytes)
  if (!(file instanceof YamlFile)) throw new EndpointFaults(file)
  const faults = new FaultList()
  const report = faults.in(file)
  const endpoints = checkStructure(file.value, WEBHOOKS_SCHEMA, report)
    ? (file.value as unknown as { readonly endpoints: readonly EndpointSheet[] }).endpoints.map((sheet, at) => endpointOf(sheet, `/endpoints/${at}`, report))
    : []
  if (faults.count > 0) throw new EndpointFaults(faults.all())
  return endpoints.filter(one => one !== null)
}

function endpointOf (sheet: EndpointSheet, at: string, report: Reporter): Endpoint | null {
  const secrets = typeof sheet.secret === 'string' ? [sheet.secret] : sheet.secret
  for (const [index, reference] of secrets.entries()) {
    const fault = faultOfReference(reference) ?? (isByTenant(reference) ? 'an endpoint is not of a tenant: {tenant} cannot stand here' : null)
    if (fault !== null) report.fault(typeof sheet.secret === 'string' ? `${at}/secret` : `${at}/secret/${index}`, 'secret-reference', fault)
  }
  const networks = sheet.networks ?? ['public']
  for (const [index, word] of networks.entries()) {
    if (!isNetwork(word)) report.fault(`${at}/networks/${index}`, 'network-unknown', 'must be public, loopback or a CIDR range')
  }
  const url = URL.canParse(sheet.url) ? new URL(sheet.url) : null
  const fault = url === null ? 'must be a URL' : faultOfUrl(url, networks)
  if (fault !== null) report.fault(`${at}/url`, 'webhook-url', fault)
  if (url === null) return null
  return {
    url, secrets, networks,
    events: new Set(sheet.events ?? USUAL),
    roles: sheet.roles === undefined ? null : new Set(sheet.roles),
    includeEffect: sheet.include_effect ?? false,
  }
}

/** What of it can be told before a name is resolved; every connection is checked again. */
function faultOfUrl (url: URL, networks: readonly string[]): string | null {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must be an https URL'
  if (url.username !== '' || url.password !== '') return 'must not hold a name or a password'
  if (url.hash !== '') return 'must not hold a fragment, which is never sent'
  if (url.protocol === 'http:' && networks.includes('public')) return 'is not encrypted: http needs networks without public, loopback for example'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) === 0 || !networks.every(isNetwork)) return null
  const refusal = refuseAddress(host, parseNetworks(networks), url.protocol === 'http:')
  return refusal === null ? null : `names ${refusal}, which its networks do not allow`
}

function isNetwork (word: string): boolean {
  try {
    parseNetworks([word])
    return true
  } catch {
    return false
  }
}
