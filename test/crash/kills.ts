// kill -9 of the broker at every moment of a write, while agents go on asking. The works keep no promise about repeats: a second send would be a
// second effect.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BrokerProcess, Reached, Site } from '../support/broker.ts'
import { persist } from './agent.ts'
import { WORKER, type Asked, type Works } from './works.ts'

const CALLS_A_KILL = 3
/** After the last kill. The longer the kills took, the longer are the pauses between look-ups by then. */
const SETTLED_WITHIN_MS = 180_000
/** On a slow machine look-ups fall behind the kills, and of more than a hundred unknown outcomes the next call is refused: with so many open errands a broker lives on for a while. */
const OPEN_MAX = 30
const LIVES_ON_MS = 20_000

export interface Campaign {
  readonly works: Works
  readonly site: Site
  readonly kills: number
  /** Different from campaign to campaign, so that together they meet more moments. */
  readonly offset: number
  /** A broker on the state that the ones before left behind. */
  start (): Promise<BrokerProcess>
  /** Before each kill: may make the way to the store slow. `kill` counts from 0. */
  disturb? (kill: number): void
}

export interface Told {
  /** Kills at which some call had no answer yet. */
  readonly interrupting: number
  /** How often each outcome or code was heard. */
  readonly heard: ReadonlyMap<string, number>
}

/** What the works do with the first arrival of a write, in turn. Later arrivals are served honestly. */
const MANNERS: ReadonlyArray<(asked: Asked) => void> = [
  asked => asked.honest(),
  asked => setTimeout(() => asked.honest(), 15),
  asked => {
    asked.apply()
    setTimeout(() => asked.socket.destroy(), 10)
  },
  asked => {
    asked.apply()
    setTimeout(() => asked.answer(201, { id: 'late', key: 'late', item: 'late', amount: 1, state: 'done' }), 60)
  },
  asked => asked.socket.destroy(),
  asked => {
    asked.socket.destroy()
    setTimeout(() => asked.apply(), 30)
  },
]

/** @throws AssertionError where anything was lost, done twice, or told wrongly */
export async function survive (campaign: Campaign): Promise<Told> {
  const { works, site, offset } = campaign
  const token = await site.token({ ...WORKER, run: 'run-of-the-kills' })
  const history = new History(works)
  const agents: Array<Promise<void>> = []
  let broker: BrokerProcess | null = null
  let endsAtMs = Infinity
  let failure: unknown = null
  let open = 0
  let interrupting = 0
  let arrivals = 0
  works.onWrite = asked => MANNERS[arrivals++ % MANNERS.length]!(asked)

  const employ = async (item: string): Promise<void> => {
    open += 1
    const heard = (answer: Reached): void => history.hold(item, answer)
    const errand = { token, action: 'do_work.v1', args: { item, amount: 7 }, key: `key-of-${item}`, heard }
    const last = await persist(() => broker, errand, () => failure !== null || performance.now() > endsAtMs)
    assert.equal(last.body.outcome, 'completed', JSON.stringify(last.body))
    open -= 1
  }

  for (let kill = 0; kill < campaign.kills && failure === null; kill++) {
    const current = broker = await campaign.start()
    campaign.disturb?.(kill)
    // The first call of a process compiles what it meets; the moments are to lie within a write.
    await current.call(token, 'get_item.v1', { item: 'warm' })
    for (let livedMs = 0; open > OPEN_MAX && livedMs < LIVES_ON_MS && failure === null; livedMs += 50) await sleep(50)
    for (let one = 0; one < CALLS_A_KILL; one++) {
      agents.push(employ(`item-${offset}-${kill}-${one}`).catch(error => { failure ??= error }))
      await sleep(3)
    }
    await sleep((kill * 7 + offset) % 41)
    if (open > 0) interrupting += 1
    broker = null
    await current.kill9()
  }
  endsAtMs = performance.now() + SETTLED_WITHIN_MS
  const last = broker = await campaign.start()
  await Promise.all(agents)
  await history.holdAll(last, token).catch(error => { failure ??= error })
  assert.equal(await last.stop(), 0)
  if (failure !== null) throw failure
  assert.equal(works.effects.length, agents.length, 'as many effects as errands')
  return { interrupting, heard: history.heard }
}

/** What is said at any time must be so at that time, and stay so. */
class History {
  readonly heard = new Map<string, number>()
  readonly #works: Works
  readonly #attempts = new Map<string, string>()

  constructor (works: Works) {
    this.#works = works
  }

  hold (item: string, { status, body }: Reached): void {
    if (body.attempt_id !== undefined) this.#attempts.set(body.attempt_id, item)
    const effects = this.#works.effects.filter(effect => effect.item === item).length
    if (body.outcome === 'completed') assert.equal(effects, 1, `${item} is told as completed`)
    if (body.outcome === 'rejected' && status === 200) assert.equal(effects, 0, `${item} is told as rejected (${body.error.code})`)
    if (status >= 400) assert.equal(body.sent, false)
    const end = body.error?.code ?? body.outcome
    this.heard.set(end, (this.heard.get(end) ?? 0) + 1)
  }

  /** No attempt that anyone ever heard of is lost, and none is open. */
  async holdAll (broker: BrokerProcess, token: string): Promise<void> {
    for (const [id, item] of this.#attempts) {
      const { status, body } = await broker.get(token, `/v1/attempts/${id}`)
      assert.equal(status, 200, `${item}: ${id} is ${JSON.stringify(body)}`)
      assert.ok(body.outcome === 'completed' || body.error.code === 'NOT_APPLIED' || body.sent === false, JSON.stringify(body))
    }
    const listed = await broker.get(token, '/v1/attempts?limit=200')
    for (const { outcome } of listed.body.attempts) assert.ok(outcome === 'completed' || outcome === 'rejected', outcome)
  }
}
