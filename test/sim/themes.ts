// What a schedule is about: one or two kinds of trouble at a time, so that each of them is met often and all of them meet each other.
import type { AttemptRecord } from '../../src/attempts/attempt.ts'
import type { SimBroker } from './broker.ts'
import type { Schedule } from './schedule.ts'
import type { Phase } from './watch.ts'
import type { ReadManner, WriteManner } from './upstream.ts'

export interface Theme {
  readonly name: string
  /** Trouble that would hide what this one is about, or that nothing here protects from together with it: then it comes alone. */
  readonly alone?: true
  /** Processes end, and with them what they would have told. */
  readonly deadly?: true
  readonly action?: string
  brew (schedule: Schedule): void
}

const WRITES: readonly WriteManner[] = [
  'honest', 'honest', 'slow', 'late', 'lost_after', 'lost_before', 'cut', 'garbage', 'undelimited', 'no_content', 'accepted', 'accepted_blank',
  'echo', 'conflict', 'refused', 'forbidden', 'busy', 'fault_after', 'fault_before', 'moved', 'apply_late', 'job', 'job_failing',
]
const LOSSES: readonly WriteManner[] = [
  'late', 'lost_after', 'lost_before', 'cut', 'fault_after', 'fault_before', 'apply_late', 'job', 'accepted_blank',
]
const READS: readonly ReadManner[] = [
  'honest', 'error', 'silent', 'lost', 'unauthorised', 'gateway', 'page', 'blank', 'cut', 'other_arguments', 'hidden',
]

const strike = (schedule: Schedule, most: number, blow: (broker: SimBroker) => void): void => {
  const broker = schedule.world.chance.pick(schedule.brokers)
  const { world } = schedule
  // In the very moment, or a little later: while something is on its way that the process does not hear of yet.
  const laterMs = world.chance.hit(0.4) ? 0 : world.chance.between(1, 25)
  broker.process.strikeAfter(world.chance.between(0, most), () => {
    if (laterMs === 0) blow(broker)
    else world.in(laterMs, () => blow(broker))
  })
}

/** When a call has come so far, before it hears of anything else. */
const strikeAt = (schedule: Schedule, phase: Phase, blow: (broker: SimBroker) => void): void => {
  const { world, watch, brokers } = schedule
  let left = world.chance.between(1, 2)
  watch.onPhase = call => {
    if (call.phase !== phase || left-- <= 0) return
    const broker = brokers.find(({ process }) => process === call.process)!
    world.in(world.chance.pick([0, 0, 1, 5]), () => blow(broker))
  }
}

export const THEMES: readonly Theme[] = [
  { name: 'quiet', brew: () => {} },
  {
    name: 'kill',
    deadly: true,
    brew: schedule => {
      for (let kills = schedule.world.chance.between(1, 2); kills > 0; kills--) {
        strike(schedule, 30, broker => schedule.kill(broker, schedule.world.chance.between(50, 15_000)))
      }
    },
  },
  {
    name: 'kill at a step',
    deadly: true,
    brew: schedule => {
      const { chance } = schedule.world
      const phase = chance.pick<Phase>(['begun', 'reserved', 'marked', 'left', 'answered', 'answered', 'settled', 'settled'])
      strikeAt(schedule, phase, broker => schedule.kill(broker, chance.between(50, 15_000)))
    },
  },
  {
    name: 'stop at a step',
    brew: schedule => {
      const { chance } = schedule.world
      // While look-ups bring nothing, what its owner knows is all that can be known.
      if (chance.hit(0.6)) schedule.upstream.reads = () => chance.pick(['error', 'error', 'error', 'honest'])
      const phase = chance.pick<Phase>(['marked', 'marked', 'left', 'left', 'reserved', 'answered'])
      strikeAt(schedule, phase, broker => broker.stopFor(chance.pick([3_000, 5_000, 8_000, 30_000])))
    },
  },
  { name: 'stop', brew: schedule => strike(schedule, 25, broker => broker.stopFor(schedule.world.chance.pick([200, 1_500, 5_000, 30_000]))) },
  {
    name: 'end',
    deadly: true,
    brew: schedule => {
      schedule.weather.credentialMs = 400
      strike(schedule, 10, broker => schedule.drain(broker))
    },
  },
  {
    name: 'lossy store',
    brew: ({ world: { chance }, store }) => Object.assign(store.weather, {
      askLost: chance.pick([0, 0.1]), replyLost: chance.pick([0.1, 0.3]), askLate: chance.pick([0, 0.1, 0.3]),
    }),
  },
  {
    name: 'store down',
    brew: ({ world, store }) => {
      const state = world.chance.pick(['down', 'read_only'] as const)
      world.in(world.chance.between(0, 3_000), () => {
        world.tell('the store is', state)
        store.state = state
      })
      world.in(world.chance.between(3_000, 20_000), () => { store.state = 'up' })
    },
  },
  { name: 'hostile writes', brew: ({ world, upstream }) => { upstream.writes = () => world.chance.pick(WRITES) } },
  {
    name: 'hostile look-ups',
    brew: ({ world, upstream }) => {
      upstream.writes = () => world.chance.pick(LOSSES)
      upstream.reads = () => world.chance.pick(READS)
    },
  },
  {
    name: 'network',
    brew: ({ world: { chance }, weather }) => Object.assign(weather, {
      unreachable: chance.pick([0.1, 0.5]), stray: chance.pick([0, 0.5]), longMs: chance.pick([50, 900, 2_500]),
    }),
  },
  {
    name: 'clock jump',
    brew: ({ world, store, upstream, watch, weather }) => {
      upstream.writes = () => world.chance.pick(LOSSES)
      weather.stray = world.chance.pick([0, 0.6])
      world.in(world.chance.between(10, 6_000), () => {
        const ms = world.chance.pick([-600_000, -5_000, 5_000, 60_000, 3_600_000])
        world.tell('the clock of the store jumps by', ms)
        if (store.attempts.some(({ state }) => state !== 'settled')) watch.row(33)
        store.jump(ms)
      })
    },
  },
  {
    name: 'wrong time of day',
    brew: ({ world, brokers, upstream }) => {
      upstream.writes = () => world.chance.pick(LOSSES)
      for (const broker of brokers) broker.process.skewMs = world.chance.between(-20, 20) * 3_600_000
    },
  },
  {
    name: 'cancel',
    brew: schedule => {
      schedule.weather.credentialMs = 3_000
      schedule.meddle('cancel', schedule.world.chance.between(1, 3), 2_500)
    },
  },
  {
    name: 'escalate',
    brew: schedule => {
      schedule.upstream.writes = () => schedule.world.chance.pick(LOSSES)
      schedule.meddle('escalate', 1, 6_000)
    },
  },
  { name: 'asked', action: 'do_asked_work.v1', brew: schedule => { if (schedule.world.chance.hit(0.5)) schedule.race() } },
  { name: 'races', brew: schedule => schedule.race() },
  { name: 'other arguments', brew: schedule => schedule.reuseKeys() },
  { name: 'credential', brew: ({ weather }) => Object.assign(weather, { credentialMissing: 0.4, intentFails: 0.2, credentialMs: 12_000 }) },
  {
    name: 'definition',
    brew: ({ world, weather, upstream }) => {
      upstream.writes = () => world.chance.pick(LOSSES)
      weather.definitionMissing = 0.7
    },
  },
  {
    name: 'long calls',
    action: 'do_slow_work.v1',
    brew: ({ world, upstream }) => { upstream.writes = () => world.chance.pick(['late', 'late', 'lost_after', 'honest']) },
  },
  {
    name: 'taken up',
    action: 'replace_item.v1',
    brew: ({ world, upstream }) => { upstream.writes = () => world.chance.pick(['accepted', 'accepted', 'accepted_blank', 'lost_before']) },
  },
  {
    // What the store may forget without a journal: a mark whose owner lives to tell, and an end that can be looked up again.
    name: 'forgetful store',
    alone: true,
    brew: schedule => {
      const { world, store, watch, upstream } = schedule
      const wanted = world.chance.pick(['dispatch', 'settle'])
      if (wanted === 'dispatch') upstream.writes = () => world.chance.pick(['honest', 'slow', 'refused', 'lost_after', 'fault_after', 'job'])
      watch.onChange = (before: AttemptRecord, type: string, after: AttemptRecord) => {
        if (type !== wanted || !/^(do_work|post_note)/.test(after.action) || watch.forgotten.has(after.id)) return
        if (type === 'settle' && before.state === 'prepared') return
        world.in(world.chance.between(8, 300), () => {
          const isFollowed = store.attempts.some(one => one.recordKey === after.recordKey && one.n > after.n)
          if (isFollowed || store.record(after.id)?.revision !== after.revision) return
          world.tell('the store forgets that', after.id, 'is', after.state)
          watch.forget(before)
          watch.row(type === 'dispatch' ? 29 : 30)
        })
      }
    },
  },
  {
    name: 'hole',
    alone: true,
    action: 'do_work.v1',
    brew: ({ world, weather }) => { weather.holeMs = world.chance.between(20_000, 200_000) },
  },
]
