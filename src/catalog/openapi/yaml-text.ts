// YAML 1.2 (core schema) to plain data, strictly: no tags, no merge keys, no aliases beyond a bound, no key twice, no key that is a collection.
import { LineCounter, isAlias, isCollection, isMap, isScalar, isSeq, parseDocument, visit } from 'yaml'
import type { Document, Node } from 'yaml'
import type { DocumentFaultCode, Position } from './fault.ts'

/** More aliases than this are a bomb, not a document. */
const ALIASES_MAX = 100

export interface YamlComplaint {
  readonly code: DocumentFaultCode
  readonly message: string
  readonly position: Position
}

/** The data, or what is wrong with the text. */
export type YamlRead = { readonly data: unknown } | { readonly complaint: YamlComplaint }

interface Parsed {
  readonly document: Document.Parsed
  readonly positionOf: (offset: number) => Position
}

function parse (text: string): Parsed {
  const lines = new LineCounter()
  const document = parseDocument(text, {
    version: '1.2', schema: 'core', uniqueKeys: true, merge: false, lineCounter: lines, prettyErrors: false, strict: true,
  })
  const positionOf = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  return { document, positionOf }
}

const startOf = (node: unknown): number => (node as Node | null)?.range?.[0] ?? 0

/** What the parser accepts and a document must not hold. */
function complaintOf ({ document, positionOf }: Parsed): YamlComplaint | undefined {
  let found: YamlComplaint | undefined
  const complain = (code: DocumentFaultCode, message: string, node: unknown): symbol => {
    found = { code, message, position: positionOf(startOf(node)) }
    return visit.BREAK
  }
  let aliases = 0
  visit(document, (_, node, path) => {
    if (isAlias(node)) {
      const target = node.resolve(document)
      if (target === undefined) return complain('yaml-invalid', 'The alias names no anchor before it.', node)
      if (path.includes(target)) return complain('yaml-aliases', 'The alias stands inside its own anchor.', node)
      aliases++
      return aliases > ALIASES_MAX ? complain('yaml-aliases', `More than ${ALIASES_MAX} aliases.`, node) : undefined
    }
    if ((isScalar(node) || isCollection(node)) && node.tag !== undefined) return complain('yaml-tag', 'Tags are not read here.', node)
    if (isMap(node)) {
      for (const { key } of node.items) {
        if (!isScalar(key)) return complain('yaml-invalid', 'A key must be a scalar.', key)
        if (key.value === '<<' && key.type === 'PLAIN') return complain('yaml-merge-key', 'Merge keys are not read here.', key)
      }
    }
    return undefined
  })
  return found
}

const START: Position = { line: 1, column: 1 }

export function parseYaml (text: string): YamlRead {
  try {
    return parseBounded(text)
  } catch (error) {
    // The parser goes down one call a level.
    if (error instanceof RangeError) return { complaint: { code: 'yaml-invalid', message: 'The document is nested too deeply.', position: START } }
    throw error
  }
}

function parseBounded (text: string): YamlRead {
  const parsed = parse(text)
  const { errors } = parsed.document
  const error = errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION') ?? errors[0]
  if (error !== undefined) {
    const code = error.code === 'DUPLICATE_KEY' ? 'duplicate-key' : 'yaml-invalid'
    const message = error.code === 'RESOURCE_EXHAUSTION' ? 'The document is nested too deeply.' : error.message
    return { complaint: { code, message, position: parsed.positionOf(error.pos[0]) } }
  }
  const complaint = complaintOf(parsed)
  if (complaint !== undefined) return { complaint }
  try {
    return { data: parsed.document.toJS({ maxAliasCount: ALIASES_MAX }) as unknown }
  } catch (error) {
    if (error instanceof RangeError) throw error
    // the only other thing it throws here: aliases of aliases whose product exceeds the bound
    return { complaint: { code: 'yaml-aliases', message: 'The aliases unfold beyond the bound.', position: START } }
  }
}

/** Where things stand in a YAML text: the key of the last token, or the item. As deep as the tokens can be followed. */
export function yamlLocator (text: string): (tokens: readonly string[]) => Position {
  const { document, positionOf } = parse(text)
  return tokens => {
    let node: unknown = document.contents
    let found = startOf(node)
    for (const token of tokens) {
      if (isAlias(node)) node = node.resolve(document)
      if (isMap(node)) {
        const pair = node.items.find(({ key }) => isScalar(key) && String(key.value ?? '') === token)
        if (pair === undefined) break
        found = startOf(pair.key)
        node = pair.value
      } else if (isSeq(node)) {
        const item = node.items[Number(token)]
        if (item === undefined) break
        found = startOf(item)
        node = item
      } else {
        break
      }
    }
    return positionOf(found)
  }
}
