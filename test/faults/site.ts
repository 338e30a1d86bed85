// What the brokers of a run have in common: sheets and document in front of the yard, the keys of all tenants, and who signs the access tokens.
import { createHash, randomBytes } from 'node:crypto'
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeSigningKey } from '../../src/commands/token.ts'
import type { Environment } from '../../src/config.ts'

const HERE = import.meta.dirname

export const ISSUER = 'https://issuer.rig.example'
export const AUDIENCE = 'https://aval.rig.example'

export interface SiteOptions {
  /** The folder of the run. */
  readonly folder: string
  /** Where the brokers reach the yard: it, or a proxy in front of it. */
  readonly port: number
  readonly tenants: readonly string[]
  readonly seed: string
  /** How the yard is named: default `http://127.0.0.1`. */
  readonly origin?: string
}

export interface FaultSite {
  /** For each replica, beside AVAL_STATE, AVAL_DATA, AVAL_AGENTS and AVAL_OPERATIONS. */
  readonly env: Environment
  /** AVAL_ACTIONS, and that of another edition of the same sheets. */
  readonly editions: readonly string[]
}

/** What must stand in no other file of the folder. */
export interface Secrets {
  /** Of the upstream, by tenant. */
  readonly credentials: { readonly [tenant: string]: string }
  readonly avalKey: string
}

export const tenantNames = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `tenant-${at}`)

/** The same for a seed, so that the upstream can be started before the site that points to it. */
export const credentialOf = (seed: string, tenant: string): string => createHash('sha256').update(`yard ${seed} ${tenant}`).digest('base64url')

export async function makeSite ({ folder, port, tenants, seed, origin = 'http://127.0.0.1' }: SiteOptions): Promise<FaultSite> {
  const placed = (name: string): string => join(folder, name)
  for (const name of ['actions', 'openapi']) cpSync(join(HERE, name), placed(name), { recursive: true })
  for (const name of globSync('actions/**/upstream.yaml', { cwd: folder })) {
    const text = readFileSync(placed(name), 'utf8')
    writeFileSync(placed(name), text.replace('http://127.0.0.1:1/', `${origin}:${port}/`).replace('/secrets/', `${placed('credentials')}/`))
  }
  cpSync(placed('actions'), placed('actions-next'), { recursive: true })
  for (const name of globSync('actions-next/**/*.v1.yaml', { cwd: folder })) {
    writeFileSync(placed(name), readFileSync(placed(name), 'utf8').replace(/^description: .*$/m, '$& As of another edition.'))
  }
  mkdirSync(placed('credentials'), { mode: 0o700 })
  const credentials = Object.fromEntries(tenants.map(tenant => [tenant, credentialOf(seed, tenant)]))
  for (const [tenant, credential] of Object.entries(credentials)) writeFileSync(placed(`credentials/${tenant}`), credential, { mode: 0o600 })
  const avalKey = randomBytes(32).toString('base64')
  writeFileSync(placed('credentials/aval.key'), `${avalKey}\n`, { mode: 0o600 })
  const key = await makeSigningKey()
  writeFileSync(placed('credentials/signing.json'), JSON.stringify(key), { mode: 0o600 })
  writeFileSync(placed('jwks.json'), JSON.stringify(key.jwks))
  const secrets: Secrets = { credentials, avalKey }
  writeFileSync(placed('secrets.json'), JSON.stringify(secrets), { mode: 0o600 })
  return {
    env: {
      AVAL_ACTIONS: placed('actions'),
      AVAL_OPENAPI: placed('openapi'),
      AVAL_KEY: `file:${placed('credentials/aval.key')}`,
      AVAL_ISSUER: ISSUER,
      AVAL_AUDIENCE: AUDIENCE,
      AVAL_JWKS: `file:${placed('jwks.json')}`,
      AVAL_RATE: 'token=100000/s,address=100000/s,burst=5s',
      AVAL_LOG: 'warn',
    },
    editions: [placed('actions'), placed('actions-next')],
  }
}
