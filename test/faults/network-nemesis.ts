// What can befall the ways between the brokers, their store and the upstream: fates of single connections, drawn when they are made, and partitions now
// and then.
import type { Chronicle } from './chronicle.ts'
import type { Direction, Fate, FaultProxy } from './fault-proxy.ts'
import type { Random } from './random.ts'

/** What is held longer would arrive when nothing can be under way any more: the sheets of the rig allow for a second. */
const HELD_MS_MAX = 700

export interface Weather {
  /** Of connections, from 0 to 1, that meet a fate. */
  share: number
}

/** A way to the upstream. Those that nothing worse befalls are ended after a dozen answers or two, as servers do, whether or not a request is on the way. */
export function upstreamFate (random: Random, weather: Weather): Fate | null {
  if (weather.share === 0) return null
  if (!random.chance(weather.share)) return { kind: 'end', direction: 'down', bytes: random.whole(2_000, 10_000) }
  const direction = random.one<Direction>(['up', 'down'])
  switch (random.whole(0, 9)) {
    case 0: return { kind: 'reset at accept' }
    case 1: case 2: return { kind: 'cut', direction, bytes: random.whole(0, 1_400) }
    case 3: return { kind: 'end', direction, bytes: random.whole(0, 1_400) }
    case 4: case 5: return { kind: 'drop reply', nth: random.whole(1, 3) }
    case 6: return { kind: 'hold', direction: random.one(['up', 'down', 'both']), bytes: random.whole(0, 1_400), ms: random.whole(100, HELD_MS_MAX) }
    case 7: return { kind: 'throttle', bytesPerSecond: random.whole(1_000, 20_000) }
    default: return { kind: 'delay', ms: random.whole(1, 150), jitterMs: random.whole(0, 150) }
  }
}

/** A way to Redis: one long connection, which ends badly after a while. */
export function redisFate (random: Random, weather: Weather): Fate | null {
  if (!random.chance(weather.share)) return null
  const direction = random.one<Direction>(['up', 'down'])
  const bytes = random.whole(1_000, 150_000)
  switch (random.whole(0, 6)) {
    case 0: return { kind: 'reset at accept' }
    case 1: case 2: return { kind: 'cut', direction, bytes }
    case 3: return { kind: 'drop reply', nth: random.whole(1, 200) }
    case 4: return { kind: 'hold', direction: random.one(['up', 'down', 'both']), bytes, ms: random.whole(100, 3_000) }
    case 5: return { kind: 'end', direction, bytes }
    default: return { kind: 'delay', ms: random.whole(1, 40), jitterMs: random.whole(0, 60) }
  }
}

export interface NetworkGround {
  readonly chronicle: Chronicle
  readonly random: Random
  readonly upstream: FaultProxy
  readonly redis: readonly FaultProxy[]
}

/** One replica is cut off from the store, or all of them from the upstream, one way or both, or refused. */
export async function partitionOne ({ random, upstream, redis }: NetworkGround): Promise<void> {
  const direction = random.one(['up', 'down', 'both'] as const)
  if (redis.length > 0 && random.chance(0.6)) {
    const way = random.one(redis)
    if (random.chance(0.15)) await way.refuse(random.between(100, 1_500))
    else await way.partition(direction, random.between(100, 2_500))
  } else if (random.chance(0.4)) upstream.reset()
  else if (random.chance(0.3)) await upstream.refuse(random.between(50, 1_500))
  else await upstream.partition(direction, random.between(50, HELD_MS_MAX))
}
