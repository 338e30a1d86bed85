// The rehearsal of a whole catalog: generated cases of every action, what needs a person, and the scenarios that its authors wrote.
import type { Action, Catalog } from '../../catalog/catalog.ts'
import { MADE_MAX } from '../../consent/proposal.ts'
import { claimsFor } from '../rehearsal/claims.ts'
import type { Consenting, OpenStage, Stage } from '../rehearsal/stage.ts'
import type { ActionReport, CaseResult, Gap } from './finding.ts'
import { ConsentCases } from './consent-cases.ts'
import { GeneratedCases } from './generated.ts'
import { ScenarioRunner, type ScenarioFile, type ScenarioResult } from './scenarios.ts'
import { SchemaPlaces } from './place.ts'
import { smallest } from './smallest.ts'
import { Callers, tryOut } from './trial.ts'

export interface Rehearsal {
  readonly openStage: OpenStage
  /** Names of actions, `get_customer.v1` or `get_customer`; empty: all. */
  readonly only: readonly string[]
  /** By the name of the action without its version. */
  readonly scenarios: ReadonlyMap<string, ScenarioFile>
  /** Told as it goes on. */
  progress (done: number, all: number, about: string): void
}

/** What was tried of one action, on the several stages. */
interface Tried {
  readonly action: Action
  readonly generated: GeneratedCases
  /** Where nobody can be asked. */
  readonly alone: readonly CaseResult[]
  /** null: it needs nobody. */
  readonly people: ConsentCases | null
  readonly scenarios: readonly ScenarioResult[]
}

export async function rehearse (rehearsal: Rehearsal): Promise<readonly ActionReport[]> {
  const generated = await generatedCases(rehearsal)
  const actions = generated.map(({ action }) => action)
  const alone = await withoutPerson(rehearsal, actions)
  const people = await withPeople(rehearsal, actions, alone)
  const scenarios = await writtenScenarios(rehearsal, actions)
  rehearsal.progress(actions.length, actions.length, '')
  return generated.map(({ action, cases }) => reportOf({
    action, generated: cases, alone: alone.get(action.id) ?? [], people: people.get(action.id) ?? null, scenarios: scenarios.get(action.id) ?? [],
  }, rehearsal.scenarios.get(action.name)))
}

async function generatedCases ({ openStage, only, progress }: Rehearsal): Promise<ReadonlyArray<{ readonly action: Action, readonly cases: GeneratedCases }>> {
  return await onStage(openStage, 'given', async stage => {
    const all = chosen(stage.catalog, only).map(action => ({ action, cases: new GeneratedCases(stage, action) }))
    for (const [index, { action, cases }] of all.entries()) {
      progress(index, all.length, action.id)
      await cases.beforeSending()
    }
    for (const [index, { action, cases }] of all.entries()) {
      progress(index, all.length, `${action.id}, sent`)
      await cases.withSending()
    }
    return all
  })
}

async function onStage<Value> (openStage: OpenStage, consenting: Consenting, play: (stage: Stage) => Promise<Value>): Promise<Value> {
  const stage = await openStage(consenting)
  try {
    return await play(stage)
  } finally {
    await stage.close()
  }
}

async function writtenScenarios (
  { openStage, scenarios, progress }: Rehearsal, actions: readonly Action[]
): Promise<ReadonlyMap<string, readonly ScenarioResult[]>> {
  const runner = new ScenarioRunner(openStage)
  const results = new Map<string, readonly ScenarioResult[]>()
  try {
    for (const [index, action] of actions.entries()) {
      progress(index, actions.length, `${action.id}, scenarios`)
      const written = scenarios.get(action.name)
      if (written !== undefined) results.set(action.id, await runner.run(action, written))
    }
    return results
  } finally {
    await runner.close()
  }
}

export function chosen (catalog: Catalog, only: readonly string[]): readonly Action[] {
  return [...catalog.actions.values()].filter(action => only.length === 0 || only.includes(action.id) || only.includes(action.name))
}

/** As they are served where people are asked: those of them that need one. */
const needing = (stage: Stage, actions: readonly Action[]): readonly Action[] =>
  actions.map(({ id }) => stage.catalog.actions.get(id)!).filter(({ consent }) => consent !== 'none')

/** An action that needs a person is refused where none can be asked, and nothing is read or sent. */
async function withoutPerson ({ openStage }: Rehearsal, actions: readonly Action[]): Promise<ReadonlyMap<string, readonly CaseResult[]>> {
  return await onStage(openStage, 'nobody', async stage => {
    const results = new Map<string, readonly CaseResult[]>()
    for (const action of needing(stage, actions)) results.set(action.id, [await unapproved(stage, action)])
    return results
  })
}

/** Each action makes at most so many proposals, and one agent may make only so many in an hour. */
const PROPOSALS_OF_ACTION = 15
const ACTIONS_PER_STAGE = Math.floor(MADE_MAX / PROPOSALS_OF_ACTION)

/** What was approved is sent once, and what was not approved, or not any more, is not sent. */
async function withPeople (
  { openStage, progress }: Rehearsal, actions: readonly Action[], asking: ReadonlyMap<string, unknown>
): Promise<ReadonlyMap<string, ConsentCases>> {
  const results = new Map<string, ConsentCases>()
  const all = actions.filter(({ id }) => asking.has(id))
  for (let from = 0; from < all.length; from += ACTIONS_PER_STAGE) {
    await onStage(openStage, 'people', async stage => {
      const some = needing(stage, all.slice(from, from + ACTIONS_PER_STAGE)).map(action => ({ id: action.id, cases: new ConsentCases(stage, action) }))
      for (const [index, { id, cases }] of some.entries()) {
        progress(from + index, all.length, `${id}, people`)
        results.set(id, cases)
        await cases.beforeSending()
      }
      for (const { cases } of some) await cases.withSending()
    })
  }
  return results
}

async function unapproved (stage: Stage, action: Action): Promise<CaseResult> {
  const places = new SchemaPlaces(action.inputSchema as ConstructorParameters<typeof SchemaPlaces>[0])
  const args = (smallest(places, places.top, { full: false, variant: 0 }) ?? {}) as Parameters<typeof claimsFor>[1]
  const caller = new Callers(action, `unapproved-${action.id}`).next(claimsFor(action, args))
  const expect = { kind: 'refused', codes: ['CONSENT_UNAVAILABLE'], field: null } as const
  const { result, ...found } = await tryOut(
    stage, action, { name: 'no person can be asked', group: 'call', text: JSON.stringify(args), key: 'a-key', caller, expect }
  )
  return found
}

function reportOf ({ action, generated, alone, people, scenarios }: Tried, written: ScenarioFile | undefined): ActionReport {
  const known = new Map((written?.known_gaps ?? []).map(gap => [gap.boundary, gap.reason]))
  const crossed = new Set([
    ...generated.crossed, ...alone.some(({ fault }) => fault === null) ? ['/consent/none'] : [], ...people?.crossed ?? [],
    ...scenarios.flatMap(result => result.fault === null ? result.crossed : []),
  ])
  const boundaries = [...generated.boundaries, ...people?.boundaries ?? []]
  const stale = [...known.keys()].filter(boundary => crossed.has(boundary) || !boundaries.includes(boundary))
  const gaps = boundaries.filter(boundary => !crossed.has(boundary)).map((boundary): Gap => ({ boundary, reason: known.get(boundary) ?? null }))
  const notes = [...generated.notes, ...people?.notes ?? [], ...stale.map(boundary => `${boundary} is known as a gap and is none`)]
  return { action: action.id, cases: [...generated.cases, ...alone, ...people?.cases ?? [], ...scenarios], boundaries: boundaries.length, gaps, notes }
}
