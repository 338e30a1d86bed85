// What must have been done to a run for its result to say anything. A run in which less fired is invalid, whatever it found.
import { FAILPOINTS } from '../../src/failpoints.ts'
import type { Fired } from './chronicle.ts'
import { BLOW_NAMES } from './redis-nemesis.ts'

export interface Minimum {
  readonly attempts: number
  /** kill -9 of a broker, failpoints included. */
  readonly kills: number
  readonly stops: number
  readonly redisKills: number
  readonly network: number
  /** Truncations of the append-only file; 0: the store is not made to forget. */
  readonly truncations: number
  /** So often each kind of blow to Redis must have fallen, and each way to make it forget; 0: it does not matter. */
  readonly blows: number
  readonly failpoint: {
    readonly times: number
    /** So many of them must have fired so often; null: all. */
    readonly names: number | null
  }
}

export interface Tally {
  readonly name: string
  readonly fired: number
  readonly wanted: number
}

const sum = (fired: Fired, start: string): number => Object.entries(fired).reduce((total, [name, times]) => name.startsWith(start) ? total + times : total, 0)

const NAMES = Object.keys(FAILPOINTS)

/** @param stores which ones the run has: the other one passes no failpoint of its own */
export function tally (fired: Fired, attempts: number, minimum: Minimum): readonly Tally[] {
  const blows = BLOW_NAMES.filter(name => (fired[name] ?? 0) >= minimum.blows)
  const often = NAMES.filter(name => (fired[`failpoint:${name}`] ?? 0) >= minimum.failpoint.times)
  return [
    { name: 'attempts', fired: attempts, wanted: minimum.attempts },
    { name: 'kill -9 of a broker', fired: fired['kill'] ?? 0, wanted: minimum.kills },
    { name: 'SIGSTOP of a broker', fired: fired['stop'] ?? 0, wanted: minimum.stops },
    { name: 'kill -9 of Redis', fired: fired['redis:kill'] ?? 0, wanted: minimum.redisKills },
    { name: 'network faults', fired: sum(fired, 'network:'), wanted: minimum.network },
    { name: 'truncations of the append-only file', fired: fired['state-loss:aof truncation'] ?? 0, wanted: minimum.truncations },
    ...minimum.blows === 0 ? [] : [{ name: `kinds of blows to Redis that fell ${minimum.blows} times`, fired: blows.length, wanted: BLOW_NAMES.length }],
    { name: `failpoints that fired ${minimum.failpoint.times} times`, fired: often.length, wanted: minimum.failpoint.names ?? NAMES.length },
  ]
}

export const missingFailpoints = (fired: Fired, times: number): readonly string[] =>
  NAMES.filter(name => (fired[`failpoint:${name}`] ?? 0) < times).map(name => `${name} (${fired[`failpoint:${name}`] ?? 0})`)

export const isMet = (tallies: readonly Tally[]): boolean => tallies.every(({ fired, wanted }) => fired >= wanted)

export function addFired (one: Fired, other: Fired): Fired {
  const all: Record<string, number> = { ...one }
  for (const [name, times] of Object.entries(other)) all[name] = (all[name] ?? 0) + times
  return all
}
