// How many attempts a look-up, or their deadline, may still settle. Those that wait for a person are not among them.
import { Redis } from 'ioredis'
import { RECORD_FORMAT } from '../../src/attempts/attempt.ts'
import { keysOf, TAGS } from '../../src/store/redis-keys.ts'

export async function unsettledInRedis (port: number): Promise<number> {
  const redis = new Redis({ port, host: '127.0.0.1', protocol: 2, maxRetriesPerRequest: 5 })
  try {
    const counts = await Promise.all(TAGS.map(tag => redis.zcard(keysOf(tag).due(RECORD_FORMAT))))
    return counts.reduce((sum, count) => sum + count, 0)
  } finally {
    redis.disconnect()
  }
}

/** By the broker's own gauges, for nobody else can read its file: those that are unknown or pending, as of a few seconds ago. */
export async function unresolvedBy (operationsUrl: string): Promise<number> {
  const text = await (await fetch(`${operationsUrl}/metrics`)).text()
  return [...text.matchAll(/^aval_attempts\{state="(?:unknown|pending)"\} (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0)
}
