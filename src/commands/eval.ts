// `aval eval`: how an agent used the actions, from its transcripts. Nothing is called: no model, no upstream, no network.
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Action, Json } from '../catalog/catalog.ts'
import { loadCatalog } from '../catalog/load.ts'
import { readLocalConfig } from '../config.ts'
import { readGold } from '../curation/eval/gold.ts'
import { compareScores, comparisonText, scoreText } from '../curation/eval/report.ts'
import { score, type Score } from '../curation/eval/score.ts'
import { readTranscript, TranscriptFault, type Transcript } from '../curation/eval/transcript.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'
import { progressOf, type Progress } from './progress.ts'
import { started } from './starting.ts'

export const evaluate: Command = {
  name: 'eval',
  summary: 'Score how an agent used the actions, from its transcripts. Exit code 1 where something is found, or is worse than before.',
  usage: 'GOLD TRANSCRIPTS [--before TRANSCRIPTS] [--min PERCENT]',
  flags: {
    before: { type: 'string', value: 'TRANSCRIPTS', about: 'earlier transcripts of the same tasks; exit code 1 only where a figure is worse now' },
    min: { type: 'string', value: 'PERCENT', about: 'exit code 1 only where fewer tasks are clean' },
    'no-catalog': { type: 'boolean', about: 'hold the arguments to no schema' },
  },
  words: { min: 2, max: 2 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const [goldPath, path] = ask.words as readonly [string, string]
  const progress = progressOf(ask)
  const min = minimum(ask.flags.text('min'))
  const actions: ReadonlyMap<string, Action> = ask.flags.on('no-catalog')
    ? new Map()
    : (await started(ask, () => loadCatalog({ ...readLocalConfig(ask.env), progress }))).actions
  const gold = await started(ask, async () => readGold(goldPath, await read(goldPath)))
  const scored = async (path: string): Promise<Score> => score(gold, await transcriptsIn(path, progress), actions, progress)
  const now = await scored(path)
  const earlier = ask.flags.text('before')
  const before = earlier === null ? null : await scored(earlier)
  const comparison = before === null ? null : compareScores(before, now)
  const ok = comparison !== null
    ? comparison.every(row => row.verdict !== 'worse') && (min === null || now.success >= min)
    : min === null ? now.findings.length === 0 : now.success >= min
  if (ask.json) ask.print(JSON.stringify({ ok, ...now, comparison }))
  else ask.print([scoreText(now), ...comparison === null ? [] : ['', 'before → now', comparisonText(comparison)]].join('\n'))
  return ok ? 0 : 1
}

function minimum (text: string | null): number | null {
  if (text === null) return null
  const percent = Number(text)
  if (!/^\d{1,3}(\.\d+)?$/.test(text) || percent > 100) throw new CommandFault('--min is a number of percent, 0 to 100')
  return percent / 100
}

async function read (path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    throw new CommandFault(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}

/** A file of one transcript (.json) or of one a line (.jsonl), or a folder of such files. */
async function transcriptsIn (path: string, progress: Progress): Promise<readonly Transcript[]> {
  const isFolder = await stat(path).then(found => found.isDirectory(), () => false)
  const files = isFolder ? (await readdir(path)).filter(name => /\.jsonl?$/.test(name)).sort().map(name => join(path, name)) : [path]
  if (files.length === 0) throw new CommandFault(`${path} holds no .json or .jsonl file`)
  const transcripts: Transcript[] = []
  for (const [index, file] of files.entries()) {
    progress(index, files.length, file)
    transcripts.push(...transcriptsOf(file, (await read(file)).toString('utf8')))
  }
  return transcripts
}

function transcriptsOf (file: string, text: string): readonly Transcript[] {
  const lines = file.endsWith('.jsonl')
    ? text.split('\n').map((line, index) => [line, index + 1] as const).filter(([line]) => line.trim() !== '')
    : [[text, 1] as const]
  return lines.map(([line, number]) => {
    try {
      return readTranscript(JSON.parse(line) as Json, basename(file).replace(/\.jsonl?$/, ''))
    } catch (error) {
      if (error instanceof SyntaxError) throw new CommandFault(`${file}:${number}:1 not-json ${error.message}`)
      if (error instanceof TranscriptFault) throw new CommandFault(`${file}:${number}:1 not-a-transcript ${error.message}`)
      throw error
    }
  })
}
