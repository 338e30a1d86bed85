// What agents do where a person has to say yes: they ask, wait, and have carried out what was approved, or what they believe to be.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Errand } from './agent-run.ts'
import { argsOf, awaitEnd, CONFLICTS_MAX, errandOf, pursue, type Stage, type Story } from './errands.ts'
import type { Heard } from './folder.ts'

type Proposal = NonNullable<Heard['proposal']>
/** How what was approved is carried out. */
type CarryOut = (stage: Stage, errand: Errand, proposal: string) => Promise<Heard | null>

/** It can be asked for anew; anything else that refuses for good ends the errand. */
const ASKS_ANEW: ReadonlySet<string> = new Set(['PROPOSAL_INVALIDATED', 'PROPOSAL_EXPIRED', 'PROPOSAL_PENDING', 'PROPOSAL_SUPERSEDED', 'VERSION_CONFLICT'])
const WAIT_MS = 3_000
/** More than one grant is good for. */
const USES = 14

const commitOnce: CarryOut = ({ run }, errand, proposal) => run.commit(errand, proposal)

/** Calls, waits, commits, and begins anew where that is of use. */
async function pursueAsked (stage: Stage, errand: Errand, carryOut: CarryOut = commitOnce): Promise<Heard | null> {
  const { world, run, patienceMs } = stage
  const endsAtMs = performance.now() + patienceMs
  let anew = 0
  for (let pauseMs = 40; performance.now() < endsAtMs; pauseMs = Math.min(pauseMs * 1.6, 1_000)) {
    if (world.random() < 0.1) run.renew()
    let heard = await run.call(errand)
    if (heard?.proposal !== undefined && heard.attempt === null) heard = await decided(stage, errand, heard.proposal, endsAtMs, carryOut)
    if (heard?.status === 202 && heard.attempt !== null) heard = await awaitEnd(run, errand, heard.attempt, endsAtMs)
    if (heard?.code === 'PROPOSAL_DENIED') await run.call(errand)
    if (heard !== null && heard.status !== 202 && heard.status < 500) {
      if (ASKS_ANEW.has(heard.code ?? '')) anew += 1
      else if (!heard.retryable) return heard
      if (anew > CONFLICTS_MAX) return heard
    }
    await sleep(pauseMs * (0.5 + world.random()))
  }
  return null
}

/** What is pending is waited for; a grant is used by calling again. */
async function decided (stage: Stage, errand: Errand, { id, kind, state }: Proposal, endsAtMs: number, carryOut: CarryOut): Promise<Heard | null> {
  const { run } = stage
  let heard: Heard | null = null
  for (let now = state; now === 'pending'; now = heard?.proposal?.state ?? now) {
    if (performance.now() > endsAtMs) return null
    heard = await run.ask(errand, id, WAIT_MS)
    if (heard === null || heard.status >= 400) await sleep(300)
    else if (heard.proposal !== undefined && heard.proposal.state !== 'pending' && heard.proposal.state !== 'approved') return heard
  }
  return kind === 'session' ? null : carryOut(stage, errand, id)
}

/** With a key or without, and of either kind. */
function askedErrand (stage: Stage, story: string, action?: string): Errand {
  const { world } = stage
  const of = { ...stage, action: action ?? (world.random() < 0.7 ? 'do_asked_work.v1' : 'change_asked_item.v1') }
  return errandOf(of, story, world.random() < 0.3 ? { key: null } : {})
}

const asked: Story = async stage => {
  await pursueAsked(stage, askedErrand(stage, 'asked'))
}

/** The same call, and the same commit, on several replicas at once, and once more when it has ended. */
const askedAtOnce: Story = async stage => {
  const errand = askedErrand(stage, 'asked-at-once')
  const { run, world } = stage
  let committed: string | null = null
  await Promise.all([0, 1, 2].map(at => run.call(errand, undefined, at)))
  await pursueAsked(stage, errand, async (_, __, proposal) => {
    committed = proposal
    const answers = await Promise.all([0, 1, 2].map(async at => {
      await sleep(world.random() * at * 30)
      return run.commit(errand, proposal, undefined, at)
    }))
    return answers.find(answer => answer !== null && answer.attempt !== null) ?? answers[0]!
  })
  if (committed !== null) await run.commit(errand, committed)
}

/** Goes away while what was approved is carried out, and has it carried out again. */
const askedVanishing: Story = async stage => {
  const errand = askedErrand(stage, 'asked-vanishing')
  await pursueAsked(stage, errand, async ({ run, world }, _, proposal) => {
    await run.commit(errand, proposal, AbortSignal.timeout(1 + Math.floor(world.random() * 250)))
    return run.commit(errand, proposal)
  })
}

/** Takes it back while it is carried out; it is one or the other. */
const askedWithdrawn: Story = async stage => {
  const errand = askedErrand(stage, 'asked-withdrawn')
  await pursueAsked(stage, errand, async ({ run, world }, _, proposal) => {
    const [heard] = await Promise.all([
      run.commit(errand, proposal), sleep(world.random() * 60).then(() => run.withdraw(errand, proposal)),
    ])
    await run.commit(errand, proposal)
    return heard
  })
}

/** Calls again while it waits, when it is done, and with another key after that: then it is meant anew, and a person is asked anew. */
const askedAgain: Story = async stage => {
  const errand = { ...askedErrand(stage, 'asked-again', 'do_asked_work.v1'), key: `key-of-${stage.name}` }
  const { run } = stage
  await run.call(errand)
  await run.call(errand)
  const heard = await pursueAsked(stage, errand)
  if (heard?.outcome !== 'completed') return
  await run.call(errand)
  await pursueAsked(stage, { ...errand, part: 'two', key: `${errand.key}-two` })
}

/** What it is about changes between the yes and the commit. */
const askedStale: Story = async stage => {
  const errand = askedErrand(stage, 'asked-stale', 'change_asked_item.v1')
  const name = `${stage.name}-between`
  let hasChanged = false
  await pursueAsked(stage, errand, async ({ run, world }, _, proposal) => {
    if (!hasChanged) {
      hasChanged = true
      const args = { ...argsOf('change_item.v1', run.tenant, name, () => world.random()), item: errand.args['item']! }
      await pursue({ ...stage, patienceMs: 5_000 }, { ...errand, name, action: 'change_item.v1', args, key: `key-of-${name}` })
    }
    return run.commit(errand, proposal)
  })
}

/** What was granted for some calls is used from all replicas at once, by more calls than it is good for; each of them is meant for itself. */
const granted: Story = async stage => {
  const one = errandOf({ ...stage, action: 'do_granted_work.v1' }, 'granted')
  const errands = Array.from({ length: USES }, (_, at) => ({ ...one, part: `use-${at}`, key: `${one.key}-${at}` }))
  const first = await stage.run.call(errands[0]!)
  if (first?.proposal?.state === 'pending') await decided(stage, errands[0]!, first.proposal, performance.now() + stage.patienceMs, commitOnce)
  await Promise.all(errands.map(errand => pursueAsked(stage, errand)))
}

const told = (tell: Story, share: number) => ({ tell, share, asksPeople: true } as const)

export const ASKED_STORIES = {
  asked: told(asked, 4),
  'asked-at-once': told(askedAtOnce, 3),
  'asked-vanishing': told(askedVanishing, 2),
  'asked-withdrawn': told(askedWithdrawn, 2.5),
  'asked-again': told(askedAgain, 1.5),
  'asked-stale': told(askedStale, 1.5),
  granted: told(granted, 1),
}
