// Environment → frozen Config. This file alone reads process.env. Every variable stands once in the table below; README is held to it by
// test/config.test.ts. All faults are told at once, and none repeats a value.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import {
  Malformed, parseAudit, parseFailpoints, parseFile, parseFolder, parseHosts, parseIdentifier, parseIssuer, parseJwks, parseKeySource,
  parseListenAddress, parseLock, parseLogLevel, parseNamedFile, parseOrigin, parsePeopleRoles, parseProxies, parseRates, parseSecretReference, parseState,
  parseVault, type JwksSource, type KeySource, type ListenAddress, type LockCheck, type LogLevel, type PeopleRoles, type RequestRates, type VaultPlace,
} from './config-values.ts'
import type { FailpointPlan } from './failpoints.ts'
import { nearest } from './nearest.ts'

export type { ListenAddress, PeopleRoles } from './config-values.ts'

export type Environment = { readonly [name: string]: string | undefined }

/** Who signs the access tokens of agents, and for whom. */
export interface TokenTrust {
  readonly issuer: string
  readonly audience: string
  readonly jwks: JwksSource
}

/** How people sign in, and where. */
export interface PeopleConfig {
  readonly address: ListenAddress
  readonly issuer: string
  readonly client: string
  /** Reference of the client secret; null: a public client. */
  readonly secret: string | null
  readonly origin: string
  /** null: nobody has any role. */
  readonly roles: PeopleRoles | null
}

export interface Config {
  readonly actionsFolder: string
  readonly openapiFolder: string
  readonly dataFolder: string
  /** `<data>/control.sock` */
  readonly controlPath: string
  /** `sqlite:` with an absolute path, or a Redis URL as it was given. */
  readonly state: string
  readonly agents: ListenAddress
  readonly operations: ListenAddress
  /** null: there is no people listener, and no person can be asked. */
  readonly people: PeopleConfig | null
  /** null: the listeners' own names and `localhost`. */
  readonly hosts: readonly string[] | null
  readonly tokens: TokenTrust
  readonly rates: RequestRates
  readonly key: KeySource
  /** The key file may be made at first start: one process alone has it. With Redis it must be there before. */
  readonly keyMayBeMade: boolean
  readonly auditFolder: string
  readonly trustProxy: readonly string[]
  readonly tls: { readonly certFile: string, readonly keyFile: string } | null
  readonly lock: LockCheck
  readonly logLevel: LogLevel
  /** null: nobody is told of proposals. */
  readonly webhooksFile: string | null
  /** null: there is none. */
  readonly vault: VaultPlace | null
  /** null: everyone is who they sign in as. */
  readonly principalsFile: string | null
  /** null: none is armed. */
  readonly failpoints: FailpointPlan | null
  /** For `env:NAME` of sheets and of AVAL_KEY: the environment as it was at start, without Aval's own settings. */
  readonly environment: Environment
}

/** What the commands that work on this machine need. */
export type LocalConfig = Pick<Config, 'actionsFolder' | 'openapiFolder' | 'dataFolder' | 'controlPath' | 'vault'>

export interface ConfigFault {
  readonly name: string
  /** Completes the sentence that the name begins; never the value. */
  readonly message: string
}

export class ConfigFaults extends Error {
  override readonly name = 'ConfigFaults'
  readonly faults: readonly ConfigFault[]
  constructor (faults: readonly ConfigFault[]) {
    super(faults.map(fault => `${fault.name} ${fault.message}`).join('\n'))
    this.faults = faults
  }
}

interface Row {
  readonly name: string
  /** As README prints it; null: none. */
  readonly default: string | null
  readonly meaning: string
  /** `serve` does not start without it. */
  readonly required: boolean
  readonly parse: (text: string) => unknown
}

const setting = (name: string, byDefault: string | null, parse: (text: string) => unknown, meaning: string): Row =>
  Object.freeze({ name, default: byDefault, meaning, required: false, parse })
const required = (name: string, parse: (text: string) => unknown, meaning: string): Row =>
  Object.freeze({ ...setting(name, null, parse, meaning), required: true })

/** Every variable, in the order of README. A default that starts with `DATA` lies in the data folder. */
export const configTable: readonly Row[] = Object.freeze([
  setting('AVAL_ACTIONS', './actions', parseFolder, 'folder of the action sheets'),
  setting('AVAL_OPENAPI', './openapi', parseFolder, 'folder of the OpenAPI documents'),
  setting('AVAL_DATA', './data', parseFolder, 'folder of the embedded store, the journal, the keys, the audit and the control socket'),
  setting('AVAL_STATE', 'sqlite:DATA/aval.db', parseState,
    'where attempts live: `sqlite:PATH`, `redis://`, `rediss://`, `redis+sentinel://` or `redis+cluster://`'),
  setting('AVAL_AGENTS', '127.0.0.1:8080', parseListenAddress, 'the agents listener; port 0 picks a free one'),
  setting('AVAL_PEOPLE', '127.0.0.1:8081', parseListenAddress, 'the people listener, approvals and operators; only where `AVAL_PEOPLE_ISSUER` is set'),
  setting('AVAL_OPERATIONS', '127.0.0.1:9090', parseListenAddress, 'the operations listener: metrics and health'),
  setting('AVAL_HOSTS', null, parseHosts, 'names that the Host header may carry; without it the listeners\' own and `localhost`'),
  required('AVAL_ISSUER', parseIdentifier, 'who signs access tokens: their `iss`'),
  required('AVAL_AUDIENCE', parseIdentifier, 'for whom access tokens are: their sole `aud`'),
  required('AVAL_JWKS', parseJwks, 'the issuer\'s JWK Set: an https URL or `file:PATH`'),
  setting('AVAL_PEOPLE_ISSUER', null, parseIssuer,
    'who signs people in: an OpenID Connect issuer, https (http on loopback only); without it no person can be asked'),
  setting('AVAL_PEOPLE_CLIENT', null, parseIdentifier, 'our client id there; its redirect URI is `/sign-in/callback` of `AVAL_PEOPLE_ORIGIN`'),
  setting('AVAL_PEOPLE_SECRET', null, parseSecretReference, 'our client secret there: `file:PATH`, `env:NAME` or `vault:NAME`; without it we are a public client'),
  setting('AVAL_PEOPLE_ORIGIN', null, parseOrigin, 'where browsers of people reach the broker, `https://approvals.example`'),
  setting('AVAL_PEOPLE_ROLES', null, parsePeopleRoles,
    'which values of which claim of the ID token are which roles: `claim=groups,team-leads=support_lead,ops=operator`; without it nobody has any'),
  setting('AVAL_RATE', 'token=100/s,address=200/s,burst=5s', parseRates, 'requests admitted for a token and for an address, and the burst'),
  setting('AVAL_KEY', 'file:DATA/aval.key', parseKeySource,
    'keys all HMACs: `file:PATH` or `env:NAME`, 32 bytes in base64; made at first start, but with Redis it must be given and exist'),
  setting('AVAL_VAULT', null, parseVault,
    'the encrypted file of `vault:` secrets: `file:PATH`, and what opens it at start, `,identity=file:PATH` or `,passphrase=file:PATH`; without that a person does'),
  setting('AVAL_AUDIT', 'file:DATA/audit', parseAudit, 'where the audit goes'),
  setting('AVAL_TRUST_PROXY', null, parseProxies, 'addresses or CIDR ranges of proxies whose X-Forwarded-For is believed'),
  setting('AVAL_TLS_CERT', null, parseFile, 'certificate chain in PEM for the listeners; with `AVAL_TLS_KEY`'),
  setting('AVAL_TLS_KEY', null, parseFile, 'private key in PEM for the listeners; with `AVAL_TLS_CERT`'),
  setting('AVAL_LOCK', 'off', parseLock, '`strict`: a catalog that differs from `aval.lock` in the folder of the sheets is not served'),
  setting('AVAL_LOG', 'info', parseLogLevel, 'log level: fatal, error, warn, info, debug, trace or silent'),
  setting('AVAL_FAILPOINTS', null, parseFailpoints,
    'for tests only: where the process kills, holds or breaks itself, like `after_mark:kill@0.01,before_settle:sleep(5000)`; refused with a public listener'),
  setting('AVAL_WEBHOOKS', null, parseNamedFile, 'who is told of proposals: `file:PATH` of a YAML or JSON file of endpoints'),
  setting('AVAL_PRINCIPALS', null, parseNamedFile, 'who signs in under several identities: `file:PATH` of a YAML or JSON file'),
])

const rowOf = new Map(configTable.map(row => [row.name, row]))

/** A copy of the process's environment; whoever needs a variable gets it from here. */
export function readEnvironment (): Environment {
  return Object.freeze({ ...process.env })
}

/** @throws ConfigFaults with every fault at once */
export function readConfig (env: Environment): Config {
  const read = new Reading(env)
  const dataFolder = read.value<string>('AVAL_DATA')
  const value = <Value>(name: string): Value => read.value<Value>(name, dataFolder)
  const state = value<string>('AVAL_STATE')
  const key = value<KeySource>('AVAL_KEY')
  const agents = value<ListenAddress>('AVAL_AGENTS')
  const operations = value<ListenAddress>('AVAL_OPERATIONS')
  checkKey(read, env, key, state)
  const failpoints = value<FailpointPlan | undefined>('AVAL_FAILPOINTS') ?? null
  const people = readPeople(read, value, env)
  checkListeners(read, agents, operations, people?.address)
  if (failpoints !== null && [agents, operations, people?.address].some(address => address?.loopback === false)) {
    read.fault('AVAL_FAILPOINTS', 'is refused with a listener that is not on loopback')
  }
  const config: Config = {
    actionsFolder: value('AVAL_ACTIONS'),
    openapiFolder: value('AVAL_OPENAPI'),
    dataFolder,
    controlPath: join(dataFolder ?? '', 'control.sock'),
    state,
    agents,
    operations,
    people,
    hosts: value<readonly string[] | undefined>('AVAL_HOSTS') ?? null,
    tokens: Object.freeze({ issuer: value<string>('AVAL_ISSUER'), audience: value<string>('AVAL_AUDIENCE'), jwks: value<JwksSource>('AVAL_JWKS') }),
    rates: value('AVAL_RATE'),
    key,
    keyMayBeMade: isEmbedded(state) && key?.kind === 'file',
    auditFolder: value('AVAL_AUDIT'),
    trustProxy: value<readonly string[] | undefined>('AVAL_TRUST_PROXY') ?? [],
    tls: readTls(read, value('AVAL_TLS_CERT'), value('AVAL_TLS_KEY'), env),
    lock: value('AVAL_LOCK'),
    logLevel: value('AVAL_LOG'),
    webhooksFile: value<string | undefined>('AVAL_WEBHOOKS') ?? null,
    vault: value<VaultPlace | undefined>('AVAL_VAULT') ?? null,
    principalsFile: value<string | undefined>('AVAL_PRINCIPALS') ?? null,
    failpoints,
    environment: Object.freeze(Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('AVAL_')))),
  }
  read.throwIfFaulty({ required: true })
  return Object.freeze(config)
}

/** For the commands that work on this machine alone: the same checks, but nothing is required. @throws ConfigFaults */
export function readLocalConfig (env: Environment): LocalConfig {
  const read = new Reading(env)
  const dataFolder = read.value<string>('AVAL_DATA')
  for (const row of configTable) read.value(row.name, dataFolder)
  read.throwIfFaulty({ required: false })
  return Object.freeze({
    actionsFolder: read.value<string>('AVAL_ACTIONS'),
    openapiFolder: read.value<string>('AVAL_OPENAPI'),
    dataFolder,
    controlPath: join(dataFolder, 'control.sock'),
    vault: read.value<VaultPlace | undefined>('AVAL_VAULT') ?? null,
  })
}

/** One pass over an environment that collects what is wrong with it. */
class Reading {
  readonly #env: Environment
  readonly #faults = new Map<string, string>()

  constructor (env: Environment) {
    this.#env = env
    for (const name of Object.keys(env)) {
      if (!name.startsWith('AVAL_')) continue
      const row = rowOf.get(name)
      const near = row === undefined ? nearest(name, rowOf.keys()) : null
      if (row === undefined) this.fault(name, near === null ? 'is not a setting of Aval' : `is not a setting of Aval; did you mean ${near}?`)
    }
    // Node would stop verifying every certificate of the process, those of upstreams and of the issuer included.
    if (env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
      this.fault('NODE_TLS_REJECT_UNAUTHORIZED', 'switches the verification of certificates off; unset it')
    }
  }

  /** undefined where the variable has no value; a fault is kept for later, so that all are told together. */
  value<Value> (name: string, dataFolder = ''): Value {
    const row = rowOf.get(name)!
    // An empty value is a malformed one, not an absent one: `AVAL_JWKS=` in a unit file is a mistake.
    const text = this.#env[name] ?? row.default?.replace('DATA', () => dataFolder)
    if (text === undefined) return undefined as Value
    try {
      if (text === '') throw new Malformed('is empty')
      return row.parse(text) as Value
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      this.fault(name, error.message)
      return undefined as Value
    }
  }

  fault (name: string, message: string): void {
    if (!this.#faults.has(name)) this.#faults.set(name, message)
  }

  throwIfFaulty (ask: { readonly required: boolean }): void {
    for (const row of configTable) {
      if (ask.required && row.required && this.#env[row.name] === undefined) this.fault(row.name, `is required: ${row.meaning}`)
    }
    if (this.#faults.size === 0) return
    throw new ConfigFaults([...this.#faults].map(([name, message]) => ({ name, message })))
  }
}

const isEmbedded = (state: string | undefined): boolean => state?.startsWith('sqlite:') === true

/** With Redis several processes must agree on the key, so none may make its own. */
function checkKey (read: Reading, env: Environment, key: KeySource | undefined, state: string | undefined): void {
  if (key === undefined || state === undefined) return
  if (key.kind === 'env') {
    if (env[key.name] === undefined) read.fault('AVAL_KEY', 'names a variable that is not set')
    return
  }
  if (isEmbedded(state)) return
  const isThere = statSync(key.path, { throwIfNoEntry: false })?.isFile() === true
  if (env['AVAL_KEY'] === undefined) read.fault('AVAL_KEY', 'must be given where AVAL_STATE is Redis: all replicas need the same')
  else if (!isThere) read.fault('AVAL_KEY', 'names a file that is not there; where AVAL_STATE is Redis it is not made')
}

function checkListeners (read: Reading, agents?: ListenAddress, operations?: ListenAddress, people?: ListenAddress): void {
  const same = (one: ListenAddress | undefined, other: ListenAddress | undefined): boolean =>
    one !== undefined && other !== undefined && one.port !== 0 && one.port === other.port && one.host === other.host
  if (same(agents, operations)) read.fault('AVAL_OPERATIONS', 'must not be the address of AVAL_AGENTS')
  if (same(people, agents)) read.fault('AVAL_PEOPLE', 'must not be the address of AVAL_AGENTS')
  if (same(people, operations)) read.fault('AVAL_PEOPLE', 'must not be the address of AVAL_OPERATIONS')
}

type ValueOf = <Value>(name: string) => Value

/** All of it or nothing: half a sign-in would be a listener that nobody can use, or one that nobody meant. */
function readPeople (read: Reading, value: ValueOf, env: Environment): PeopleConfig | null {
  const [needed, rest] = [['ISSUER', 'CLIENT', 'ORIGIN'].map(name => `AVAL_PEOPLE_${name}`), ['AVAL_PEOPLE', 'AVAL_PEOPLE_SECRET', 'AVAL_PEOPLE_ROLES']]
  const set = [...needed, ...rest].filter(name => env[name] !== undefined)
  if (set.length === 0) return null
  for (const name of needed) if (env[name] === undefined) read.fault(name, `is required where ${set[0]} is set`)
  const [issuer, client, origin] = needed.map(name => value<string>(name))
  const address = value<ListenAddress>('AVAL_PEOPLE')
  const secret = value<string | undefined>('AVAL_PEOPLE_SECRET') ?? null
  const roles = value<PeopleRoles | undefined>('AVAL_PEOPLE_ROLES') ?? null
  if (issuer === undefined || client === undefined || origin === undefined || address === undefined) return null
  return Object.freeze({ address, issuer, client, secret, origin, roles })
}

function readTls (read: Reading, certFile: string | undefined, keyFile: string | undefined, env: Environment): Config['tls'] {
  if ((env['AVAL_TLS_CERT'] === undefined) !== (env['AVAL_TLS_KEY'] === undefined)) {
    const lone = env['AVAL_TLS_CERT'] === undefined ? 'AVAL_TLS_KEY' : 'AVAL_TLS_CERT'
    read.fault(lone, 'is set alone: AVAL_TLS_CERT and AVAL_TLS_KEY go together')
  }
  return certFile === undefined || keyFile === undefined ? null : Object.freeze({ certFile, keyFile })
}
