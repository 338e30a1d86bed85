// Places at which a test may kill, hold or break the process: before and after each step of a write, where people are asked and answer, in the look-ups,
// and in the store drivers. They are compiled in, so that what is tested is what is shipped; unless AVAL_FAILPOINTS arms some of them, each is one
// comparison.
//
//   AVAL_FAILPOINTS=after_mark:kill@0.01,before_settle:sleep(5000)
//
// kill: SIGKILL, as nothing else may run after it. sleep(MS): whoever passes waits. stall(MS): the whole process stands still, as while it is swapped
// out. error: a fault that no code expects is thrown. @SHARE: of those who pass, from 0 to 1; without it all of them.
import { appendFileSync } from 'node:fs'

/** By name: whether whoever passes can wait there. Where it cannot, `sleep` is refused. */
export const FAILPOINTS = Object.freeze({
  before_propose: 'waits',
  after_propose: 'waits',
  before_decide: 'waits',
  after_decide: 'waits',
  before_spend: 'waits',
  after_spend: 'waits',
  before_begin: 'waits',
  after_begin: 'waits',
  before_credential: 'waits',
  after_credential: 'waits',
  before_mark: 'waits',
  after_mark: 'waits',
  before_send: 'waits',
  at_request_start: 'passes',
  after_request_left: 'passes',
  after_head: 'passes',
  after_body: 'passes',
  after_send: 'waits',
  before_own_lookup: 'waits',
  after_own_lookup: 'waits',
  before_settle: 'waits',
  after_settle: 'waits',
  before_settle_again: 'waits',
  before_close_unsent: 'waits',
  before_answer: 'passes',
  before_audit_line: 'passes',
  before_claim_due: 'waits',
  after_claim_due: 'waits',
  before_sweep: 'waits',
  before_lookup: 'waits',
  after_lookup: 'waits',
  before_lookup_recorded: 'waits',
  after_lookup_recorded: 'waits',
  before_cancel: 'waits',
  after_cancel: 'waits',
  before_drain: 'waits',
  after_drain: 'waits',
  before_redis_begin: 'waits',
  after_redis_begin: 'waits',
  before_redis_change: 'waits',
  after_redis_change: 'waits',
  before_sqlite_commit: 'passes',
  after_sqlite_commit: 'passes',
} as const)

export type FailpointName = keyof typeof FAILPOINTS
type Waiting = { [Name in FailpointName]: (typeof FAILPOINTS)[Name] extends 'waits' ? Name : never }[FailpointName]

export interface ArmedFailpoint {
  readonly action: 'kill' | 'sleep' | 'stall' | 'error'
  /** Of sleep and stall. */
  readonly ms: number
  /** Of those who pass. */
  readonly share: number
}

export type FailpointPlan = ReadonlyMap<FailpointName, ArmedFailpoint>

export class FailpointReached extends Error {
  override readonly name = 'FailpointReached'
}

export const isFailpoint = (name: string): name is FailpointName => Object.hasOwn(FAILPOINTS, name)

let armed: { readonly plan: FailpointPlan, readonly reportPath: string } | null = null

/** @param reportPath where each firing is written down, `NAME ACTION` a line, before it fires; null plan: none are armed */
export function armFailpoints (plan: FailpointPlan | null, reportPath: string): void {
  armed = plan === null ? null : { plan, reportPath }
}

/** @throws FailpointReached where an error is armed here */
export function failpoint (name: Waiting): Promise<void> | undefined {
  return armed === null ? undefined : waiting(name)
}

/** The same where nothing can be waited for. @throws FailpointReached */
export function passFailpoint (name: FailpointName): void {
  if (armed !== null) fire(name)
}

async function waiting (name: FailpointName): Promise<void> {
  const sleepMs = fire(name)
  if (sleepMs > 0) await new Promise(resolve => setTimeout(resolve, sleepMs))
}

/** How long to wait. */
function fire (name: FailpointName): number {
  const point = armed?.plan.get(name)
  if (point === undefined || Math.random() >= point.share) return 0
  appendFileSync(armed!.reportPath, `${name} ${point.action}\n`)
  switch (point.action) {
    case 'sleep': return point.ms
    case 'stall':
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, point.ms)
      return 0
    case 'kill':
      process.kill(process.pid, 'SIGKILL')
      // The signal may be delivered a moment later; nothing more is done until then.
      for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    case 'error': throw new FailpointReached(`the failpoint ${name} is armed`)
  }
}
