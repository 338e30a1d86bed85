// An errand of an agent, and how it is pursued until it has ended or is given up.
import { setTimeout as sleep } from 'node:timers/promises'
import type { JsonObject } from '../../src/catalog/catalog.ts'
import type { AgentRun, Errand, World } from './agent-run.ts'
import type { Heard } from './folder.ts'

export interface Stage {
  readonly world: World
  readonly run: AgentRun
  /** A name that no other errand has. */
  readonly name: string
  readonly action: string
  /** How long an errand is pursued. */
  readonly patienceMs: number
}

export type Story = (stage: Stage) => Promise<void>

const LANES = 12
const ITEMS = 60
/** Those that people are asked of: few, so that one is changed while another waits. */
const ASKED_ITEMS = 24
export const CONFLICTS_MAX = 4

/** The arguments of an errand; only those of shared objects are ever met by another one. */
export function argsOf (action: string, tenant: string, name: string, random: () => number): JsonObject {
  const one = (count: number): number => Math.floor(random() * count)
  switch (action) {
    case 'do_lane_work.v1': return { item: name, lane: `${tenant}-lane-${one(LANES)}`, amount: 1 + one(900) }
    case 'change_item.v1': return { item: `${tenant}-item-${one(ITEMS)}`, text: name }
    case 'change_asked_item.v1': return { item: `${tenant}-asked-${one(ASKED_ITEMS)}`, text: name }
    case 'set_item.v1': return { item: `${tenant}-set-${one(ITEMS)}`, text: name }
    case 'replace_item.v1': return { item: `${tenant}-replaced-${name}`, text: name }
    case 'get_item.v1': return { item: `${tenant}-item-${one(ITEMS)}` }
    default: return { item: name, amount: 1 + one(900) }
  }
}

export function errandOf ({ name, action, run, world }: Stage, story: string, more: Partial<Errand> = {}): Errand {
  return { name, story, part: 'one', action, args: argsOf(action, run.tenant, name, () => world.random()), key: `key-of-${name}`, ...more }
}

/** Asks on until the call has ended. null: it was given up; what became of it is then in the store alone. */
export async function pursue ({ world, run, patienceMs }: Stage, errand: Errand): Promise<Heard | null> {
  const endsAtMs = performance.now() + patienceMs
  const pause = (ms: number): Promise<void> => sleep(ms * (0.5 + world.random()))
  let conflicts = 0
  for (let pauseMs = 40; performance.now() < endsAtMs; pauseMs = Math.min(pauseMs * 1.6, 1_000)) {
    if (world.random() < 0.1) run.renew()
    let heard = await run.call(errand)
    if (heard?.status === 202 && heard.attempt !== null) heard = await awaitEnd(run, errand, heard.attempt, endsAtMs)
    if (heard?.status === 200) {
      if (heard.code === 'VERSION_CONFLICT' && ++conflicts < CONFLICTS_MAX) continue
      if (!heard.retryable) return heard
    }
    if (heard !== null && heard.status >= 400 && heard.status < 500 && !heard.retryable) return heard
    await pause(pauseMs)
  }
  return null
}

export async function awaitEnd (run: AgentRun, errand: Errand, attempt: string, endsAtMs: number): Promise<Heard | null> {
  for (let pauseMs = 100;; pauseMs = Math.min(pauseMs * 1.6, 1_000)) {
    const askedAtMs = performance.now()
    if (askedAtMs > endsAtMs) return null
    const heard = await run.get(errand, attempt, Math.round(Math.min(5_000, Math.max(100, endsAtMs - askedAtMs))))
    if (heard?.status === 200) return heard
    // What waits for a person is told at once, however long one would wait.
    if (performance.now() - askedAtMs < pauseMs) await sleep(pauseMs)
  }
}
