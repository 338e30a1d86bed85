// What the tour plays on: the shop, the broker in front of it with its embedded store, and an access token, all made on the spot in a folder that
// is gone afterwards.
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig, type Environment } from '../../config.ts'
import { CommandFault, type Ask } from '../command.ts'
import { makeDemoKey, mintToken } from '../token.ts'
import { BUNDLED, placeSheets } from './sheets.ts'
import { startShop, type Shop } from './shop.ts'
import type { Broker } from '../broker.ts'

const ISSUER = 'https://issuer.demo.aval.example'
const AUDIENCE = 'https://demo.aval.example'
/** Settings that the tour leaves to whoever runs it; it makes all others itself. */
const OWN_SETTINGS = ['AVAL_AGENTS', 'AVAL_OPERATIONS', 'AVAL_HOSTS', 'AVAL_LOG']

export interface Stage {
  readonly shop: Shop
  readonly broker: Broker
  /** Holds an access token for whoever wants to try on; readable by its owner alone. */
  readonly tokenFile: string
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
    await mkdir(join(folder, 'data'), { mode: 0o700 })
    const config = readConfig({
      AVAL_AGENTS: await freeOr(8080),
      AVAL_OPERATIONS: await freeOr(9090),
      AVAL_LOG: 'silent',
      ...own,
      AVAL_ACTIONS: await placeSheets(folder, { url: shop.url, ...keys }),
      AVAL_OPENAPI: BUNDLED.openapiFolder,
      AVAL_DATA: join(folder, 'data'),
      AVAL_ISSUER: ISSUER,
      AVAL_AUDIENCE: AUDIENCE,
      AVAL_JWKS: `file:${join(folder, 'jwks.json')}`,
    })
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
    return { shop, broker, tokenFile, mintToken: mint, close }
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

/** The usual port, or any where somebody has it already. */
async function freeOr (port: number): Promise<string> {
  const free = await new Promise<boolean>(resolve => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ host: '127.0.0.1', port, exclusive: true }, () => probe.close(() => resolve(true)))
  })
  return `127.0.0.1:${free ? port : 0}`
}
