// Time as a broker sees it pass: monotonic, and never the time of day. It is handed to whoever waits or measures, so that hours of waiting can be
// lived through in a moment where that is wanted.
import { setTimeout as sleep } from 'node:timers/promises'

export interface Clock {
  /** Milliseconds since some instant of the past; never goes backwards. */
  nowMs (): number
  /** @param idle this wait alone keeps no process alive */
  sleep (ms: number, idle?: 'idle'): Promise<void>
  /** Calls once, after so long; what it returns calls it off. */
  after (ms: number, work: () => void): () => void
  /**
   * Resolves when everything that this turn of the event loop had to hear has been heard. Calls that arrive, or are answered upstream, in one turn go
   * on together: each `await` of a step then passes from one call to the next, so that a step runs for all of them while its code is warm in the
   * processor's caches. Under load that halves what a call costs; a call that is alone goes on at the end of the same turn.
   */
  endOfTurn (): Promise<void>
}

let turn: Promise<void> | null = null

export const processClock: Clock = Object.freeze({
  nowMs: () => performance.now(),
  sleep: (ms: number, idle?: 'idle') => sleep(ms, undefined, { ref: idle === undefined }),
  after (ms: number, work: () => void) {
    const timer = setTimeout(work, ms)
    return () => { clearTimeout(timer) }
  },
  endOfTurn () {
    turn ??= new Promise(resolve => setImmediate(() => {
      turn = null
      resolve()
    }))
    return turn
  },
})
