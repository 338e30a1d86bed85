// Repairs written into a YAML file. Only the place of the repair changes: comments, order, quotes and folds around it stay as they are.
import { isMap, isScalar, parseDocument, stringify, type Document, type Scalar, type YAMLMap } from 'yaml'
import type { Edit } from './edit.ts'

/** The text with all edits that can be made; one whose place is an alias or is not there is left out. */
export function editText (text: string, edits: readonly Edit[]): string {
  const done = new Set<string>()
  return edits.reduce((before, edit) => {
    const key = `${edit.kind} ${edit.pointer} ${edit.kind === 'add' ? edit.name : ''}`
    if (done.has(key)) return before
    done.add(key)
    return editOnce(before, edit)
  }, text)
}

function editOnce (text: string, edit: Edit): string {
  const document = parseDocument(text, { version: '1.2', schema: 'core' })
  if (document.errors.length > 0) return text
  const path = edit.pointer.split('/').slice(1).map(token => token.replaceAll('~1', '/').replaceAll('~0', '~'))
  const node = path.length === 0 ? document.contents : document.getIn(path.map(asKey), true)
  const made = edit.kind === 'add' ? added(text, document, node, edit) : stripped(text, document, node, edit)
  return made ?? text
}

const asKey = (token: string): string | number => /^(0|[1-9]\d*)$/.test(token) ? Number(token) : token

function added (text: string, document: Document.Parsed, node: unknown, edit: Edit & { readonly kind: 'add' }): string | null {
  if (!isMap(node) || node.has(edit.name)) return null
  const field = `${edit.name}: ${stringify(edit.value).trim()}`
  const written = node.flow === true ? addedInFlow(text, node, field) : addedInBlock(text, node, field)
  node.set(edit.name, edit.value)
  // Where the place was odd, a comment behind a brace for one, the document writes itself.
  return isSame(written, document) ? written : document.toString({ lineWidth: 0, flowCollectionPadding: false })
}

function addedInFlow (text: string, map: YAMLMap, field: string): string {
  const brace = map.range![1] - 1
  const before = text.slice(0, brace).trimEnd()
  const separator = map.items.length === 0 ? '' : before.endsWith(',') ? ' ' : ', '
  return `${before}${separator}${field}${text.slice(before.length, brace)}${text.slice(brace)}`
}

function addedInBlock (text: string, map: YAMLMap, field: string): string {
  const firstKey = (map.items[0]?.key as Scalar | undefined)?.range?.[0] ?? 0
  const indent = ' '.repeat(firstKey - (text.lastIndexOf('\n', firstKey - 1) + 1))
  const last = map.items.at(-1)!
  const end = ((last.value ?? last.key) as Scalar).range![1]
  const at = text[end - 1] === '\n' ? end : text.indexOf('\n', end) === -1 ? text.length : text.indexOf('\n', end) + 1
  const lineEnd = text[at - 1] === '\n' ? '' : '\n'
  return `${text.slice(0, at)}${lineEnd}${indent}${field}\n${text.slice(at)}`
}

function stripped (text: string, document: Document.Parsed, node: unknown, edit: Edit & { readonly kind: 'strip' }): string | null {
  if (!isScalar(node) || typeof node.value !== 'string' || node.range === undefined || node.range === null) return null
  const [from, to] = node.range
  const clean = node.value.replaceAll(edit.characters, '')
  if (clean === node.value) return null
  const asItStands = `${text.slice(0, from)}${text.slice(from, to).replaceAll(edit.characters, '')}${text.slice(to)}`
  // Written as an escape, the character is not in the text of the file.
  const quoted = `${text.slice(0, from)}${JSON.stringify(clean)}${text.slice(to)}`
  node.value = clean
  return [asItStands, quoted].find(written => isSame(written, document)) ?? document.toString({ lineWidth: 0, flowCollectionPadding: false })
}

function isSame (text: string, document: Document.Parsed): boolean {
  const written = parseDocument(text, { version: '1.2', schema: 'core' })
  return written.errors.length === 0 && plain(written) === plain(document)
}

const plain = (document: Document.Parsed): string => JSON.stringify(document.toJS())
