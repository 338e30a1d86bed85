// What the tour plays on: the shop, the broker in front of it with its embedded store, an identity provider for its people, and an access token, all
// made on the spot in a folder that is gone afterwards.
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig, type Config, type Environment } from '../../config.ts'
import { CommandFault, type Ask } from '../command.ts'
import { makeDemoKey, mintToken } from '../token.ts'
import { DEMO_CLIENT, startDemoIdp } from './idp.ts'
import { BUNDLED, placeSheets } from './sheets.ts'
import { startShop, type Shop } from './shop.ts'
import type { Broker } from '../broker.ts'

const ISSUER = 'https://issuer.demo.aval.example'
const AUDIENCE = 'https://demo.aval.example'
/** Settings that the tour leaves to whoever runs it; it makes all others itself. */
const OWN_SETTINGS = ['AVAL_AGENTS', 'AVAL_PEOPLE', 'AVAL_OPERATIONS', 'AVAL_HOSTS', 'AVAL_LOG']

export interface Stage {
  readonly shop: Shop
  readonly broker: Broker
  /** Where people decide, `http://127.0.0.1:8081`. */
  readonly peopleUrl: string
  /** Holds an access token for whoever wants to try on; readable by its owner alone. */
  readonly tokenFile: string
  /** The copy of the sheets that the broker goes by. */
  readonly actionsFolder: string
  /** Holds the broker's control socket. */
  readonly dataFolder: string
  /** An access token of a new run. */
  mintToken (): Promise<string>
  /** Stops the broker and the shop and removes the folder. */
  close (): Promise<void>
}

/** @throws CommandFault, ConfigFaults, and what starting a broker throws; nothing is left behind */
export async function openStage (ask: Pick<Ask, 'env' | 'startBroker'>): Promise<Stage> {
  const own = ownSettings(ask.env)
  const folder = await mkdtemp(join(tmpdir(), 'aval-demo-'))
  const closers: Array<() => Promise<void>> = [() => rm(folder, { recursive: true, force: true })]
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    const keys = { apiKey: randomBytes(24).toString('base64url'), readKey: randomBytes(24).toString('base64url') }
    const shop = await startShop({ port: 0, ...keys })
    closers.push(shop.close)
    const key = await makeDemoKey()
    await writeFile(join(folder, 'jwks.json'), JSON.stringify(key.jwks))
    const dataFolder = join(folder, 'data')
    await mkdir(dataFolder, { mode: 0o700 })
    const actionsFolder = await placeSheets(folder, { url: shop.url, ...keys })
    // People are sent back to an address that their provider knows, so its port is chosen before anything listens there.
    const people = await peopleAddress(own['AVAL_PEOPLE'])
    const peopleUrl = `http://${people}`
    const idp = await startDemoIdp(() => `${peopleUrl}/sign-in/callback`)
    closers.push(idp.close)
    const config = readConfig({
      AVAL_AGENTS: await freeOr(8080),
      AVAL_OPERATIONS: await freeOr(9090),
      AVAL_LOG: 'silent',
      ...own,
      AVAL_PEOPLE: people,
      AVAL_PEOPLE_ISSUER: idp.issuer,
      AVAL_PEOPLE_CLIENT: DEMO_CLIENT,
      AVAL_PEOPLE_ORIGIN: peopleUrl,
      AVAL_PEOPLE_ROLES: 'claim=roles,shop_lead=shop_lead,operator=operator',
      AVAL_ACTIONS: actionsFolder,
      AVAL_OPENAPI: BUNDLED.openapiFolder,
      AVAL_DATA: dataFolder,
      AVAL_ISSUER: ISSUER,
      AVAL_AUDIENCE: AUDIENCE,
      AVAL_JWKS: `file:${join(folder, 'jwks.json')}`,
    })
    requireLoopback(config)
    const broker = await ask.startBroker(config, { demo: true })
    closers.push(() => broker.close())
    const mint = (): Promise<string> => mintToken({
      key,
      issuer: ISSUER,
      audience: AUDIENCE,
      sub: 'agent-demo',
      roles: ['shop_assistant', 'shop_manager', 'shop_deployer'],
      run: `run-${randomUUID()}`,
      ttlSeconds: 8 * 3_600,
      claims: { customers: ['cus_1001', 'cus_1002', 'cus_1003'], environments: ['staging'] },
    })
    const tokenFile = join(folder, 'token')
    await writeFile(tokenFile, await mint(), { mode: 0o600 })
    return { shop, broker, peopleUrl, tokenFile, actionsFolder, dataFolder, mintToken: mint, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** A setting that the tour would override is refused, so that nobody takes the tour for the broker that they have configured. */
function ownSettings (env: Environment): Environment {
  const names = Object.keys(env).filter(name => name.startsWith('AVAL_'))
  const foreign = names.filter(name => !OWN_SETTINGS.includes(name))
  if (foreign.length > 0) throw new CommandFault(`the demo makes its own ${foreign.join(', ')}; unset it, or run aval serve`)
  return Object.fromEntries(names.map(name => [name, env[name]]))
}

/** Anyone who reaches the demo can be anyone: that must be nobody but whoever is at this machine. */
function requireLoopback ({ agents, people, operations }: Config): void {
  if (![agents, people?.address, operations].every(address => address?.loopback === true)) throw new CommandFault(LOOPBACK_ALONE)
}

const LOOPBACK_ALONE = 'the demo signs people in without a password, so all its listeners are on loopback'

/** With a port that is known: 8081, or any where somebody has it already. */
async function peopleAddress (own: string | undefined): Promise<string> {
  if (own === undefined) return `127.0.0.1:${await tryPort(8081) ?? await tryPort(0) ?? 0}`
  const match = /^(127(?:\.\d{1,3}){3}|localhost|\[::1\]):(\d{1,5})$/.exec(own)
  if (match === null) throw new CommandFault(LOOPBACK_ALONE)
  return match[2] === '0' ? `${match[1]}:${await tryPort(0) ?? 0}` : own
}

/** The usual port, or any where somebody has it already. */
const freeOr = async (port: number): Promise<string> => `127.0.0.1:${await tryPort(port) ?? 0}`

/** null: somebody has it. */
function tryPort (port: number): Promise<number | null> {
  return new Promise(resolve => {
    const probe = createServer()
    probe.once('error', () => resolve(null))
    probe.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      const taken = (probe.address() as AddressInfo).port
      probe.close(() => resolve(taken))
    })
  })
}
