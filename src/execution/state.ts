// Every use of the store by a step goes through here: it is timed, and a store that cannot answer is one refusal.
import { Refusal } from '../errors.ts'
import type { Services } from './services.ts'

/** @throws Refusal STATE_UNAVAILABLE: nothing was sent on the strength of this */
export async function reachState<T> (services: Pick<Services, 'telemetry' | 'clock'>, verb: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await timedState(services, verb, ask)
  } catch (error) {
    throw Refusal.of('STATE_UNAVAILABLE', { retryAfterSeconds: 1, internal: `${verb}: ${messageOf(error)}` })
  }
}

/** The same, for whoever must tell a store that cannot answer from everything else. */
export async function timedState<T> (services: Pick<Services, 'telemetry' | 'clock'>, verb: string, ask: () => Promise<T>): Promise<T> {
  const startedAtMs = services.clock.nowMs()
  let ok = false
  try {
    const answer = await ask()
    ok = true
    return answer
  } finally {
    services.telemetry.store({ verb, ok, durationMs: services.clock.nowMs() - startedAtMs })
  }
}

export const messageOf = (error: unknown): string => error instanceof Error ? `${error.name}: ${error.message}` : String(error)
