// What scripts answer, read back. A reply of another form than the scripts beside this file give is a state that cannot be read.
import type { AttemptRecord, AttemptState } from '../attempts/attempt.ts'
import { unpack, type Stamps } from './codec.ts'
import { judgeRepeat } from './recall.ts'
import { StateUnavailable, type Recalled, type RecordName } from './store.ts'

export function list (reply: unknown): readonly unknown[] {
  if (!Array.isArray(reply)) throw new StateUnavailable('Redis: a reply is not the list that was asked for')
  return reply
}

export function text (reply: unknown): string {
  if (typeof reply !== 'string') throw new StateUnavailable('Redis: a reply is not the text that was asked for')
  return reply
}

export const number = (reply: unknown): number => {
  const value = typeof reply === 'number' ? reply : Number(text(reply))
  if (!Number.isSafeInteger(value)) throw new StateUnavailable('Redis: a reply is not the number that was asked for')
  return value
}

/** `{fields, result}` as the scripts give an attempt, or null. */
export function attemptOf (reply: unknown): AttemptRecord | null {
  if (reply === null) return null
  const [flat, result] = list(reply)
  const fields = new Map<string, string>()
  const pairs = list(flat)
  for (let index = 0; index < pairs.length; index += 2) fields.set(text(pairs[index]), text(pairs[index + 1]))
  const time = (name: string): number | null => fields.has(name) ? number(fields.get(name)) : null
  return unpack({
    format: number(fields.get('format')),
    id: text(fields.get('id')),
    revision: number(fields.get('revision')),
    state: text(fields.get('state')) as AttemptState,
    token: text(fields.get('token')),
    body: text(fields.get('body')),
    preparedAtMs: number(fields.get('preparedAtMs')),
    dispatchedAtMs: time('dispatchedAtMs'),
    unknownAtMs: time('unknownAtMs'),
    firstAbsentAtMs: time('firstAbsentAtMs'),
    settledAtMs: time('settledAtMs'),
    dueAtMs: time('dueAtMs'),
  }, result === null ? null : text(result))
}

/** The six times of an attempt, in the order of `change.lua`. */
export function stampsOf (reply: unknown): Stamps {
  const times = list(reply)
  const at = (index: number): number | null => times[index] === null ? null : number(times[index])
  return {
    preparedAtMs: number(times[0]), dispatchedAtMs: at(1), unknownAtMs: at(2), firstAbsentAtMs: at(3), settledAtMs: at(4), dueAtMs: at(5),
  }
}

/** `{now, latest attempt, stopped, calls, last write, unresolved}` */
export function recalledOf (name: RecordName, reply: readonly unknown[]): Recalled {
  const [nowMs, latest, stopped, calls, lastWrite, unresolved] = reply
  return {
    finding: judgeRepeat(name, attemptOf(latest), lastWrite === null ? null : text(lastWrite), number(nowMs)),
    runStopped: stopped !== null,
    calls: calls === null ? 0 : number(calls),
    unresolved: number(unresolved),
    atMs: number(nowMs),
  }
}
