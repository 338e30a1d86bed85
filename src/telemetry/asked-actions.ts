// Names of actions that agents asked for and that no catalog had at the time, from an audit folder: what a platform team might offer next.
import { readChain, type ChainFault } from './audit-chain-reader.ts'
import type { ReadRow } from './audit-row.ts'
import { listWriters } from './audit-seal.ts'

export interface AskedAction {
  /** The agent's own text, cut to 100 characters: anything may stand there. */
  readonly name: string
  readonly count: number
  /** Runs and agents are marks: how many different ones, not which. */
  readonly runs: number
  readonly agents: number
  readonly firstTime: string
  readonly lastTime: string
}

export interface AskedActions {
  /** Most asked first, then by name. */
  readonly asked: readonly AskedAction[]
  /** Chains that could not be read to their end. */
  readonly faults: ReadonlyArray<{ readonly writer: string, readonly fault: ChainFault }>
}

interface Counting {
  count: number
  readonly runs: Set<string>
  readonly agents: Set<string>
  firstTime: string
  lastTime: string
}

/** @throws Error where the folder cannot be read */
export async function askedActions (folder: string): Promise<AskedActions> {
  const counts = new Map<string, Counting>()
  const faults: Array<{ readonly writer: string, readonly fault: ChainFault }> = []
  for (const segments of await listWriters(folder)) {
    const { fault } = await readChain(folder, segments, row => {
      if (row.asked !== undefined && row.code === 'UNKNOWN_ACTION') count(counts, row.asked, row)
      return null
    })
    if (fault !== null) faults.push({ writer: segments.writer, fault })
  }
  const asked = [...counts].map(([name, { runs, agents, ...rest }]) => ({ name, ...rest, runs: runs.size, agents: agents.size }))
  return { asked: asked.sort((one, other) => other.count - one.count || (one.name < other.name ? -1 : 1)), faults }
}

function count (counts: Map<string, Counting>, name: string, row: ReadRow): void {
  const known = counts.get(name) ?? { count: 0, runs: new Set<string>(), agents: new Set<string>(), firstTime: row.time, lastTime: row.time }
  counts.set(name, known)
  known.count += 1
  if (row.time < known.firstTime) known.firstTime = row.time
  if (row.time > known.lastTime) known.lastTime = row.time
  if (row.actor?.run !== undefined) known.runs.add(row.actor.run)
  if (row.actor?.sub !== undefined) known.agents.add(row.actor.sub)
}
