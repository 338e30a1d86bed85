// One thing at the boundary that must hold whatever comes: a property, and which of its cases came to the point.
import fc from 'fast-check'

export type Count = (what: string) => void

export interface Target {
  readonly name: string
  readonly holds: string
  property (count: Count): fc.IRawProperty<any>
  /** Cases of the short form. */
  readonly shortRuns: number
  /** Where one run tries many cases, because what they share is dear to make. */
  readonly casesPerRun?: number
  /** By what is counted, the least share of the cases: a run in which fewer came so far proves nothing. */
  readonly least: { readonly [what: string]: number }
  /** Makes what all cases share; what it returns takes it away again. */
  prepare? (): Promise<() => Promise<void>>
}

export interface Outcome {
  readonly cases: number
  readonly counts: ReadonlyMap<string, number>
  readonly seconds: number
  /** How it failed, and how that case is run again; null: it held. */
  readonly failure: string | null
  /** What was counted too seldom. */
  readonly seldom: readonly string[]
}

export async function run (target: Target, casesWanted: number, seed: number, path?: string): Promise<Outcome> {
  const perRun = target.casesPerRun ?? 1
  const numRuns = Math.ceil(casesWanted / perRun)
  const counts = new Map<string, number>()
  const letGo = await target.prepare?.()
  const startedAtMs = performance.now()
  try {
    const details = await fc.check(target.property(what => { counts.set(what, (counts.get(what) ?? 0) + 1) }), {
      numRuns, seed, ...(path === undefined ? {} : { path, endOnFailure: true }),
    })
    const cases = details.numRuns * perRun
    const seldom = path === undefined ? Object.keys(target.least).filter(what => (counts.get(what) ?? 0) < target.least[what]! * cases) : []
    return { cases, counts, seconds: (performance.now() - startedAtMs) / 1_000, failure: details.failed ? failureOf(target, details) : null, seldom }
  } finally {
    await letGo?.()
  }
}

function failureOf (target: Target, details: fc.RunDetails<unknown>): string {
  const again = `Again: SEED=${details.seed} CASE=${details.counterexamplePath} npm run fuzz -- ${target.name}`
  return `${target.holds}\n${fc.defaultReportMessage(details) ?? ''}\n${again}`
}
