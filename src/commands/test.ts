// `aval test`: the generated cases and the scenarios of the sheets, on a real broker in front of a recording upstream.
import { loadCatalog } from '../catalog/load.ts'
import { readLocalConfig } from '../config.ts'
import { judges } from '../curation/judges.ts'
import { findScenarios } from '../curation/test/find-scenarios.ts'
import { rehearse } from '../curation/test/rehearse.ts'
import { ANSI, asJunit, asTap, asText, PLAIN, reportOf, type Report } from '../curation/test/report.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'
import { isColoured } from './demo/narrator.ts'
import { progressOf } from './progress.ts'
import { openStage } from './rehearsal.ts'
import { started } from './starting.ts'
import { escapeForTerminal } from '../telemetry/visible.ts'

export const test: Command = {
  name: 'test',
  summary: 'Try every action on a recording upstream: what must be refused is refused with nothing sent, and its scenarios hold.',
  usage: '[ACTION]… [--tap | --junit] [--no-gaps]',
  flags: {
    tap: { type: 'boolean', about: 'print TAP, version 14' },
    junit: { type: 'boolean', about: 'print JUnit XML' },
    'no-gaps': { type: 'boolean', about: 'a boundary that no refused call crosses is a finding, unless its scenarios file knows it' },
  },
  coloured: true,
  words: { min: 0, max: 100 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  if ([ask.json, ask.flags.on('tap'), ask.flags.on('junit')].filter(Boolean).length > 1) throw new CommandFault('one of --json, --tap and --junit')
  const folders = readLocalConfig(ask.env)
  const progress = progressOf(ask)
  const catalog = await started(ask, () => loadCatalog({ ...folders, progress }))
  const scenarios = await started(ask, () => findScenarios(folders.actionsFolder, catalog))
  const actions = await started(ask, () => rehearse({ openStage: consenting => openStage(ask, catalog, consenting), only: ask.words, scenarios, progress }))
  if (actions.length === 0) throw new CommandFault(ask.words.length === 0 ? 'there are no actions' : `there is no action ${ask.words.join(', ')}`)
  const report = reportOf(actions, judges(), ask.flags.on('no-gaps'))
  ask.print(written(ask, report))
  return report.ok ? 0 : 1
}

function written (ask: Ask, report: Report): string {
  if (ask.json) return escapeForTerminal(JSON.stringify(report))
  if (ask.flags.on('tap')) return escapeForTerminal(asTap(report))
  if (ask.flags.on('junit')) return escapeForTerminal(asJunit(report))
  // What an upstream or a sheet said is made safe before it is coloured.
  return asText(JSON.parse(JSON.stringify(report), (_, value) => typeof value === 'string' ? escapeForTerminal(value) : value) as Report,
    isColoured(process.stdout.isTTY === true, ask.env) ? ANSI : PLAIN)
}
