// The agents as a process of their own: so many stories at once, over and over, until told to stop.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import type { SigningKey } from '../../src/commands/signing-key.ts'
import { AgentRun, signingKeyOf, type World } from './agent-run.ts'
import type { AgentOrders, AgentReport, AgentsOptions } from './agents.ts'
import { draw } from './folder.ts'
import { LineFile } from './line-file.ts'
import { ACTIONS, pick, STORIES, type Told } from './stories.ts'

/** Stories that share a run, one after the other or at once. */
const STORIES_OF_RUN = 24
const PATIENCE_MS = 40_000

const options = JSON.parse(process.argv[2]!) as AgentsOptions
const number = options.number ?? 0
let draws = 0
let told = 0
let stopping = false

const world: World = {
  history: new LineFile(join(options.folder, `history-${number}.jsonl`)),
  // As many as are ever asked at once: who waits for a connection waits for no broker.
  dispatcher: new Agent({ connections: 1_024, pipelining: 1, allowH2: false, keepAliveTimeout: 4_000 }),
  urls: options.replicas,
  key: await signingKeyOf(JSON.parse(readFileSync(join(options.folder, 'credentials/signing.json'), 'utf8')) as SigningKey),
  counts: { asks: 0, answers: 0, lost: 0, errands: 0, ended: 0 },
  random: () => draw(options.seed, 'agent', number, draws++),
}

const isTold = (name: string, asksPeople = false): boolean => options.stories?.includes(name) ?? (!asksPeople || options.people === true)
const stories = Object.entries(STORIES).filter(([name, { asksPeople }]) => isTold(name, asksPeople)).map(([name, { share }]) => [name, share] as const)
const actions = Object.entries(ACTIONS).filter(([name]) => options.actions?.includes(name) ?? true)

let shared: AgentRun | null = null

function runFor ({ alone, asksPeople }: Told): AgentRun {
  const tenant = options.tenants[Math.floor(world.random() * options.tenants.length)]!
  if (asksPeople === true) return new AgentRun(world, tenant, `run-${number}-asked-${told}`, `agent-${number}-${told}`)
  if (alone === true) return new AgentRun(world, tenant, `run-${number}-alone-${told}`)
  if (shared === null || told % STORIES_OF_RUN === 0) shared = new AgentRun(world, tenant, `run-${number}-${told}`)
  return shared
}

async function tell (): Promise<void> {
  const name = pick(stories, world.random())
  const story = STORIES[name]!
  const run = runFor(story)
  const action = pick(actions, world.random())
  const errand = `e${number}-${told++}`
  world.counts.errands += 1
  await story.tell({ world, run, name: errand, action, patienceMs: options.patienceMs ?? PATIENCE_MS })
  world.counts.ended += 1
}

async function keepTelling (at: number): Promise<void> {
  const everyMs = options.rate === undefined ? 0 : (options.atOnce ?? 64) / options.rate * 1_000
  await sleep(everyMs * at / (options.atOnce ?? 64))
  while (!stopping) {
    const startedAtMs = performance.now()
    await tell()
    const leftMs = everyMs - (performance.now() - startedAtMs)
    if (leftMs > 0) await sleep(leftMs)
  }
}

const report = (type: AgentReport['type']): void => { process.send!({ type, counts: world.counts } satisfies AgentReport) }

process.on('message', (order: AgentOrders) => {
  switch (order.type) {
    case 'replicas': world.urls = order.replicas; break
    case 'counts': report('counts'); break
    case 'stop': stopping = true; break
  }
})
process.on('disconnect', () => process.exit(0))

report('ready')
await Promise.all(Array.from({ length: options.atOnce ?? 64 }, (_, at) => keepTelling(at)))
world.history.close()
report('stopped')
process.disconnect()
