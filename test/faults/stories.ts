// What agents do: each story is a way in which a real one behaves, or misbehaves, around one or two errands.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Errand } from './agent-run.ts'
import { ASKED_STORIES } from './asked-stories.ts'
import { errandOf, pursue, type Stage, type Story } from './errands.ts'

const plain: Story = async stage => {
  await pursue(stage, errandOf(stage, 'plain'))
}

/** The same call on several replicas at once, while it is under way and once more when it has ended. */
const eager: Story = async stage => {
  const errand = errandOf(stage, 'eager')
  const { world, run } = stage
  const repeats = Array.from({ length: 2 + Math.floor(world.random() * 2) }, async (_, at) => {
    await sleep(world.random() * at * 60)
    if (world.random() < 0.3) run.renew()
    return run.call(errand, undefined, at)
  })
  await Promise.all(repeats)
  await pursue(stage, errand)
  await run.call(errand)
}

/** Other arguments under a key that an attempt is known under: never executed. */
const changed: Story = async stage => {
  const errand = errandOf(stage, 'changed')
  const first = await stage.run.call(errand)
  const amount = errand.args['amount']
  const args = typeof amount === 'number' ? { ...errand.args, amount: amount + 1 } : { ...errand.args, text: `${stage.name}-other` }
  if (first !== null && first.attempt !== null) await stage.run.call({ ...errand, args, part: 'changed' })
  await pursue(stage, errand)
}

/** Goes away while the call is under way, and asks again. */
const vanishing: Story = async stage => {
  const errand = errandOf(stage, 'vanishing')
  await stage.run.call(errand, AbortSignal.timeout(1 + Math.floor(stage.world.random() * 250)))
  await pursue(stage, errand)
}

const cancelling: Story = async stage => {
  const errand = errandOf(stage, 'cancelling')
  const { run, world } = stage
  const call = run.call(errand)
  await sleep(world.random() * 20)
  for (const attempt of (await run.list()).slice(0, 3)) {
    await run.cancel({ ...errand, name: '', part: 'cancel', key: null, args: {} }, attempt)
  }
  await call
  await pursue(stage, errand)
}

/** A, B and A again in one run without a key: the third is meant anew. */
const againWithoutKey: Story = stage => again(stage, 'again-without-key', () => null, ['one', 'three'])
/** With the key of the first it is the first. */
const againWithKey: Story = stage => again(stage, 'again-with-key', name => `key-of-${name}`, ['one', 'one'])

async function again (stage: Stage, story: string, keyOf: (name: string) => string | null, parts: readonly [string, string]): Promise<void> {
  const write = (name: string, part: string): Errand => ({
    name, story, part, action: 'change_item.v1', args: { item: `${stage.run.tenant}-again-${stage.name}`, text: name }, key: keyOf(name),
  })
  const [a, b] = [`${stage.name}-a`, `${stage.name}-b`]
  for (const errand of [write(a, parts[0]), write(b, 'one'), write(a, parts[1])]) {
    const heard = await pursue(stage, errand)
    if (heard?.outcome !== 'completed') return
  }
}

/** Equal calls without a key, one after the other and at once, with no other write in between: all of them are one. */
const twiceWithoutKey: Story = async stage => {
  const errand = errandOf(stage, 'twice-without-key', { key: null })
  await Promise.all([stage.run.call(errand), stage.run.call(errand)])
  await pursue(stage, errand)
  await stage.run.call(errand)
}

/** Wants what is so already, under another key; done again only where somebody changed it in between. */
const already: Story = async stage => {
  const errand = errandOf({ ...stage, action: 'change_item.v1' }, 'already')
  const first = await pursue(stage, errand)
  if (first?.outcome === 'completed') await pursue(stage, { ...errand, part: 'two', key: `${errand.key}-two` })
}

/** What nobody should do: another key for what is not known yet. Every key may then have its effect. */
const anew: Story = async stage => {
  const errand = errandOf(stage, 'anew')
  const first = await stage.run.call(errand)
  if (first?.status === 202) await stage.run.call({ ...errand, part: 'two', key: `${errand.key}-two` })
  await pursue(stage, errand)
}

export interface Told {
  readonly tell: Story
  readonly share: number
  /** No other write of its run may come in between. */
  readonly alone?: true
  /** Told where there are people, in a run of its own. */
  readonly asksPeople?: true
}

export const STORIES: { readonly [name: string]: Told } = {
  plain: { tell: plain, share: 50 },
  eager: { tell: eager, share: 14 },
  changed: { tell: changed, share: 8 },
  vanishing: { tell: vanishing, share: 9 },
  cancelling: { tell: cancelling, share: 6 },
  'again-without-key': { tell: againWithoutKey, share: 4, alone: true },
  'again-with-key': { tell: againWithKey, share: 3 },
  'twice-without-key': { tell: twiceWithoutKey, share: 4, alone: true },
  already: { tell: already, share: 3 },
  anew: { tell: anew, share: 2 },
  ...ASKED_STORIES,
}

export const ACTIONS: { readonly [name: string]: number } = {
  'do_work.v1': 52, 'place_order.v1': 10, 'do_lane_work.v1': 6, 'change_item.v1': 22, 'post_note.v1': 3, 'set_item.v1': 3, 'replace_item.v1': 0.5,
  'get_item.v1': 3.5,
}

/** One of them, each in its share. */
export function pick (shares: ReadonlyArray<readonly [string, number]>, random: number): string {
  const total = shares.reduce((sum, [, share]) => sum + share, 0)
  let left = random * total
  for (const [name, share] of shares) {
    left -= share
    if (left < 0) return name
  }
  return shares.at(-1)![0]
}
