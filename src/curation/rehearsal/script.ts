// What the upstream of a rehearsal answers: for each operation a list of reactions, taken in turn, of which the last one stays.
import type { Action } from '../../catalog/catalog.ts'
import { isNamed, nameOf, operationOf } from './operations.ts'
import { REFUSING, type Reaction, type Recorded, type Recorder } from './recorder.ts'

export interface ScriptedReaction {
  /** `operationId`, or `METHOD /path`. */
  readonly operation: string
  /** Asked when the request has arrived: what it answers may rest on what was sent. */
  react (): Reaction
}

/** Plays the script until another one is set. What nothing is scripted for is refused. */
export function play (recorder: Recorder, action: Action, script: readonly ScriptedReaction[]): void {
  const left = [...script]
  recorder.script = recorded => {
    const operation = operationOf(action, recorded)
    if (operation === null) return REFUSING
    const fitting = left.filter(({ operation: name }) => isNamed(operation, name))
    const next = fitting[0]
    if (next === undefined) return REFUSING
    if (fitting.length > 1) left.splice(left.indexOf(next), 1)
    return next.react()
  }
}

/** What was asked, in words: `updateCustomer` of the action's own operations, else method and path. */
export function askedOf (action: Action, recorded: Recorded): string {
  const operation = operationOf(action, recorded)
  return operation === null ? `${recorded.method} ${recorded.path}` : nameOf(operation)
}
