// What all schedules share, and how many of them are run one after the other.
import { join } from 'node:path'
import { Identity } from '../../src/attempts/identity.ts'
import { loadCatalog } from '../../src/catalog/load.ts'
import type { Caller } from '../../src/execution/call.ts'
import { Secret } from '../../src/secret.ts'
import { Fired } from './rows.ts'
import { runSchedule, type Result, type Stage } from './schedule.ts'

const HERE = import.meta.dirname
const FAILURES_TOLD = 5

/** Names of attempts say nothing in a simulation: what is hashed for the audit alone is left out. */
class QuietIdentity extends Identity {
  override mark (): string { return 'h1:' }
}

export async function openStage (): Promise<Stage> {
  const catalog = await loadCatalog({ actionsFolder: join(HERE, 'actions'), openapiFolder: join(HERE, 'openapi') })
  const identity = new QuietIdentity(new Secret('env:SIM', Buffer.alloc(32, 3)))
  const callers = new Map(['run 1', 'run 2', 'run 3'].map(run => [run, callerOf(run, identity)]))
  return { catalog, identity, callers }
}

function callerOf (run: string, identity: Identity): Caller {
  const owner = { iss: 'https://issuer.example', sub: 'agent', tenant: 'default', run }
  return {
    ...owner, roles: ['worker'], claimedActions: null, claims: {}, expiresAt: Number.MAX_SAFE_INTEGER,
    view: { sub: owner.sub, tenant: owner.tenant, run, claims: {} }, runKey: identity.runKey(owner), tag: identity.tag(owner.tenant),
  }
}

export interface Summary {
  readonly schedules: number
  readonly events: number
  readonly attempts: number
  readonly effects: number
  readonly fired: Fired
  readonly failed: readonly Result[]
}

export async function runMany (stage: Stage, firstSeed: number, schedules: number, failuresMax = FAILURES_TOLD): Promise<Summary> {
  const fired = new Fired()
  const failed: Result[] = []
  let [events, attempts, effects, done] = [0, 0, 0, 0]
  // Refusals are how a call ends here, thousands of times a second; nobody reads where they were made.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  for (let index = 0; index < schedules && failed.length < failuresMax; index++) {
    const result = await runSchedule(stage, firstSeed + index)
    done++
    events += result.events
    attempts += result.attempts
    effects += result.effects
    fired.add(result.fired)
    // Told again with its steps: the same seed is the same schedule.
    if (result.violations.length > 0) failed.push(await runSchedule(stage, result.seed, true))
    if (index % 100 === 0) await new Promise(setImmediate)
  }
  Error.stackTraceLimit = stackTraceLimit
  return { schedules: done, events, attempts, effects, fired, failed }
}

export function tellFailure ({ seed, themes, violations, steps }: Result): string {
  return [`seed ${seed} (${themes.join(', ')}): ${violations.join('; ')}`, ...steps, `Again: SEED=${seed} npm run sim`].join('\n')
}
