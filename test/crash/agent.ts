// An agent that does not give up: it repeats a call under one key, on whatever broker there is, until it hears how the call ended.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Json } from '../../src/catalog/catalog.ts'
import type { Client, Reached } from '../support/broker.ts'

export interface Errand {
  readonly token: string
  readonly action: string
  readonly args: Json
  readonly key: string
  /** Told of every answer that came. */
  readonly heard?: (answer: Reached) => void
}

/** The last answer: settled, and not to be tried again. @throws where the time is over before that, or the call was refused for good */
export async function persist (broker: () => Client | null, errand: Errand, isOver: () => boolean): Promise<Reached> {
  const { key } = errand
  let last: Reached | null = null
  while (!isOver()) {
    const client = broker()
    const answer = client === null ? null : await ask(client, errand)
    if (answer !== null) {
      last = answer
      errand.heard?.(answer)
      if (answer.status === 200 && answer.body.error?.retryable !== true) return answer
      if (answer.status >= 400 && answer.body.error.retryable !== true) throw new Error(`${key} was refused: ${JSON.stringify(answer.body)}`)
    }
    await sleep(answer?.status === 202 ? 150 : 40)
  }
  throw new Error(`${key} was never settled; last heard: ${JSON.stringify(last?.body ?? null)}`)
}

/** Null where no answer came: the broker has died, or was dead. */
export async function ask (client: Client, { token, action, args, key }: Errand): Promise<Reached | null> {
  try {
    return await client.call(token, action, args, key)
  } catch {
    return null
  }
}
