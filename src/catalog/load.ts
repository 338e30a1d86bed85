// Two folders to one frozen catalog, or to all that is wrong with them. The only file of catalog/ (beside openapi/) that reads anything.
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { CatalogFaults, isObject, type Action, type Catalog, type Effect, type Fault, type JsonObject, type Upstream } from './catalog.ts'
import { actionId, compileAction, digestOf } from './compile.ts'
import { writeDefinition } from './definition.ts'
import { FaultList, type Reporter } from './faults.ts'
import { freezeDeep } from './freeze.ts'
import { suggestion } from './near.ts'
import { openDocuments, type Document, type Documents } from './openapi/documents.ts'
import { DocumentFault } from './openapi/fault.ts'
import type { Operation, SecurityScheme } from './openapi/operation.ts'
import { compileRoles, POLICY_SCHEMA, type PolicySheet } from './policy.ts'
import { SchemaCompiler } from './schema.ts'
import { ACTION_NAME_PATTERN, SHEET_SCHEMA, UPSTREAM_NAME_PATTERN, type Sheet } from './sheet.ts'
import { checkStructure } from './structure.ts'
import { asUpstreamSheet, compileUpstream, UPSTREAM_SCHEMA } from './upstream.ts'
import { readYaml, YamlFile } from './yaml-file.ts'

export interface LoadOptions {
  readonly actionsFolder: string
  readonly openapiFolder: string
  readonly progress?: LoadProgress
}

/** Told as it goes on: of the files of a folder while they are read, of the sheets while they are compiled. */
export type LoadProgress = (done: number, all: number, about: string) => void

/** All that a load met, good or not: for whoever judges sheets and must say something of a set that cannot be served. */
export interface Survey {
  readonly faults: readonly Fault[]
  /** null where a set has faults. */
  readonly catalog: Catalog | null
  /** null where it is missing or has not the form of one. */
  readonly policy: { readonly file: YamlFile, readonly sheet: PolicySheet } | null
  /** Those that have the form of a sheet, in the order of the files. */
  readonly sheets: readonly SurveyedSheet[]
}

export interface SurveyedSheet {
  readonly id: string
  readonly file: YamlFile
  readonly sheet: Sheet
  /** By the text that the sheet selects it with; those that could be found. */
  readonly operations: ReadonlyMap<string, Operation>
  /** null where the sheet has faults, or its upstream. */
  readonly action: Action | null
}

/** @throws CatalogFaults with every fault of the load */
export async function loadCatalog (options: LoadOptions): Promise<Catalog> {
  const { faults, catalog } = await surveyCatalog(options)
  if (catalog === null || faults.length > 0) throw new CatalogFaults(faults)
  return catalog
}

/** The same, which tells faults beside all that could be read. */
export async function surveyCatalog (options: LoadOptions): Promise<Survey> {
  const faults = new FaultList()
  const breathe = breathing()
  const progress = options.progress ?? (() => {})
  const files = await readFolder(options.actionsFolder, faults, progress)
  const documents = await openFolder(options.openapiFolder, faults)
  const loading = new Loading(faults, documents, breathe, progress)
  const { catalog, policy } = await loading.load(files)
  return { faults: faults.all(), catalog, policy: policy === null ? null : { file: files.policy!, sheet: policy }, sheets: loading.sheets }
}

/** Lets the calls that are under way go on: a load takes longer than they may wait. */
function breathing (): () => Promise<void> {
  let sinceMs = performance.now()
  return async () => {
    if (performance.now() - sinceMs < 20) return
    await nextTurn()
    sinceMs = performance.now()
  }
}

// ─── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface ActionsFolder {
  readonly policy: YamlFile | null
  readonly upstreams: readonly UpstreamFolder[]
}

interface UpstreamFolder {
  readonly name: string
  readonly file: YamlFile | null
  readonly sheets: readonly YamlFile[]
  /** Ids of sheets that could not be read. */
  readonly unread: readonly string[]
}

async function readFolder (folder: string, faults: FaultList, progress: LoadProgress): Promise<ActionsFolder> {
  const upstreams: Array<UpstreamFolder> = []
  let policy: YamlFile | null = null
  let policyThere = false
  for (const name of await namesIn(folder, '', faults)) {
    if (await isFolder(join(folder, name))) {
      if (new RegExp(UPSTREAM_NAME_PATTERN).test(name)) upstreams.push(await readUpstream(folder, name, faults, progress))
      else faults.addForFile(name, 'file-misplaced', `a folder is named after its upstream, ${UPSTREAM_NAME_PATTERN}`)
    } else if (name === 'policy.yaml') {
      policyThere = true
      policy = await readOne(folder, name, faults)
    } else if (isYaml(name)) {
      faults.addForFile(name, 'file-misplaced', 'only policy.yaml and one folder an upstream lie here')
    }
  }
  if (!policyThere) faults.addForFile('policy.yaml', 'file-missing', 'there is no policy.yaml; nothing is granted by default')
  return { policy, upstreams }
}

async function readUpstream (folder: string, upstream: string, faults: FaultList, progress: LoadProgress): Promise<UpstreamFolder> {
  const sheets: YamlFile[] = []
  const unread: string[] = []
  let file: YamlFile | null = null
  let there = false
  const names = await namesIn(folder, upstream, faults)
  for (const [index, name] of names.entries()) {
    const path = `${upstream}/${name}`
    progress(index, names.length, path)
    // Scenarios are for `aval test`: what is wrong with them stops no broker.
    if (!isYaml(name) || SCENARIOS_NAME.test(name)) continue
    if (name === 'upstream.yaml') {
      there = true
      file = await readOne(folder, path, faults)
    } else {
      const named = sheetName(name)
      if (named === null) {
        faults.addForFile(path, 'file-misplaced', 'a sheet is named <action>.v<N>.yaml')
        continue
      }
      const sheet = await readOne(folder, path, faults)
      if (sheet === null) unread.push(actionId(named))
      else sheets.push(sheet)
    }
  }
  if (!there) faults.addForFile(`${upstream}/upstream.yaml`, 'file-missing', 'there is no upstream.yaml in this folder')
  return { name: upstream, file, sheets, unread }
}

const isYaml = (name: string): boolean => /\.ya?ml$/i.test(name)

const ACTION_NAME = new RegExp(ACTION_NAME_PATTERN)
/** `<action>.scenarios.yaml` */
export const SCENARIOS_NAME = /^[a-z][a-z0-9_]{0,35}\.scenarios\.yaml$/

function sheetName (name: string): { readonly action: string, readonly version: number } | null {
  const parts = /^([^.]+)\.v([1-9]\d{0,3})\.yaml$/.exec(name)
  return parts !== null && ACTION_NAME.test(parts[1]!) ? { action: parts[1]!, version: Number(parts[2]) } : null
}

async function namesIn (folder: string, within: string, faults: FaultList): Promise<readonly string[]> {
  try {
    const names = await readdir(join(folder, within))
    return names.filter(name => !name.startsWith('.')).sort()
  } catch (error) {
    faults.addForFile(within === '' ? '.' : within, 'folder-unreadable', `the folder ${join(folder, within)} cannot be read (${codeOf(error)})`)
    return []
  }
}

async function isFolder (path: string): Promise<boolean> {
  return await stat(path).then(found => found.isDirectory(), () => false)
}

async function readOne (folder: string, name: string, faults: FaultList): Promise<YamlFile | null> {
  try {
    const read = readYaml(name, await readFile(join(folder, name)))
    if (!(read instanceof YamlFile)) for (const fault of read) faults.add(fault)
    else {
      for (const mark of read.marks) faults.add({ file: name, ...mark.at, rule: 'review-pending', message: mark.message })
      return read
    }
  } catch (error) {
    faults.addForFile(name, 'file-unreadable', `the file cannot be read (${codeOf(error)})`)
  }
  return null
}

async function openFolder (folder: string, faults: FaultList): Promise<Documents | null> {
  try {
    return await openDocuments(folder)
  } catch (error) {
    faults.addForFile('.', 'folder-unreadable', `the folder of OpenAPI documents, ${folder}, cannot be read (${codeOf(error)})`)
    return null
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException | null)?.code ?? 'unknown'

// ─── Compiling ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface LoadedUpstream {
  readonly upstream: Upstream
  readonly sheet: JsonObject
  readonly document: Document
  readonly schemes: ReadonlyMap<string, SecurityScheme | null | undefined>
}

class Loading {
  readonly sheets: SurveyedSheet[] = []
  readonly #faults: FaultList
  readonly #documents: Documents | null
  readonly #breathe: () => Promise<void>
  readonly #progress: LoadProgress
  readonly #schemas = new SchemaCompiler()
  /** Of every sheet that could be read, also where it has faults. */
  readonly #effects = new Map<string, Effect>()
  readonly #broken = new Set<string>()
  readonly #definitions = new Map<string, () => string>()

  constructor (faults: FaultList, documents: Documents | null, breathe: () => Promise<void>, progress: LoadProgress) {
    this.#faults = faults
    this.#documents = documents
    this.#breathe = breathe
    this.#progress = progress
  }

  async load (files: ActionsFolder): Promise<{ readonly catalog: Catalog | null, readonly policy: PolicySheet | null }> {
    const policy = files.policy === null ? null : this.#formed<PolicySheet>(files.policy, POLICY_SCHEMA)
    const upstreams = new Map<string, Upstream>()
    const actions = new Map<string, Action>()
    const references: Array<{ readonly sheet: Sheet, readonly report: Reporter }> = []
    const all = files.upstreams.reduce((sum, { sheets }) => sum + sheets.length, 0)
    let done = 0
    for (const { name, file, sheets, unread } of files.upstreams) {
      for (const id of unread) this.#broken.add(id)
      this.#progress(done, all, `${name}/upstream.yaml`)
      const loaded = file === null ? null : await this.#upstream(name, file)
      if (loaded !== null) upstreams.set(name, loaded.upstream)
      for (const sheetFile of sheets) {
        await this.#breathe()
        this.#progress(done++, all, sheetFile.name)
        const report = this.#faults.in(sheetFile)
        const sheet = this.#sheet(name, sheetFile, report)
        if (sheet === null) continue
        references.push({ sheet, report })
        const operations = new Map<string, Operation>()
        const action = loaded === null ? null : this.#action(sheet, loaded, policy, report, operations)
        this.sheets.push({ id: actionId(sheet), file: sheetFile, sheet, operations, action })
        if (action !== null) actions.set(action.id, action)
      }
    }
    this.#progress(all, all, '')
    for (const { sheet, report } of references) this.#checkReferences(sheet, report)
    const roles = policy === null ? new Map() : compileRoles(policy, this.#effects, this.#broken, this.#faults.in(files.policy!))
    if (this.#faults.count > 0) return { catalog: null, policy }
    const sorted = new Map([...actions].sort(([one], [other]) => one < other ? -1 : 1))
    const digest = digestOf({
      actions: [...sorted.values()].map(action => [action.id, action.digest]),
      policy: freezeDeep(policy) as unknown as JsonObject,
    })
    return { catalog: Object.freeze({ digest, actions: sorted, upstreams, roles, definitions: this.#definitions }), policy }
  }

  #formed<T> (file: YamlFile, schema: Parameters<typeof checkStructure>[1]): T | null {
    return checkStructure(file.value, schema, this.#faults.in(file)) ? file.value as unknown as T : null
  }

  async #upstream (folder: string, file: YamlFile): Promise<LoadedUpstream | null> {
    const report = this.#faults.in(file)
    if (!checkStructure(file.value, UPSTREAM_SCHEMA, report) || !isObject(file.value)) return null
    const sheet = asUpstreamSheet(file.value)
    if (sheet.upstream !== folder) report.fault('/upstream', 'name-differs', `the folder is named "${folder}"`)
    await this.#documents?.prepare(sheet.openapi, this.#breathe)
    const document = this.#document(sheet.openapi, report)
    const schemes = new Map<string, SecurityScheme | null | undefined>()
    const scheme = (name: string, pointer: string): SecurityScheme | null | undefined => {
      if (document === null) return null
      const found = attempt(() => document.securityScheme(name), pointer, report)
      schemes.set(name, found)
      return found
    }
    const upstream = compileUpstream(sheet, scheme, report)
    return upstream === null || document === null ? null : { upstream, sheet: file.value, document, schemes }
  }

  #document (name: string, report: Reporter): Document | null {
    const documents = this.#documents
    if (documents === null) return null
    if (!documents.names.includes(name)) {
      report.fault('/openapi', 'document-unknown', `there is no document "${name}"${suggestion(name, documents.names)}`)
      return null
    }
    return attempt(() => documents.open(name), '/openapi', report)
  }

  #sheet (folder: string, file: YamlFile, report: Reporter): Sheet | null {
    const named = sheetName(file.name.slice(file.name.lastIndexOf('/') + 1))!
    const id = actionId(named)
    const twice = this.#effects.has(id) || this.#broken.has(id)
    const sheet = this.#formed<Sheet>(file, SHEET_SCHEMA)
    if (twice) report.fault('', 'action-twice', `another upstream has an action "${id}" already`)
    if (sheet === null) {
      this.#broken.add(id)
      return null
    }
    this.#effects.set(id, sheet.effect)
    if (sheet.action !== named.action) report.fault('/action', 'name-differs', `the file is named after "${named.action}"`)
    if (sheet.version !== named.version) report.fault('/version', 'name-differs', `the file is named after version ${named.version}`)
    if (sheet.upstream !== folder) report.fault('/upstream', 'name-differs', `the folder is named "${folder}"`)
    return sheet
  }

  #action (
    sheet: Sheet, loaded: LoadedUpstream, policy: PolicySheet | null, report: Reporter, operations: Map<string, Operation>
  ): Action | null {
    const { upstream, document } = loaded
    const action = compileAction({
      sheet,
      upstream,
      upstreamSheet: loaded.sheet,
      policy,
      schemas: this.#schemas,
      report,
      operation (selector: string, pointer: string): Operation | null {
        const operation = attempt(() => document.operation(selector), pointer, report)
        if (operation !== null) operations.set(selector, operation)
        const other = operation?.servers.find(server => !isServer(server, upstream))
        if (other !== undefined) {
          report.fault(pointer, 'operation-other-server', `${operation!.id} is served by ${other}, which is not the server of upstream.yaml`)
        }
        return operation
      },
    })
    // An observation leaves no attempt that anything would have to be known about.
    if (action?.write === true) {
      this.#definitions.set(action.digest, () => writeDefinition({ sheet, upstream: loaded.sheet, schemes: loaded.schemes, operations }))
    }
    return action
  }

  #checkReferences (sheet: Sheet, report: Reporter): void {
    const requireAction = (id: string | undefined, pointer: string): boolean => {
      if (id === undefined || this.#effects.has(id) || this.#broken.has(id)) return true
      report.fault(pointer, 'action-unknown', `there is no action "${id}"${suggestion(id, [...this.#effects.keys(), ...this.#broken])}`)
      return false
    }
    requireAction(sheet.sunset?.use, '/sunset/use')
    if (sheet.sunset?.use === actionId(sheet)) report.fault('/sunset/use', 'action-unknown', 'an action cannot stand in for itself')
    const undo = sheet.compensate_with
    if (requireAction(undo, '/compensate_with') && undo !== undefined && this.#effects.get(undo) === 'observation') {
      report.fault('/compensate_with', 'compensation-not-a-write', 'an observation undoes nothing')
    }
  }
}

/** What is wrong with a document is told at the line that names it: there it can be answered by naming something else. */
function attempt<T> (open: () => T, pointer: string, report: Reporter): T | null {
  try {
    return open()
  } catch (error) {
    if (!(error instanceof DocumentFault)) throw error
    report.fault(pointer, error.code, `${error.message} (${error.file}:${error.line}:${error.column})`)
    return null
  }
}

/** Scheme and host without regard to case, the path with (RFC 3986 §6.2.2.1). A relative one is relative to wherever the document came from. */
function isServer (server: string, upstream: Upstream): boolean {
  if (!URL.canParse(server)) return false
  const url = new URL(server)
  const isPlain = url.search === '' && url.hash === ''
  return isPlain && url.origin === new URL(upstream.origin).origin && url.pathname.replace(/\/$/, '') === upstream.basePath
}
