// How long a client waits for an answer.
import { performance } from 'node:perf_hooks'
import type { Answer } from '../execution/envelope.ts'
import type { Exchange } from './exchange.ts'

/** Clients give up after 60 s, some hosts sooner. What is answered then is with the client within 25 s. */
export const ANSWER_WITHIN_MS = 24_000

/** null where the answer takes longer. What was asked for goes on. */
export async function within (ms: number, { arrivedAtMs }: Pick<Exchange, 'arrivedAtMs'>, answering: Promise<Answer>): Promise<Answer | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>(resolve => { timer = setTimeout(resolve, Math.max(0, ms - (performance.now() - arrivedAtMs)), null) })
  try {
    return await Promise.race([answering, late])
  } finally {
    clearTimeout(timer)
  }
}
