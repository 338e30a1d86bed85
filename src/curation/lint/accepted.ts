// Findings that the owners of a sheet accept, with a reason, in a comment of its own: `# aval-lint-accept RULE: reason`. They lower nothing and stay
// in every report, so that a review sees what was accepted and why.
import { CST, LineCounter, Parser } from 'yaml'

export interface Acceptance {
  readonly rule: string
  readonly reason: string
  readonly line: number
  readonly column: number
}

const FORM = /^#\s*aval-lint-accept\s+([a-z0-9-]+)\s*:\s*(.*)$/
/** Shorter than this it is no reason. */
export const REASON_LENGTH_MIN = 10

/** In the order of the file. A line that looks like one within a text is none: only what YAML takes for a comment counts. */
export function acceptancesIn (text: string): readonly Acceptance[] {
  const found: Acceptance[] = []
  const lines = new LineCounter()
  for (const token of new Parser(lines.addNewLine).parse(text)) {
    for (const { source, offset } of commentsIn(token)) {
      const match = FORM.exec(source)
      const { line, col } = lines.linePos(offset)
      if (match !== null) found.push({ rule: match[1]!, reason: match[2]!.trim(), line, column: col })
    }
  }
  return found
}

interface Comment { readonly source: string, readonly offset: number }

function * commentsIn (part: unknown): Generator<Comment> {
  if (Array.isArray(part)) {
    for (const item of part) yield * commentsIn(item)
  } else if (typeof part === 'object' && part !== null) {
    const token = part as CST.SourceToken
    if (token.type === 'comment') yield { source: token.source, offset: token.offset }
    else for (const inner of Object.values(part)) yield * commentsIn(inner)
  }
}
