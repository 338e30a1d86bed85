// What can befall the store: it dies and comes back, stands still, loses its connections, its scripts or its room, becomes a replica, and, where the
// brokers must survive that too, forgets what it acknowledged.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Chronicle } from './chronicle.ts'
import type { Random } from './random.ts'
import type { RedisPair } from './redis-pair.ts'
import { STATE_LOSS } from './evidence.ts'

export interface RedisGround {
  readonly pair: RedisPair
  readonly chronicle: Chronicle
  readonly random: Random
  /** From now on the brokers' ways to the store lead to this port. */
  readonly led: (port: number) => void
}

type Blow = (ground: RedisGround) => Promise<void>

/** While the store can take nothing, as far as its nemesis knows. */
async function down (ground: RedisGround, during: () => Promise<unknown>): Promise<void> {
  ground.chronicle.tell('redis', { state: 'down' })
  try {
    await during()
  } finally {
    ground.chronicle.tell('redis', { state: 'up' })
  }
}

const kill: Blow = ground => down(ground, async () => {
  await ground.pair.primary.kill9()
  await sleep(ground.random.between(50, 500))
  await ground.pair.primary.restart()
})

const stop: Blow = ground => down(ground, () => stopped(ground.pair.primary.pid(), ground.random.between(200, 2_500)))

async function stopped (pid: number, ms: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  await sleep(ms)
  process.kill(pid, 'SIGCONT')
}

const clientKill: Blow = async ({ pair }) => { await pair.primary.command('CLIENT', 'KILL', 'TYPE', 'normal') }
const clientPause: Blow = async ({ pair, random }) => {
  const ms = random.whole(200, 1_500)
  await pair.primary.command('CLIENT', 'PAUSE', String(ms), random.chance(0.5) ? 'ALL' : 'WRITE')
  await sleep(ms)
}
const scriptFlush: Blow = async ({ pair }) => { await pair.primary.command('SCRIPT', 'FLUSH') }
const debugSleep: Blow = async ({ pair, random }) => { await pair.primary.command('DEBUG', 'SLEEP', random.between(0.2, 1.4).toFixed(2)) }
const noRoom: Blow = async ({ pair, random }) => {
  await pair.primary.command('CONFIG', 'SET', 'maxmemory', '1mb')
  await sleep(random.between(200, 1_000))
  await pair.primary.command('CONFIG', 'SET', 'maxmemory', '0')
}
/** A replica of a primary that is not there keeps what it has and takes nothing. */
const readOnly: Blow = async ({ pair, random }) => {
  await pair.primary.command('REPLICAOF', '127.0.0.1', '1')
  await sleep(random.between(200, 1_200))
  await pair.primary.command('REPLICAOF', 'NO', 'ONE')
}

const truncation: Blow = ground => down(ground, async () => {
  const { pair, random, chronicle } = ground
  chronicle.count('redis:kill')
  await pair.primary.kill9()
  if (pair.truncate(random.whole(200, 30_000)) > 0) chronicle.count(`${STATE_LOSS}aof truncation`)
  await pair.primary.restart()
})
const flush: Blow = async ({ pair, chronicle }) => {
  chronicle.count(`${STATE_LOSS}flushall`)
  await pair.primary.command('FLUSHALL')
}
const promotion: Blow = ground => {
  ground.chronicle.count(`${STATE_LOSS}promotion`)
  return ground.pair.failOver(ground.random.between(100, 900), ground.led, work => down(ground, work))
}

interface Row {
  readonly share: number
  readonly blow: Blow
}

const BLOWS: Readonly<Record<string, Row>> = {
  kill: { share: 22, blow: kill },
  stop: { share: 3, blow: stop },
  'client kill': { share: 4, blow: clientKill },
  'client pause': { share: 3, blow: clientPause },
  'script flush': { share: 3, blow: scriptFlush },
  'debug sleep': { share: 3, blow: debugSleep },
  'no room': { share: 3, blow: noRoom },
  'read only': { share: 3, blow: readOnly },
}

const LOSSES: Readonly<Record<string, Row>> = {
  truncation: { share: 6, blow: truncation },
  flushall: { share: 2, blow: flush },
  promotion: { share: 3, blow: promotion },
}

/** As they are counted. */
export const BLOW_NAMES: readonly string[] = [...Object.keys(BLOWS).map(name => `redis:${name}`), ...['aof truncation', 'flushall', 'promotion'].map(name => `${STATE_LOSS}${name}`)]

/** One blow, to its end. */
export async function strikeRedis (ground: RedisGround): Promise<void> {
  const rows = Object.entries(BLOWS)
  let left = ground.random.next() * rows.reduce((sum, [, { share }]) => sum + share, 0)
  const [name, { blow }] = rows.find(([, { share }]) => (left -= share) < 0) ?? rows[0]!
  ground.chronicle.count(`redis:${name}`)
  await blow(ground)
}

/** Makes the store forget something that it acknowledged. */
export async function makeRedisForget (ground: RedisGround): Promise<void> {
  const rows = Object.entries(LOSSES).filter(([name]) => name !== 'promotion' || ground.pair.hasStandby)
  let left = ground.random.next() * rows.reduce((sum, [, { share }]) => sum + share, 0)
  const [name, { blow }] = rows.find(([, { share }]) => (left -= share) < 0) ?? rows[0]!
  ground.chronicle.tell(`state-loss ${name}`)
  await blow(ground)
}
