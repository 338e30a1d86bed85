// `aval lint`: how well models will understand the sheets, and what is unsafe about them. Deterministic, offline.
import { readFile, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { fixFolder } from '../curation/lint/fix.ts'
import { lintFolder, lintTools, NoToolsList, type LintFolder } from '../curation/lint/lint.ts'
import { reportGithub } from '../curation/lint/report-github.ts'
import { reportJson } from '../curation/lint/report-json.ts'
import { reportSarif } from '../curation/lint/report-sarif.ts'
import { COLOURED, PLAIN, reportText } from '../curation/lint/report-text.ts'
import { openFindings, type Report } from '../curation/lint/report.ts'
import { rulesPage } from '../curation/lint/rules-page.ts'
import { escapeForTerminal } from '../telemetry/visible.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'
import { isColoured } from './demo/narrator.ts'
import { progressOf } from './progress.ts'

export const lint: Command = {
  name: 'lint',
  summary: 'Score the sheets, or the tools of an MCP server, by how calls fail. Exit code 1 where something was found, or --min is missed.',
  usage: '[PATH] [--min 90] [--fix]',
  flags: {
    openapi: { type: 'string', value: 'FOLDER', about: 'the OpenAPI documents; without it AVAL_OPENAPI, or openapi beside the actions' },
    mcp: { type: 'string', value: 'FILE', about: 'instead of sheets, judge the tools list of an MCP server: the answer of tools/list as JSON' },
    min: { type: 'string', value: 'SCORE', about: 'exit code 1 only where an action scores less, or a sheet does not load' },
    fix: { type: 'boolean', about: 'write the repairs that need no judgement into the sheets' },
    sarif: { type: 'boolean', about: 'print SARIF 2.1.0' },
    github: { type: 'boolean', about: 'print commands of a GitHub Actions workflow' },
    rules: { type: 'boolean', about: 'print every rule with its examples, as Markdown, and judge nothing' },
  },
  coloured: true,
  words: { min: 0, max: 1 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  if (ask.flags.on('rules')) {
    ask.print(rulesPage().trimEnd())
    return 0
  }
  const min = minimum(ask)
  const report = await reported(ask)
  const isClean = min === null
    ? openFindings(report).length === 0
    : report.actions.every(({ score }) => score >= min) && report.findings.every(({ category }) => category !== 'load')
  show(report, isClean, ask)
  return isClean ? 0 : 1
}

function show (report: Report, isClean: boolean, ask: Ask): void {
  const ways = ['json', 'sarif', 'github'].filter(way => ask.flags.on(way))
  if (ways.length > 1) throw new CommandFault(`--${ways.join(' and --')} exclude each other`)
  if (ask.json) ask.print(escapeForTerminal(JSON.stringify(reportJson(report, isClean))))
  else if (ask.flags.on('sarif')) ask.print(escapeForTerminal(JSON.stringify(reportSarif(report), null, 2)))
  else if (ask.flags.on('github')) for (const line of reportGithub(report)) ask.print(escapeForTerminal(line))
  else {
    const paint = isColoured(process.stdout.isTTY === true, ask.env) ? COLOURED : PLAIN
    for (const line of reportText(report, paint, escapeForTerminal)) ask.print(line)
  }
}

function minimum (ask: Ask): number | null {
  const text = ask.flags.text('min')
  if (text === null) return null
  if (!/^(100|[1-9]?\d)$/.test(text)) throw new CommandFault('--min is a score from 0 to 100')
  return Number(text)
}

async function reported (ask: Ask): Promise<Report> {
  const file = ask.flags.text('mcp')
  if (file === null) {
    const options = await folderOf(ask)
    const progress = progressOf(ask)
    if (!ask.flags.on('fix')) return await lintFolder(options, progress)
    const { report, changed } = await fixFolder(options, progress)
    for (const name of changed) ask.tell(`repaired ${escapeForTerminal(name)}`)
    return report
  }
  if (ask.flags.on('fix')) throw new CommandFault('--fix repairs sheets; a tools list is made by its server')
  if (ask.words.length > 0) throw new CommandFault('give either a PATH or --mcp')
  try {
    return lintTools(file, await readFile(file))
  } catch (error) {
    if (error instanceof NoToolsList) throw new CommandFault(escapeForTerminal(error.message))
    throw new CommandFault(`${escapeForTerminal(file)} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`)
  }
}

/** The actions folder that the path is, or lies in: the one with policy.yaml, else the path itself. */
async function folderOf (ask: Ask): Promise<LintFolder> {
  const path = resolve(ask.words[0] ?? ask.env['AVAL_ACTIONS'] ?? './actions')
  const found = await stat(path).catch(() => null)
  if (found === null) throw new CommandFault(`there is no ${escapeForTerminal(ask.words[0] ?? path)}`)
  const folder = found.isDirectory() ? path : dirname(path)
  const actionsFolder = await withPolicy(folder) ?? folder
  const beside = join(dirname(actionsFolder), 'openapi')
  const openapiFolder = ask.flags.text('openapi') ?? ask.env['AVAL_OPENAPI'] ?? (await isFolder(beside) ? beside : './openapi')
  return { actionsFolder, openapiFolder: resolve(openapiFolder), shownAs: asWritten(actionsFolder), within: asPosix(relative(actionsFolder, path)) }
}

async function withPolicy (folder: string): Promise<string | null> {
  for (const candidate of [folder, dirname(folder)]) {
    if (await stat(join(candidate, 'policy.yaml')).then(found => found.isFile(), () => false)) return candidate
  }
  return null
}

const isFolder = (path: string): Promise<boolean> => stat(path).then(found => found.isDirectory(), () => false)

/** Relative to where the command runs, as annotations and editors want it; absolute where it lies elsewhere. */
function asWritten (folder: string): string {
  const from = relative(process.cwd(), folder)
  return asPosix(from.startsWith('..') || isAbsolute(from) ? folder : from)
}

const asPosix = (path: string): string => path.split(sep).join('/')
