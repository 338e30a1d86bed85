// `aval diff`: what differs between two states of the sheets, or of a document, and what that means to agents and people.
import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { LoadOptions } from '../catalog/load.ts'
import { readLock, type Lock } from '../catalog/lock.ts'
import { openDocument } from '../catalog/openapi/documents.ts'
import { DocumentFault } from '../catalog/openapi/fault.ts'
import { readLocalConfig } from '../config.ts'
import { compareDocuments } from '../curation/diff/documents.ts'
import { CLASSES, fails, inOrder, type Class, type Finding } from '../curation/diff/finding.ts'
import { ANSI_DIFF, countsOf, diffText, PLAIN_DIFF } from '../curation/diff/report.ts'
import { compareSnapshots } from '../curation/diff/sides.ts'
import { readSnapshot, type Snapshot } from '../curation/diff/snapshot.ts'
import { compareLocks, lockOf } from '../curation/lock/lock.ts'
import { escapeForTerminal } from '../telemetry/visible.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'
import { isColoured } from './demo/narrator.ts'
import { withRevision } from './git-revision.ts'
import { progressOf } from './progress.ts'
import { started } from './starting.ts'

const NOW = 'now'
const LOCK = 'lock'

export const diff: Command = {
  name: 'diff',
  summary: 'Compare two states of the sheets (folders, git revisions, lock, now) or two documents. Exit code 1 where a change breaks agents.',
  usage: 'A [B] [--fail-on CLASS]…',
  flags: {
    'fail-on': { type: 'string', multiple: true, value: 'CLASS', about: `${CLASSES.join(', ')} or none; breaking where it is absent` },
  },
  coloured: true,
  words: { min: 1, max: 2 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const on = failingOn(ask.flags.texts('fail-on'))
  const [before, after = NOW] = ask.words
  const findings = inOrder(await started(ask, () => compared(ask, before!, after)))
  const ok = !findings.some(one => fails(one, on))
  ask.print(ask.json ? escapeForTerminal(JSON.stringify({ ok, counts: countsOf(findings), findings })) : inWords(ask, findings))
  return ok ? 0 : 1
}

function failingOn (words: readonly string[]): ReadonlySet<Class> {
  const names = words.flatMap(word => word.split(',')).filter(name => name !== 'none')
  const unknown = names.find(name => !(CLASSES as readonly string[]).includes(name))
  if (unknown !== undefined) throw new CommandFault(`--fail-on takes ${CLASSES.join(', ')} or none, and not ${unknown}`)
  return new Set(words.length === 0 ? ['breaking'] : names as Class[])
}

async function compared (ask: Ask, before: string, after: string): Promise<readonly Finding[]> {
  if (before === LOCK || after === LOCK) return compareLocks(await locked(ask, before), await locked(ask, after))
  if (isFile(before) || isFile(after)) return documents(ask, before, after)
  return compareSnapshots(await snapshot(ask, before), await snapshot(ask, after))
}

async function locked (ask: Ask, name: string): Promise<Lock> {
  return name === LOCK ? (await readLock(readLocalConfig(ask.env).actionsFolder)).lock : lockOf(await snapshot(ask, name))
}

async function documents (ask: Ask, before: string, after: string): Promise<readonly Finding[]> {
  for (const name of [before, after]) if (!isFile(name)) throw new CommandFault(`${name} is no document, and a document is compared with another one`)
  const progress = progressOf(ask)
  try {
    return await compareDocuments(openDocument(resolve(before)), openDocument(resolve(after)), (done, all) => progress(done, all, 'operations'))
  } catch (error) {
    if (error instanceof DocumentFault) throw new CommandFault(`${error.file}:${error.line}:${error.column} ${error.code} ${error.message}`)
    throw error
  }
}

async function snapshot (ask: Ask, name: string): Promise<Snapshot> {
  const now = readLocalConfig(ask.env)
  const progress = progressOf(ask)
  const read = (folders: LoadOptions): Promise<Snapshot> => readSnapshot({ ...folders, progress })
  if (name === NOW) return read(now)
  const folder = isFolder(name) ? foldersIn(name, now) : null
  return folder === null ? withRevision(name, now, ask.env, read) : read(folder)
}

/** A folder that holds both, or the sheets alone, whose documents are those of now. */
function foldersIn (path: string, now: LoadOptions): LoadOptions {
  const [actionsFolder, openapiFolder] = [join(path, 'actions'), join(path, 'openapi')]
  if (isFolder(actionsFolder)) {
    return { actionsFolder: resolve(actionsFolder), openapiFolder: isFolder(openapiFolder) ? resolve(openapiFolder) : now.openapiFolder }
  }
  return { actionsFolder: resolve(path), openapiFolder: now.openapiFolder }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true

function inWords (ask: Ask, findings: readonly Finding[]): string {
  const safe = JSON.parse(JSON.stringify(findings), (_, value) => typeof value === 'string' ? escapeForTerminal(value) : value) as readonly Finding[]
  return diffText(safe, isColoured(process.stdout.isTTY === true, ask.env) ? ANSI_DIFF : PLAIN_DIFF)
}
