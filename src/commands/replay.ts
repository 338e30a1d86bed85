// `aval replay`: recorded calls on today's catalog. Nothing reaches an upstream but the recording one.
import { readFile } from 'node:fs/promises'
import { loadCatalog } from '../catalog/load.ts'
import { readLocalConfig } from '../config.ts'
import { replay, type Replayed } from '../curation/replay/replay.ts'
import { readTrace, type Trace } from '../curation/replay/trace.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'
import { progressOf } from './progress.ts'
import { openStage } from './rehearsal.ts'
import { started } from './starting.ts'

export const replayCommand: Command = {
  name: 'replay',
  summary: 'Make recorded calls again on the sheets of now. Exit code 1 where one is decided otherwise than it was.',
  usage: 'TRACES',
  flags: {},
  words: { min: 1, max: 1 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const traces = await tracesIn(ask.words[0]!)
  const folders = readLocalConfig(ask.env)
  const progress = progressOf(ask)
  const catalog = await started(ask, () => loadCatalog({ ...folders, progress }))
  const consents = new Map([...catalog.actions.values()].map(action => [action.id, action.consent]))
  const stage = await started(ask, () => openStage(ask, catalog, 'given', { sunset: 'kept' }))
  try {
    const results = await replay(stage, traces, consents, progress)
    const differing = results.filter(one => one.verdict === 'differs')
    if (ask.json) ask.print(JSON.stringify({ ok: differing.length === 0, results }))
    else for (const line of linesOf(results)) ask.print(line)
    return differing.length === 0 ? 0 : 1
  } finally {
    await stage.close()
  }
}

function linesOf (results: readonly Replayed[]): readonly string[] {
  const count = (verdict: Replayed['verdict']): number => results.filter(one => one.verdict === verdict).length
  return [
    ...results.filter(one => one.verdict !== 'same').map(one => `${one.verdict} ${one.trace} ${one.action}: ${one.message}`),
    `${results.length} calls: ${count('same')} decided as they were, ${count('differs')} otherwise, ${count('undecided')} undecided`,
  ]
}

async function tracesIn (path: string): Promise<readonly Trace[]> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new CommandFault(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
  const traces: Trace[] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const trace = readTrace(line)
    if (typeof trace === 'string') throw new CommandFault(`${path}:${index + 1}:1 ${trace}`)
    traces.push(trace)
  }
  if (traces.length === 0) throw new CommandFault(`${path} holds no trace`)
  return traces
}
