// Opens the stage of a rehearsal: a broker as `serve` starts it, with an embedded store and keys made on the spot in a folder that is gone
// afterwards, in front of a recording upstream.
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Catalog } from '../catalog/catalog.ts'
import { readConfig } from '../config.ts'
import { startRecorder } from '../curation/rehearsal/recorder.ts'
import { rehearsed, REHEARSAL_SECRETS, type Rehearsing } from '../curation/rehearsal/rehearsed.ts'
import type { Consenting, RehearsedCaller, Stage, StandIns } from '../curation/rehearsal/stage.ts'
import { brokerClient } from './broker-client.ts'
import type { BrokerOptions } from './broker.ts'
import type { Ask } from './command.ts'
import { Crowd, MovableTime, standIns } from './stand-ins.ts'
import { makeSigningKey, mintToken, type SigningKey } from './token.ts'

const ISSUER = 'https://issuer.rehearsal.aval.example'
const AUDIENCE = 'https://rehearsal.aval.example'
const TOKENS_MAX = 1_000

/** @throws what starting a broker throws; nothing is left behind */
export async function openStage (
  ask: Pick<Ask, 'startBroker'>, whole: Catalog, consenting: Consenting, { sunset }: Pick<Rehearsing, 'sunset'> = { sunset: 'ignored' }
): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'aval-rehearsal-'))
  const closers: Array<() => Promise<unknown>> = [() => rm(folder, { recursive: true, force: true })]
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    const upstream = await startRecorder()
    closers.push(() => upstream.close())
    const key = await makeSigningKey()
    await writeFile(join(folder, 'jwks.json'), JSON.stringify(key.jwks))
    await mkdir(join(folder, 'data'), { mode: 0o700 })
    const secrets = { read: secret(), write: secret() }
    const catalog = rehearsed(whole, { origin: upstream.origin, consent: consenting === 'given' ? 'given' : 'asked', sunset })
    const asked = consenting === 'people' ? openPeople() : null
    const broker = await ask.startBroker(readConfig({
      AVAL_DATA: join(folder, 'data'),
      AVAL_AGENTS: '127.0.0.1:0',
      AVAL_OPERATIONS: '127.0.0.1:0',
      AVAL_ISSUER: ISSUER,
      AVAL_AUDIENCE: AUDIENCE,
      AVAL_JWKS: `file:${join(folder, 'jwks.json')}`,
      AVAL_RATE: 'token=900000/s,address=900000/s,burst=9s',
      AVAL_LOG: 'silent',
      [REHEARSAL_SECRETS.read]: secrets.read,
      [REHEARSAL_SECRETS.write]: secrets.write,
    }), { catalog: async () => catalog, embedded: { passing: true }, ...asked?.options })
    closers.push(() => broker.close())
    const token = tokens(key)
    return {
      catalog,
      upstream,
      secrets,
      async call ({ action, text, key: idempotencyKey, caller }) {
        const client = brokerClient(broker.agentsUrl, await token(caller))
        const question = { body: `{"arguments":${text}}`, ...(idempotencyKey === null ? {} : { idempotencyKey }) }
        const { status, body } = await client.ask('POST', `/v1/actions/${encodeURIComponent(action)}`, question)
        return { status, envelope: body }
      },
      async attempt (id, caller, waitMs) {
        const client = brokerClient(broker.agentsUrl, await token(caller))
        const { status, body } = await client.ask('GET', `/v1/attempts/${id}?wait=${waitMs}ms`)
        return { status, envelope: body }
      },
      async commit (proposalId, caller) {
        const client = brokerClient(broker.agentsUrl, await token(caller))
        const { status, body } = await client.ask('POST', `/v1/proposals/${proposalId}/commit`)
        return { status, envelope: body }
      },
      people () {
        if (asked === null) throw new Error('nobody can be asked on this stage')
        return asked.of(catalog)
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

interface Asked {
  readonly options: Required<Pick<BrokerOptions, 'people' | 'embedded'>>
  /** Once the broker is open. */
  of (catalog: Catalog): StandIns
}

function openPeople (): Asked {
  const time = new MovableTime()
  const crowd = new Crowd()
  let store: Parameters<Asked['options']['people']>[0] | null = null
  return {
    options: {
      embedded: { wallMs: time.nowMs, passing: true },
      people (opened) {
        store = opened
        return crowd.people
      },
    },
    of: catalog => standIns(store!, time, crowd, catalog),
  }
}

const secret = (): string => randomBytes(24).toString('base64url')

/** One token a caller. */
function tokens (key: SigningKey): (caller: RehearsedCaller) => Promise<string> {
  const known = new Map<string, Promise<string>>()
  return caller => {
    const name = JSON.stringify(caller)
    let token = known.get(name)
    if (token === undefined) {
      if (known.size >= TOKENS_MAX) known.clear()
      const { roles, tenant, run, claims } = caller
      token = mintToken({ key, issuer: ISSUER, audience: AUDIENCE, sub: 'agent-rehearsal', roles, tenant, claims, ...(run === null ? {} : { run }) })
      known.set(name, token)
    }
    return token
  }
}
