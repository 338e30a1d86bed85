// `aval import`: a document to drafts of sheets, which a person has to judge before anything loads them.
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { basename, join, relative, resolve, sep } from 'node:path'
import type { Effect } from '../catalog/catalog.ts'
import type { Document } from '../catalog/openapi/documents.ts'
import { DocumentFault } from '../catalog/openapi/fault.ts'
import type { OperationEntry } from '../catalog/openapi/inventory.ts'
import { REVIEW_MARK } from '../catalog/review.ts'
import { EFFECTS, UPSTREAM_NAME_PATTERN } from '../catalog/sheet.ts'
import { readLocalConfig } from '../config.ts'
import { draftSheet, selectorOf, type Draft } from '../curation/import/draft.ts'
import { draftPolicy } from '../curation/import/policy-draft.ts'
import { placed, surveyOperations, type Surveyed } from '../curation/import/survey.ts'
import { draftUpstream } from '../curation/import/upstream-draft.ts'
import { nearest } from '../nearest.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'
import { openNamedDocument } from './named-document.ts'
import { progressOf } from './progress.ts'

export const importCommand: Command = {
  name: 'import',
  summary: 'Draft action sheets from an OpenAPI document. A draft does not load until a person has judged every TODO(review) in it.',
  usage: 'DOCUMENT [--list | --operation ID…] [--into FOLDER]',
  flags: {
    list: { type: 'boolean', about: 'list the operations with what makes each hard, and draft nothing' },
    operation: { type: 'string', multiple: true, value: 'ID', about: 'an operationId, or "METHOD /path"' },
    with: { type: 'string', multiple: true, value: 'NAME', about: 'an optional parameter or field of the body that agents are to be offered' },
    effect: { type: 'string', value: 'EFFECT', about: `what you say of its consequence: ${EFFECTS.join(', ')}; the gravest where it is absent` },
    upstream: { type: 'string', value: 'NAME', about: 'the name of the upstream; after the file where it is absent' },
    into: { type: 'string', value: 'FOLDER', about: 'write the drafts below this folder of actions; no file is ever overwritten' },
  },
  words: { min: 1, max: 1 },
  run,
}

interface Drafts {
  readonly upstream: string
  readonly effect: Effect | null
  readonly drafts: ReadonlyArray<Draft & { readonly file: string }>
  readonly faults: readonly string[]
  readonly upstreamText: string
}

async function run (ask: Ask): Promise<ExitCode> {
  const document = openNamedDocument(ask.words[0]!)
  if (ask.flags.on('list')) return await list(ask, document)
  const drafts = await draft(ask, document)
  for (const fault of drafts.faults) ask.json || ask.print(fault)
  const folder = ask.flags.text('into')
  const written = folder === null ? [] : await writeDrafts(folder, drafts)
  if (ask.json) ask.print(JSON.stringify(asJson(drafts, written)))
  else if (folder === null) for (const { file, text } of drafts.drafts) ask.print(`# ${file}\n${text}`)
  else for (const path of written) ask.print(path)
  for (const { file, text, hard } of drafts.drafts) {
    ask.tell(`${file}: ${text.split(REVIEW_MARK).length - 1} marks to judge${hard.length === 0 ? '' : `; hard: ${hard.join(', ')}`}`)
  }
  return drafts.faults.length > 0 ? 1 : 0
}

async function list (ask: Ask, document: Document): Promise<ExitCode> {
  const progress = progressOf(ask)
  const surveyed = await surveyOperations(document, (done, all) => progress(done, all, 'operations'))
  const faults = surveyed.filter(({ fault }) => fault !== null)
  if (ask.json) ask.print(JSON.stringify({ ok: faults.length === 0, operations: surveyed }))
  else for (const line of table(surveyed)) ask.print(line)
  ask.tell(`${surveyed.length} operations, ${surveyed.filter(({ hard }) => hard.length > 0).length} of them hard, ${faults.length} cannot be used`)
  return faults.length > 0 ? 1 : 0
}

function table (surveyed: readonly Surveyed[]): readonly string[] {
  const named = surveyed.map(({ id, method, path }) => [id ?? '-', `${method} ${path}`] as const)
  const width = (column: 0 | 1, max: number): number => Math.min(max, Math.max(0, ...named.map(row => row[column].length)))
  const [ids, routes] = [width(0, 40), width(1, 60)]
  return surveyed.map(({ hard, fault }, index) => {
    const [id, route] = named[index]!
    return `${id.padEnd(ids)}  ${route.padEnd(routes)}  ${fault === null ? hard.join(', ') : `cannot be used: ${fault}`}`.trimEnd()
  })
}

async function draft (ask: Ask, document: Document): Promise<Drafts> {
  const upstream = upstreamName(ask, document)
  const effect = effectOf(ask)
  const extra = ask.flags.texts('with')
  const entries = chosen(document, ask.flags.texts('operation'))
  const folder = ask.flags.text('into')
  const taken = new Set(folder === null ? [] : await actionsIn(folder))
  const drafts: Array<Draft & { readonly file: string }> = []
  const faults: string[] = []
  for (const entry of entries) {
    try {
      const made = draftSheet({ document, entry, upstream, effect, extra, taken })
      if (made.unknown.length > 0) throw new CommandFault(`${made.operation} takes no ${made.unknown.join(', ')}`)
      taken.add(made.action)
      drafts.push({ ...made, file: `${upstream}/${made.action}.v1.yaml` })
    } catch (error) {
      if (!(error instanceof DocumentFault)) throw error
      faults.push(`${placed(error)} (${entry.method} ${entry.path})`)
    }
  }
  const upstreamText = draftUpstream(document, upstream, documentName(ask), drafts.map(({ needs }) => needs))
  return { upstream, effect, drafts, faults, upstreamText }
}

/** As upstream.yaml will name it: below the folder of documents, where it lies there. */
function documentName (ask: Ask): string {
  const path = resolve(ask.words[0]!)
  const within = relative(resolve(readLocalConfig(ask.env).openapiFolder), path)
  return within.startsWith('..') || within === '' || resolve(within) === within ? basename(path) : within.split(sep).join('/')
}

function chosen (document: Document, selectors: readonly string[]): readonly OperationEntry[] {
  const all = document.operations()
  if (selectors.length === 0) {
    if (all.length === 1) return all
    throw new CommandFault(`the document has ${all.length} operations; choose with --operation, and see them with --list`)
  }
  return selectors.map(selector => {
    const found = all.filter(entry => entry.id === selector || `${entry.method} ${entry.path}` === selector)
    if (found.length === 1) return found[0]!
    const routes = found.map(({ method, path }) => `"${method} ${path}"`).join(', ')
    if (found.length > 1) throw new CommandFault(`${selector} names more than one: ${routes}`)
    const near = nearest(selector, all.map(entry => selectorOf(document, entry)))
    throw new CommandFault(`the document has no operation ${selector}${near === null ? '; --list shows them' : `; did you mean ${near}?`}`)
  })
}

function upstreamName (ask: Ask, document: Document): string {
  const given = ask.flags.text('upstream')
  const name = given ?? document.file.replace(/\.[^.]*$/, '').toLowerCase().replace(/[^a-z0-9_-]+/g, '-').replace(/^[^a-z]+/, '').slice(0, 36)
  if (new RegExp(UPSTREAM_NAME_PATTERN).test(name)) return name
  if (given !== null) throw new CommandFault(`--upstream must match ${UPSTREAM_NAME_PATTERN}`)
  throw new CommandFault('the file gives no name to the upstream; say it with --upstream')
}

function effectOf (ask: Ask): Effect | null {
  const text = ask.flags.text('effect')
  const effect = EFFECTS.find(known => known === text) ?? null
  if (text !== null && effect === null) throw new CommandFault(`--effect must be one of ${EFFECTS.join(', ')}`)
  return effect
}

/** Names that stand in any folder of an upstream. */
async function actionsIn (folder: string): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw new CommandFault(`the folder ${folder} cannot be read (${error.code})`)
  })
  return names.flatMap(name => /([^/\\]+)\.v\d+\.yaml$/.exec(name)?.[1] ?? [])
}

async function writeDrafts (folder: string, { upstream, effect, drafts, upstreamText }: Drafts): Promise<readonly string[]> {
  if (drafts.length === 0) return []
  const written: string[] = []
  const write = async (name: string, text: string): Promise<void> => {
    await writeFile(join(folder, name), text, { flag: 'wx' })
    written.push(join(folder, name))
  }
  try {
    await mkdir(join(folder, upstream), { recursive: true })
    // What is there already is a person's work.
    const writeNew = (name: string, text: string): Promise<void> => write(name, text).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
    await writeNew('policy.yaml', draftPolicy(upstream, drafts.map(({ action }) => `${action}.v1`), effect ?? 'irreversible_change'))
    await writeNew(`${upstream}/upstream.yaml`, upstreamText)
    for (const { file, text } of drafts) await write(file, text)
  } catch (error) {
    throw new CommandFault(`a draft cannot be written: ${(error as Error).message}`)
  }
  return written
}

function asJson ({ upstream, drafts, faults, upstreamText }: Drafts, written: readonly string[]): unknown {
  return {
    ok: faults.length === 0,
    drafts: drafts.map(({ action, operation, file, hard, text }) => ({ action: `${action}.v1`, operation, file, hard, text })),
    upstream: { file: `${upstream}/upstream.yaml`, text: upstreamText },
    faults,
    written,
  }
}
