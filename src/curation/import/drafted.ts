// The values of a draft, some of which a person has to judge; as YAML, each judgement beside its mark.
import { Document, isCollection, isMap, isPair, isScalar, Scalar, type Node, type Pair, type YAMLMap, type YAMLSeq } from 'yaml'
import type { Json } from '../../catalog/catalog.ts'
import { REVIEW_MARK } from '../../catalog/review.ts'

export type Drafted = Json | Judged | readonly Drafted[] | { readonly [name: string]: Drafted | undefined }
export type DraftedObject = { readonly [name: string]: Drafted | undefined }

/** A value that stands there until a person has judged it; `question` is what to judge. */
export class Judged {
  readonly value: Drafted
  readonly question: string
  constructor (value: Drafted, question: string) {
    this.value = value
    this.question = question
  }
}

const WIDTH = 140
const FLOW_WIDTH = 110
const COMMENT_LENGTH_MAX = 400

/** @param head lines of comment before everything; a line that asks for a judgement begins with the mark */
export function writeDrafted (value: DraftedObject, head: readonly string[]): string {
  const document = new Document()
  const contents = toNode(value, document)
  document.contents = contents as Document['contents']
  const before = head.map(line => `# ${comment(line)}\n`).join('')
  return before + document.toString({ lineWidth: WIDTH, flowCollectionPadding: false })
}

/** One line that cannot end its comment. */
function comment (line: string): string {
  const flat = line.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trimEnd()
  return flat.length > COMMENT_LENGTH_MAX ? `${flat.slice(0, COMMENT_LENGTH_MAX)}…` : flat
}

function toNode (drafted: Drafted, document: Document): Node {
  if (drafted instanceof Judged) return marked(toNode(drafted.value, document), drafted.question)
  if (Array.isArray(drafted)) {
    const node = document.createNode([]) as YAMLSeq
    for (const item of drafted as readonly Drafted[]) node.items.push(toNode(item, document))
    node.flow = fitsOneLine(node)
    return node
  }
  if (typeof drafted === 'object' && drafted !== null) {
    const node = document.createNode({}) as YAMLMap
    for (const [name, item] of Object.entries(drafted as DraftedObject)) {
      if (item !== undefined) node.items.push(document.createPair(name, null) as Pair)
      if (item !== undefined) node.items.at(-1)!.value = toNode(item, document)
    }
    node.flow = fitsOneLine(node)
    return node
  }
  const node = document.createNode(drafted) as Scalar
  if (typeof drafted === 'string' && drafted.length > 100 && !drafted.includes('\n')) node.type = Scalar.BLOCK_FOLDED
  return node
}

/** Behind what stands on one line, before what stands on several. */
function marked (node: Node, question: string): Node {
  const text = ` ${REVIEW_MARK}: ${comment(question)}`
  if (isCollection(node) && node.flow !== true) node.commentBefore = text
  else node.comment = text
  return node
}

function fitsOneLine (node: Node): boolean {
  return !holdsComment(node) && length(node) <= FLOW_WIDTH
}

function holdsComment (node: unknown): boolean {
  if (isPair(node)) return holdsComment(node.value)
  if (isCollection(node)) return Boolean(node.comment ?? node.commentBefore) || node.items.some(holdsComment)
  return isScalar(node) && (Boolean(node.comment) || node.type === Scalar.BLOCK_FOLDED)
}

function length (node: unknown): number {
  if (isPair(node)) return length(node.key) + length(node.value) + 2
  if (isCollection(node)) {
    // A sheet is read from top to bottom: what is nested deeply is easier to read on lines of its own.
    const nested = node.items.some(item => isCollection(isPair(item) ? item.value : item))
    const parts = node.items.map(item => length(item) + 2)
    return parts.reduce((sum, part) => sum + part, 2) + (nested && isMap(node) && node.items.length > 2 ? FLOW_WIDTH : 0)
  }
  return isScalar(node) ? JSON.stringify(node.value ?? null).length : String(node).length
}
