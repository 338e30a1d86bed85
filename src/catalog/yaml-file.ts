// One YAML file of a platform team: YAML 1.2, core schema, read strictly, with the position of everything in it.
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseAllDocuments, type Alias, type Document, type Node, type Pair, type Scalar } from 'yaml'
import type { Fault, Json } from './catalog.ts'
import { reviewMarks, type Position, type ReviewMark } from './review.ts'

export const FILE_BYTES_MAX = 256 * 1024
/** How often aliases may be followed in one file, their nesting counted in. */
const ALIASES_MAX = 64
const DEPTH_MAX = 64


interface Entry {
  readonly key: Position
  readonly value: Position
  /** Offset in the file of a scalar whose text stands there as it is; null where quoting or folding changed it. */
  readonly plainFrom: number | null
}

export class YamlFile {
  /** Relative to the folder that was loaded. */
  readonly name: string
  readonly value: Json
  /** What a person has not judged yet. */
  readonly marks: readonly ReviewMark[]
  readonly #entries: ReadonlyMap<string, Entry>
  readonly #lines: LineCounter

  constructor (name: string, value: Json, entries: ReadonlyMap<string, Entry>, lines: LineCounter, marks: readonly ReviewMark[]) {
    this.name = name
    this.value = value
    this.marks = marks
    this.#entries = entries
    this.#lines = lines
  }

  /** Where the value at a JSON Pointer stands, or the nearest thing around it that does; from 1. */
  positionOf (pointer: string, offset = 0): Position {
    const entry = this.#nearest(pointer)
    if (offset > 0 && entry.plainFrom !== null && this.#entries.has(pointer)) return at(this.#lines, entry.plainFrom + offset)
    return entry.value
  }

  has (pointer: string): boolean {
    return this.#entries.has(pointer)
  }

  keyPositionOf (pointer: string): Position {
    return this.#nearest(pointer).key
  }

  #nearest (pointer: string): Entry {
    let within = pointer
    for (;;) {
      const entry = this.#entries.get(within)
      if (entry !== undefined) return entry
      if (within === '') return { key: START, value: START, plainFrom: null }
      within = within.slice(0, within.lastIndexOf('/'))
    }
  }
}

const START: Position = Object.freeze({ line: 1, column: 1 })

/** RFC 6901 §3. */
export const pointerTo = (parent: string, name: string | number): string => `${parent}/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`

/** Reads a file, or says all that keeps it from being read. */
export function readYaml (name: string, bytes: Buffer): YamlFile | readonly Fault[] {
  const refuse = (rule: string, message: string): readonly Fault[] => [{ file: name, line: 1, column: 1, rule, message }]
  if (bytes.length > FILE_BYTES_MAX) return refuse('file-too-large', `the file is larger than ${FILE_BYTES_MAX / 1024} KiB`)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return refuse('not-utf8', 'the file is not UTF-8')
  }
  if (text.startsWith('\uFEFF')) return refuse('byte-order-mark', 'the file begins with a byte order mark')
  const lines = new LineCounter()
  const control = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F]/.exec(text)
  if (control !== null) {
    const before = text.slice(0, control.index).split('\n')
    const position = { line: before.length, column: before.at(-1)!.length + 1 }
    return [{ file: name, ...position, rule: 'control-character', message: 'the file holds a control character' }]
  }
  const parsed = parseAllDocuments(text, {
    version: '1.2',
    schema: 'core',
    merge: false,
    strict: true,
    uniqueKeys: true,
    prettyErrors: false,
    intAsBigInt: true,
    lineCounter: lines,
    logLevel: 'silent',
  })
  const documents: readonly Document.Parsed[] = Array.isArray(parsed) ? parsed : []
  const [document, second] = documents
  if (document === undefined || document.contents === null) return refuse('yaml-empty', 'the file holds nothing')
  if (second !== undefined) {
    return [{ file: name, ...at(lines, second.range[0]), rule: 'yaml-several-documents', message: 'the file holds more than one document' }]
  }
  const problems = [...document.errors, ...document.warnings]
  const overflow = problems.find(problem => problem.code === 'RESOURCE_EXHAUSTION')
  // The parser goes down one call a level; what else it says after that is about its own end.
  if (overflow !== undefined) {
    return [{ file: name, ...at(lines, overflow.pos[0]), rule: 'yaml-too-deep', message: `the file is nested deeper than ${DEPTH_MAX}` }]
  }
  if (problems.length > 0) {
    return problems.map(problem => ({
      file: name,
      ...at(lines, problem.pos[0]),
      rule: problem.code === 'DUPLICATE_KEY' ? 'duplicate-key' : problem.code === 'TAG_RESOLVE_FAILED' ? 'yaml-tag' : 'yaml-syntax',
      message: problem.code === 'DUPLICATE_KEY' ? 'an object names this key twice' : problem.message,
    }))
  }
  const reading = new Reading(name, text, document, lines)
  const value = reading.read(document.contents, '', document.contents as Node, 0)
  return reading.faults.length > 0 ? reading.faults : new YamlFile(name, value, reading.entries, lines, reviewMarks(text))
}

class Reading {
  readonly faults: Fault[] = []
  readonly entries = new Map<string, Entry>()
  readonly #file: string
  readonly #text: string
  readonly #document: Document.Parsed
  readonly #lines: LineCounter
  #aliases = 0

  constructor (file: string, text: string, document: Document.Parsed, lines: LineCounter) {
    this.#file = file
    this.#text = text
    this.#document = document
    this.#lines = lines
  }

  read (node: unknown, pointer: string, key: Node, depth: number): Json {
    const here = this.#positionOf(isNode(node) ? node : key)
    this.entries.set(pointer, { key: this.#positionOf(key), value: here, plainFrom: isScalar(node) ? this.#plainFrom(node) : null })
    if (depth > DEPTH_MAX) return this.#refuse(here, 'yaml-too-deep', `the file is nested deeper than ${DEPTH_MAX}`)
    if (isAlias(node)) return this.#follow(node, pointer, key, depth, here)
    if (isTagged(node)) return this.#refuse(here, 'yaml-tag', 'tags are not read')
    if (isMap(node)) return this.#readMap(node.items, pointer, depth)
    if (isSeq(node)) return node.items.map((item, index) => this.read(item, pointerTo(pointer, index), item as Node, depth + 1))
    if (isScalar(node)) return this.#readScalar(node, here)
    return null
  }

  #follow (alias: Alias, pointer: string, key: Node, depth: number, here: Position): Json {
    this.#aliases++
    if (this.#aliases === ALIASES_MAX + 1) return this.#refuse(here, 'yaml-aliases', `more than ${ALIASES_MAX} aliases are followed`)
    if (this.#aliases > ALIASES_MAX) return null
    const target = alias.resolve(this.#document)
    if (target === undefined) return this.#refuse(here, 'yaml-syntax', `nothing is anchored as "${alias.source}"`)
    return this.read(target, pointer, key, depth + 1)
  }

  #readMap (items: readonly Pair[], pointer: string, depth: number): Json {
    const entries: Array<[string, Json]> = []
    for (const { key, value } of items) {
      const keyNode = key as Node
      if (!isScalar(keyNode) || typeof keyNode.value !== 'string' || isTagged(keyNode)) {
        this.#refuse(this.#positionOf(keyNode), 'key-not-text', 'a key must be plain text; quote it where it looks like something else')
        continue
      }
      if (keyNode.value === '<<') {
        this.#refuse(this.#positionOf(keyNode), 'yaml-merge', 'merge keys are not read')
        continue
      }
      entries.push([keyNode.value, this.read(value ?? keyNode, pointerTo(pointer, keyNode.value), keyNode, depth + 1)])
      if (value === null) entries.at(-1)![1] = null
    }
    // Own properties whatever their names: `__proto__` too is only a name here.
    return Object.fromEntries(entries)
  }

  #readScalar (scalar: Scalar, here: Position): Json {
    const { value } = scalar
    if (typeof value === 'bigint') {
      const number = Number(value)
      if (Number.isSafeInteger(number)) return number
      return this.#refuse(here, 'number-not-exact', 'the integer cannot be kept exactly; quote it to keep it as text')
    }
    if (typeof value === 'number') {
      return Number.isFinite(value) ? value : this.#refuse(here, 'number-not-exact', 'the number cannot be written in JSON')
    }
    if (typeof value === 'string') return value.isWellFormed() ? value : this.#refuse(here, 'text-ill-formed', 'the text is not well-formed Unicode')
    return typeof value === 'boolean' ? value : null
  }

  /** Where an offset into the scalar's text is the same offset into the file. */
  #plainFrom (scalar: Scalar): number | null {
    const range = scalar.range
    if (range === undefined || range === null || typeof scalar.value !== 'string') return null
    for (const from of [range[0], range[0] + 1]) {
      if (this.#text.startsWith(scalar.value, from)) return from
    }
    return null
  }

  #positionOf (node: Node): Position {
    return at(this.#lines, node?.range?.[0] ?? 0)
  }

  #refuse (position: Position, rule: string, message: string): null {
    this.faults.push({ file: this.#file, ...position, rule, message })
    return null
  }
}

const isNode = (node: unknown): node is Node => isAlias(node) || isMap(node) || isSeq(node) || isScalar(node)

/** A tag that somebody wrote, `!!str` too; the parser leaves `tag` away where it chose the type itself. */
function isTagged (node: unknown): boolean {
  return isNode(node) && !isAlias(node) && node.tag !== undefined
}

function at (lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset)
  return { line: Math.max(line, 1), column: Math.max(col, 1) }
}
