// upstream.yaml: the one origin of an upstream, its credential and its limits. The origin is typed by hand here and never taken from a document.
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { CredentialDeclaration, JsonObject, Upstream } from './catalog.ts'
import type { Reporter } from './faults.ts'
import { isHeaderName, isHeaderText, isReservedHeader } from './header-names.ts'
import type { JsonSchema, SecurityScheme } from './openapi/operation.ts'
import { UPSTREAM_NAME_PATTERN } from './sheet.ts'
import { DURATION_PATTERN, durationMs } from './units.ts'
import { pointerTo } from './yaml-file.ts'

interface CredentialSheet {
  readonly scheme: string | { readonly in: 'header' | 'query' | 'cookie', readonly name: string, readonly prefix?: string }
  readonly secret: string
  readonly username?: string
}

export interface UpstreamSheet {
  readonly upstream: string
  readonly openapi: string
  readonly server: string
  readonly networks?: readonly string[]
  readonly headers?: { readonly [name: string]: string }
  readonly credential?: CredentialSheet
  readonly credentials?: { readonly read?: CredentialSheet, readonly write?: CredentialSheet }
  readonly timeouts?: { readonly connect?: string, readonly total?: string }
  readonly limits?: { readonly concurrency?: number, readonly per_second?: number, readonly tenant_share?: number }
}

const CREDENTIAL: JsonSchema = {
  description: 'What is sent to the upstream so that it knows us; never chosen by an agent.',
  type: 'object',
  additionalProperties: false,
  required: ['scheme', 'secret'],
  properties: {
    scheme: {
      description: 'A security scheme of the document, or bearer, or basic, or where the secret goes.',
      oneOf: [
        { type: 'string', minLength: 1, maxLength: 100 },
        {
          type: 'object',
          additionalProperties: false,
          required: ['in', 'name'],
          properties: {
            in: { description: 'Where the secret travels.', enum: ['header', 'query', 'cookie'] },
            name: { description: 'The name that it travels under.', type: 'string', minLength: 1, maxLength: 100 },
            prefix: { description: 'Written before the secret, with nothing between.', type: 'string', maxLength: 40 },
          },
        },
      ],
    },
    secret: {
      description: 'env:NAME, file:PATH or vault:NAME; {tenant} is replaced by the caller\'s tenant.',
      type: 'string',
      minLength: 1,
      maxLength: 500,
    },
    username: { description: 'For basic.', type: 'string', minLength: 1, maxLength: 200 },
  },
}

export const UPSTREAM_SCHEMA: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Upstream',
  description: 'One upstream: actions/<upstream>/upstream.yaml',
  type: 'object',
  additionalProperties: false,
  required: ['upstream', 'openapi', 'server'],
  properties: {
    upstream: { description: 'The name of the folder.', type: 'string', pattern: UPSTREAM_NAME_PATTERN },
    openapi: { description: 'The OpenAPI document, below the folder of documents.', type: 'string', minLength: 1, maxLength: 300 },
    server: { description: 'The only origin and base path, as https://api.shop.example/v1', type: 'string', minLength: 1, maxLength: 300 },
    networks: {
      description: 'Address ranges that the host may resolve to: public (where nothing is given), loopback, or CIDRs.',
      type: 'array',
      minItems: 1,
      maxItems: 50,
      uniqueItems: true,
      items: { type: 'string', minLength: 1, maxLength: 100 },
    },
    headers: {
      description: 'Headers on every request.',
      type: 'object',
      maxProperties: 30,
      additionalProperties: { type: 'string', minLength: 1, maxLength: 1000 },
    },
    credential: CREDENTIAL,
    credentials: {
      description: 'Least privilege: observations and look-ups use read.',
      type: 'object',
      additionalProperties: false,
      minProperties: 1,
      properties: { read: CREDENTIAL, write: CREDENTIAL },
    },
    timeouts: {
      description: 'How long a request may take.',
      type: 'object',
      additionalProperties: false,
      properties: {
        connect: { description: '2s where it is not given.', type: 'string', pattern: DURATION_PATTERN },
        total: { description: '10s where it is not given.', type: 'string', pattern: DURATION_PATTERN },
      },
    },
    limits: {
      description: 'Limits of one process; what is over them waits at most 1 s.',
      type: 'object',
      additionalProperties: false,
      properties: {
        concurrency: { description: 'Requests at once; 32 where it is not given.', type: 'integer', minimum: 1, maximum: 1000 },
        per_second: { description: 'Requests a second; no bound where it is not given.', type: 'number', exclusiveMinimum: 0, maximum: 100_000 },
        tenant_share: {
          description: 'How much of both one tenant may take; 1 where it is not given.',
          type: 'number',
          exclusiveMinimum: 0,
          maximum: 1,
        },
      },
    },
  },
}

/** A lower bound for sense: below it, the network's own weather would fail calls. */
const TOTAL_MS_MAX = 300_000
/** Ports of other protocols: HTTP spoken to them can be made to say something. */
const OTHER_PROTOCOLS = new Set([
  '1', '7', '9', '13', '19', '21', '22', '23', '25', '53', '69', '110', '111', '143', '161', '389', '465', '514', '587', '993', '995', '2049', '3306',
  '5432', '6379', '11211',
])

/** @param scheme looks a security scheme of the document up. null where there was a fault */
export function compileUpstream (
  sheet: UpstreamSheet,
  scheme: (name: string, pointer: string) => SecurityScheme | null | undefined,
  report: Reporter
): Upstream | null {
  const before = report.count
  const server = readServer(sheet, report)
  const networks = sheet.networks ?? ['public']
  for (const [index, network] of networks.entries()) {
    if (network !== 'public' && network !== 'loopback' && !isCidr(network)) {
      report.fault(pointerTo('/networks', index), 'network-invalid', 'must be public, loopback or a CIDR such as 10.20.0.0/16')
    }
  }
  if (sheet.credential !== undefined && sheet.credentials !== undefined) {
    report.faultAtKey('/credentials', 'credential-twice', 'give credential or credentials, not both')
  }
  const one = (declared: CredentialSheet | undefined, pointer: string): CredentialDeclaration | null =>
    declared === undefined ? null : readCredential(declared, pointer, scheme, report)
  const shared = one(sheet.credential, '/credential')
  const read = sheet.credentials === undefined ? shared : one(sheet.credentials.read, '/credentials/read')
  const write = sheet.credentials === undefined ? shared : one(sheet.credentials.write, '/credentials/write')
  const headers = readHeaders(sheet.headers ?? {}, [read, write], report)
  const timeouts = { connectMs: durationMs(sheet.timeouts?.connect ?? '2s'), totalMs: durationMs(sheet.timeouts?.total ?? '10s') }
  if (timeouts.totalMs > TOTAL_MS_MAX) report.fault('/timeouts/total', 'timeout-too-long', `must be at most ${TOTAL_MS_MAX / 1000}s`)
  if (report.count > before || server === null) return null
  return Object.freeze({
    name: sheet.upstream,
    ...server,
    networks: Object.freeze([...networks]),
    headers: Object.freeze(headers),
    credentials: Object.freeze({ read, write }),
    timeouts: Object.freeze(timeouts),
    limits: Object.freeze({
      concurrency: sheet.limits?.concurrency ?? 32,
      perSecond: sheet.limits?.per_second ?? null,
      tenantShare: sheet.limits?.tenant_share ?? 1,
    }),
  })
}

function readServer ({ server, networks }: UpstreamSheet, report: Reporter): { readonly origin: string, readonly basePath: string } | null {
  const read = parseServer(server)
  if ('rule' in read) {
    report.fault('/server', read.rule, read.message)
    return null
  }
  // Every call would be refused as one to an address that is not public.
  if (networks === undefined && read.loopback) {
    report.fault('/server', 'server-network', 'the server is on loopback, which is no public network; add networks: [loopback]')
    return null
  }
  return { origin: read.origin, basePath: read.basePath }
}

interface ServerFault { readonly rule: 'server-invalid' | 'server-insecure', readonly message: string }

/** What a person typed as a server, or what is wrong with it. */
export function parseServer (server: string): { readonly origin: string, readonly basePath: string, readonly loopback: boolean } | ServerFault {
  const refuse = (message: string): ServerFault => ({ rule: 'server-invalid', message })
  const parts = /^(https?):\/\/([^/?#]+)((?:\/[^?#]*)?)$/.exec(server)
  if (parts === null) return refuse('must be https://host or https://host/base, without a query or a fragment')
  const [, protocol, authority, path] = parts as unknown as [string, string, string, string]
  if (authority.includes('@')) return refuse('must not hold a user or a password')
  if (/[{}]/.test(server)) return refuse('must be written out; it has no variables')
  if (!URL.canParse(server)) return refuse('is not a URL')
  const url = new URL(server)
  const host = url.hostname
  const port = url.port === '' ? '' : `:${url.port}`
  const written = authority.toLowerCase().replace(protocol === 'https' ? /:443$/ : /:80$/, '')
  // A host that the URL rules have to correct (0x7f.1, 2130706433, xn-- of other scripts, wide digits) is not what it looks like.
  const plain = `${host}${port}` === written && /^[a-z0-9.:[\]-]+$/.test(host) && !host.endsWith('.') && !host.includes('xn--')
  if (!plain) return refuse('the host must be written plainly, in ASCII, without a dot at its end')
  if (OTHER_PROTOCOLS.has(url.port)) return refuse(`port ${url.port} belongs to another protocol`)
  const loopback = isLoopback(host)
  if (protocol === 'http' && !loopback) return { rule: 'server-insecure', message: 'http is for loopback only; use https' }
  const basePath = path === '/' ? '' : path.replace(/\/$/, '')
  if (!/^(?:\/[A-Za-z0-9._~!$&'()*+,;=:@-]+)*$/.test(basePath) || basePath.split('/').some(part => part === '.' || part === '..')) {
    return refuse('the base path must be of plain segments')
  }
  return { origin: `${protocol}://${host}${port}`, basePath, loopback }
}

function isLoopback (host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'))
}

function isCidr (text: string): boolean {
  try {
    ipaddr.parseCIDR(text)
    return /^[0-9a-fA-F.:]+\/\d{1,3}$/.test(text)
  } catch {
    return false
  }
}

function readHeaders (
  declared: { readonly [name: string]: string }, credentials: ReadonlyArray<CredentialDeclaration | null>, report: Reporter
): { readonly [name: string]: string } {
  const own = credentials.map(credentialParameter)
  const headers: { [name: string]: string } = {}
  for (const [name, value] of Object.entries(declared)) {
    const at = pointerTo('/headers', name)
    const lower = name.toLowerCase()
    if (!isHeaderName(name)) report.faultAtKey(at, 'header-invalid', 'is not the name of a header')
    else if (isReservedHeader(lower) || own.includes(`header:${lower}`)) report.faultAtKey(at, 'header-reserved', `the header "${name}" is set by the broker`)
    else if (Object.hasOwn(headers, lower)) report.faultAtKey(at, 'header-twice', `the header "${lower}" is given twice`)
    if (!isHeaderText(value)) report.fault(at, 'header-invalid', 'the value of a header is visible ASCII')
    headers[lower] = value
  }
  return headers
}

/** What a credential travels in: `header:x-api-key`, `query:key`, the name in lower case. */
export function credentialParameter (credential: CredentialDeclaration | null): string | null {
  if (credential === null) return null
  const { scheme } = credential
  return scheme.kind === 'http' ? 'header:authorization' : `${scheme.in}:${scheme.name.toLowerCase()}`
}

type Schemes = (name: string, pointer: string) => SecurityScheme | null | undefined

function readCredential (declared: CredentialSheet, pointer: string, schemes: Schemes, report: Reporter): CredentialDeclaration | null {
  checkSecret(declared.secret, `${pointer}/secret`, report)
  const scheme = readScheme(declared, pointer, schemes, report)
  if (scheme === null) return null
  const basic = scheme.kind === 'http' && scheme.scheme === 'basic'
  if (basic && declared.username === undefined) report.faultAtKey(pointer, 'credential-invalid', 'basic needs a username')
  if (!basic && declared.username !== undefined) report.faultAtKey(`${pointer}/username`, 'credential-invalid', 'only basic has a username')
  const prefix = typeof declared.scheme === 'object' ? declared.scheme.prefix ?? '' : ''
  if (!isHeaderText(prefix) && prefix !== '') report.fault(`${pointer}/scheme/prefix`, 'credential-invalid', 'the prefix is visible ASCII')
  return Object.freeze({ scheme: Object.freeze(scheme), secret: declared.secret, username: declared.username ?? null, prefix })
}

function readScheme (declared: CredentialSheet, pointer: string, schemes: Schemes, report: Reporter): CredentialDeclaration['scheme'] | null {
  const at = `${pointer}/scheme`
  if (typeof declared.scheme === 'object') {
    const { in: place, name } = declared.scheme
    const reserved = place === 'header' && name.toLowerCase() !== 'authorization' && isReservedHeader(name.toLowerCase())
    if (place !== 'query' && (!isHeaderName(name) || reserved)) {
      report.fault(`${at}/name`, 'credential-invalid', 'a credential cannot travel under this name')
    }
    return { kind: 'apiKey', in: place, name }
  }
  if (declared.scheme === 'bearer' || declared.scheme === 'basic') return { kind: 'http', scheme: declared.scheme }
  const found = schemes(declared.scheme, at)
  // null: the document could not be read, which has been told.
  if (found === null) return null
  if (found === undefined) {
    const others = 'name one of its securitySchemes, or bearer, or basic, or {in, name}'
    report.fault(at, 'credential-scheme-unknown', `the document has no security scheme "${declared.scheme}"; ${others}`)
    return null
  }
  if (found.kind === 'apiKey') return found
  const scheme = found.kind === 'http' ? found.scheme.toLowerCase() : ''
  if (found.kind === 'http' && (scheme === 'bearer' || scheme === 'basic')) return { kind: 'http', scheme }
  const kind = found.kind === 'http' ? found.scheme : found.kind
  report.fault(at, 'credential-scheme-unsupported', `${kind} is not served; say how the secret travels: bearer, basic, or {in, name, prefix}`)
  return null
}

function checkSecret (reference: string, pointer: string, report: Reporter): void {
  const [kind, name] = [reference.slice(0, reference.indexOf(':')), reference.slice(reference.indexOf(':') + 1)]
  const path = name.replaceAll('{tenant}', 'tenant')
  const valid = SECRET_NAMES.get(kind)?.test(kind === 'env' ? name : path) === true && !(kind === 'file' && path.split('/').includes('..'))
  if (!valid) report.fault(pointer, 'secret-invalid', 'must be env:NAME, file:PATH or vault:NAME; {tenant} alone is replaced, in a path or a name of the vault')
}

const SECRET_NAMES: ReadonlyMap<string, RegExp> = new Map([
  ['env', /^[A-Za-z_][A-Za-z0-9_]*$/],
  ['file', /^[^\u0000-\u001f{}]+$/],
  ['vault', /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/],
])

export const asUpstreamSheet = (value: JsonObject): UpstreamSheet => value as unknown as UpstreamSheet
