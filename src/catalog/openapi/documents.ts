// The folder of OpenAPI documents: which files it holds, and a document for whoever names one.
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join, posix } from 'node:path'
import canonicalize from 'canonicalize'
import { createCloser } from './closure.ts'
import type { Closer } from './closure.ts'
import type { Direction } from './composition.ts'
import { DocumentFault } from './fault.ts'
import { takeInventory } from './inventory.ts'
import type { Inventory, Located, OperationEntry } from './inventory.ts'
import type { JsonSchema, Operation, SecurityScheme } from './operation.ts'
import { readOperation3 } from './openapi3.ts'
import { isObject, own, parsePointer } from './pointer.ts'
import { checked, matchedToTemplate, serversOf, templateNames, warn } from './reader.ts'
import type { Reading } from './reader.ts'
import { childOf, createReferences, fault, rootOf } from './reference.ts'
import type { References } from './reference.ts'
import { readSecurityScheme, securitySchemeNames } from './security.ts'
import { faultAt, readSource, readSourceInSteps } from './source.ts'
import type { Source } from './source.ts'
import type { Dialect } from './structure.ts'
import { readOperation2 } from './swagger2.ts'
import { readWords } from './words.ts'
import type { OperationWords } from './words.ts'

/** An operation has no more warnings than this; a document that earns more is beyond reading. */
const WARNINGS_MAX = 100

export interface Document {
  /** Relative to the folder, with forward slashes. */
  readonly file: string
  /** As the document says, `3.1.0` or `2.0`. */
  readonly version: string
  /**
   * @param selector an operationId, or `METHOD /path` with the path exactly as in the document
   * @throws DocumentFault where there is no such operation, or what it rests on cannot be used
   */
  operation (selector: string): Operation
  /** Every operation that can be found, in the document's order, whether or not it can be used. */
  operations (): readonly OperationEntry[]
  /** What the document tells people about an operation. @throws DocumentFault where there is no such operation */
  words (selector: string): OperationWords
  /** Names of the security schemes, in the document's order. */
  securitySchemes (): readonly string[]
  /** URLs of the document's own `servers`, as it writes them; never where anything is sent. */
  servers (): readonly string[]
  /** @throws DocumentFault where it is there and cannot be used */
  securityScheme (name: string): SecurityScheme | undefined
  /**
   * A schema of the document with all that it refers to.
   * @param pointer JSON Pointer of a Schema Object, `/components/schemas/Pet`
   * @throws DocumentFault
   */
  schema (pointer: string, direction: Direction): JsonSchema
}

export interface Documents {
  /** Every .yaml, .yml and .json file, relative to the folder, sorted. */
  readonly names: readonly string[]
  /** Reads and parses at the first call, unless it was prepared. @throws DocumentFault */
  open (name: string): Document
  /** Reads and parses in steps, and waits for `breathe` between them. What is wrong is told by `open`. */
  prepare (name: string, breathe: () => Promise<void>): Promise<void>
}

/** The version that a file names itself, as text; YAML reads an unquoted one as a number. */
function versionOf (root: unknown): string | undefined {
  if (!isObject(root)) return undefined
  const named = own(root, 'openapi') ?? own(root, 'swagger')
  if (typeof named === 'string') return named
  return typeof named === 'number' ? Number.isInteger(named) ? `${named}.0` : String(named) : undefined
}

function dialectOf (version: string | undefined): Dialect | undefined {
  const found = /^(?:(2\.0)|(3\.[012])(?:\.\d+(?:-.+)?)?)$/.exec(version ?? '')
  return (found?.[1] ?? found?.[2]) as Dialect | undefined
}

interface Opened {
  readonly source: Source
  readonly version: string
  readonly dialect: Dialect
  readonly references: References
  readonly closer: Closer
}

const plainReading = ({ dialect, source, references, closer }: Opened): Reading =>
  ({ dialect, root: rootOf(source), references, closer, warnings: new Set(), digests: [] })

function compileOperation (opened: Opened, located: Located): Operation {
  const { dialect, source } = opened
  const { method, path, operation, pathItem } = located
  const reading = plainReading(opened)
  const inPaths = childOf(rootOf(source), 'paths', path)
  if (/[?#]/.test(path)) throw fault(inPaths, 'path-has-query', 'A path must not hold a query or a fragment.')
  const names = templateNames(path)
  // What a URL parser changes in the fixed parts of a path (`..`, `//`, spaces) would address something else.
  const plain = path.replace(/\{[^{}/]+\}/g, 'x')
  if (names === undefined || !path.startsWith('/') || plain.startsWith('//') || new URL(plain, 'http://localhost').pathname !== plain) {
    throw fault(inPaths, 'path-malformed', 'The path cannot be sent as it is written.')
  }
  checked(reading, operation, 'operation')
  const parts = dialect === '2.0' ? readOperation2(reading, pathItem, operation) : readOperation3(reading, pathItem, operation)
  const parameters = matchedToTemplate(reading, operation, path, parts.parameters)
  const servers = dialect === '2.0' ? [] : serversOf(pathItem, operation)
  if (isObject(source.root) && typeof own(source.root, '$self') === 'string') {
    warn(reading, rootOf(source), '$self is not read; references are relative to the file')
  }
  const id = located.id ?? `${method} ${path}`
  return Object.freeze({
    id, method, path, ...parts, parameters, servers,
    digest: digestOf({ id, method, path, ...parts, parameters, servers }, reading, operation.pointer, source),
    warnings: Object.freeze([...reading.warnings].slice(0, WARNINGS_MAX)),
  })
}

function rootServers (root: unknown, dialect: Dialect): readonly string[] {
  if (!isObject(root)) return []
  if (dialect === '2.0') {
    const host = own(root, 'host')
    const base = own(root, 'basePath')
    return typeof host === 'string' ? [`https://${host}${typeof base === 'string' ? base : ''}`] : []
  }
  const servers = own(root, 'servers')
  return (Array.isArray(servers) ? servers : []).flatMap(server => isObject(server) && typeof server.url === 'string' ? [server.url] : [])
}

/** Schemas stand in it by their own digests, so that one closure is hashed once however many operations share it. */
function digestOf (operation: Omit<Operation, 'digest' | 'warnings'>, reading: Reading, pointer: string, source: Source): string {
  const text = canonicalize({
    id: operation.id,
    method: operation.method,
    path: operation.path,
    servers: operation.servers,
    parameters: operation.parameters.map(({ schema, ...rest }) => rest),
    bodies: [...operation.bodies.values()].map(body => ({ mediaType: body.mediaType, encoding: [...body.encoding] })),
    bodyRequired: operation.bodyRequired,
    responses: operation.responses.map(response => ({ status: response.status, content: [...response.content.keys()] })),
    declaredHeaders: [...operation.declaredHeaders],
    schemas: reading.digests,
  })
  if (text === undefined) throw faultAt(source, pointer, 'not-json', 'The operation holds a value that JSON cannot hold.')
  return createHash('sha256').update(text).digest('hex')
}

function createDocument (opened: Opened): Document {
  const { source, version, dialect, references, closer } = opened
  let inventory: Inventory | undefined
  const inventoryOf = (): Inventory => inventory ??= takeInventory(source, dialect, references)
  const operations = new Map<Located, Operation>()
  return {
    file: source.file,
    version,
    operation (selector) {
      const located = inventoryOf().find(selector)
      const known = operations.get(located) ?? compileOperation(opened, located)
      operations.set(located, known)
      return known
    },
    words: selector => readWords(plainReading(opened), inventoryOf().find(selector)),
    securitySchemes: () => securitySchemeNames(plainReading(opened)),
    servers: () => rootServers(source.root, dialect),
    operations: () => inventoryOf().all.map(({ id, method, path }) => ({ id, method, path })),
    securityScheme: name => readSecurityScheme(plainReading(opened), name),
    schema (pointer, direction) {
      const tokens = parsePointer(pointer)
      const place = tokens === undefined ? undefined : references.target(rootOf(source), `#${encodeURI(pointer)}`)
      if (place === undefined) throw faultAt(source, '', 'ref-malformed', 'This is not a JSON Pointer.')
      return closer.close(place, direction).schema
    },
  }
}

async function listFolder (folder: string): Promise<readonly string[]> {
  const names: string[] = []
  const walk = async (under: string): Promise<void> => {
    for (const entry of await readdir(posix.join(folder, under), { withFileTypes: true })) {
      // Hidden entries are the business of editors, version control and mounted volumes.
      if (entry.name.startsWith('.')) continue
      const name = posix.join(under, entry.name)
      if (entry.isDirectory()) await walk(name)
      else if (/\.(?:ya?ml|json)$/i.test(entry.name)) names.push(name)
    }
  }
  await walk('')
  return names.sort()
}

/**
 * Lists the folder. A file is read and parsed when it is opened first, and kept.
 * @throws Error where the folder cannot be listed
 */
export async function openDocuments (folder: string): Promise<Documents> {
  const names = Object.freeze(await listFolder(folder))
  const known: ReadonlySet<string> = new Set(names)
  return documentsIn(folder, names, file => known.has(file))
}

/**
 * One document wherever it lies, without a look at what else lies there; files beside it and below are read where it refers to them.
 * @throws DocumentFault
 */
export function openDocument (path: string): Document {
  const folder = dirname(path)
  const exists = (file: string): boolean => statSync(join(folder, file), { throwIfNoEntry: false })?.isFile() === true
  return documentsIn(folder, [], exists).open(basename(path))
}

function documentsIn (folder: string, names: readonly string[], isKnown: (file: string) => boolean): Documents {
  const sources = new Map<string, Source | DocumentFault>()
  const documents = new Map<string, Document>()
  const sourceOf = (file: string): Source | undefined => {
    if (!isKnown(file)) return undefined
    const source = sources.get(file) ?? readSource(folder, file)
    sources.set(file, source)
    if (source instanceof DocumentFault) throw source
    return source
  }
  return Object.freeze({
    names,
    async prepare (name: string, breathe: () => Promise<void>): Promise<void> {
      if (!isKnown(name) || sources.has(name)) return
      try {
        sources.set(name, await readSourceInSteps(folder, name, breathe))
      } catch (error) {
        if (!(error instanceof DocumentFault)) throw error
        sources.set(name, error)
      }
    },
    open (name: string): Document {
      const opened = documents.get(name)
      if (opened !== undefined) return opened
      const source = sourceOf(name)
      if (source === undefined) {
        throw new DocumentFault('document-unknown', 'The folder of documents has no such file.', name, '', { line: 1, column: 1 })
      }
      const version = versionOf(source.root)
      const dialect = dialectOf(version)
      if (version === undefined || dialect === undefined) {
        throw faultAt(source, '', 'version-unsupported', 'The file is no OpenAPI document of version 2.0, 3.0, 3.1 or 3.2.')
      }
      const references = createReferences(sourceOf)
      // A file without a version of its own is written in the dialect of the document that refers to it.
      const closer = createCloser(references, source.file, place => ['2.0', '3.0'].includes(dialectOf(versionOf(place.source.root)) ?? dialect))
      const document = createDocument({ source, version, dialect, references, closer })
      documents.set(name, document)
      return document
    },
  })
}
