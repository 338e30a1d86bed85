// Values of a sheet with `${…}` in them. A text that is one `${…}` alone takes the typed value, and is left out where an optional value is
// absent; otherwise the text is interpolated. `$${` is a literal `${`. Structure is never made from text.
import { ExpressionFault, isObject, type Bindings, type EffectPart, type Json } from './catalog.ts'
import { compileExpression, ExpressionError, isTextual, type Expression, type Extra, type Variables } from './expression.ts'
import type { Reporter } from './faults.ts'
import { setOwn } from './own-name.ts'
import { listOf, objectOf, shapeOfValue, STRING, union, type Shape } from './shape.ts'
import { pointerTo } from './yaml-file.ts'

export interface Template {
  readonly shape: Shape
  /** The value may be left out. */
  readonly optional: boolean
  /** Every expression in it. */
  readonly expressions: readonly Expression[]
  /** Where the whole value is one `${…}`. */
  readonly lone: Expression | null
  /** undefined: left out. @throws ExpressionFault */
  evaluate (bindings: Bindings, extra?: Extra): Json | undefined
}

/** Faults go to the reporter, with their place; null where there was one. */
export function compileTemplate (value: Json, pointer: string, variables: Variables, report: Reporter): Template | null {
  if (typeof value === 'string') return compileText(value, pointer, variables, report)
  if (Array.isArray(value)) return compileList(value as readonly Json[], pointer, variables, report)
  if (isObject(value)) return compileObject(value, pointer, variables, report)
  return constant(value)
}

/** A template whose value must be text: `effect`, the key of `serialize`. */
export function compileTextTemplate (
  value: string, pointer: string, variables: Variables, report: Reporter
): ((bindings: Bindings) => string) & { expressions: readonly Expression[] } | null {
  const template = compileText(value, pointer, variables, report)
  if (template === null) return null
  const evaluate = (bindings: Bindings): string => textOf(template.evaluate(bindings), value)
  return Object.assign(evaluate, { expressions: template.expressions })
}

/** Fixed texts, and what is put between them. @throws ExpressionFault */
export type SentenceTemplate = ((bindings: Bindings) => readonly EffectPart[]) & { readonly expressions: readonly Expression[] }

/** A sentence whose values stay apart from its words, so that whoever shows it can tell them apart. */
export function compileSentence (value: string, pointer: string, variables: Variables, report: Reporter): SentenceTemplate | null {
  try {
    const parts = splitText(value).map(part => typeof part === 'string' ? part : compileScalar(part, variables))
    const evaluate = (bindings: Bindings): readonly EffectPart[] => parts.map(part => {
      if (typeof part === 'string') return { kind: 'text', text: part }
      const found = part.evaluate(bindings)
      textOf(found, part.text)
      return { kind: 'slot', of: part.text.trim(), value: found! }
    })
    return Object.assign(evaluate, { expressions: parts.filter(part => typeof part !== 'string') })
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    report.fault(pointer, error.rule, error.message, error.offset)
    return null
  }
}

const constant = (value: Json): Template => ({ shape: shapeOfValue(value), optional: false, expressions: [], lone: null, evaluate: () => value })

function compileText (text: string, pointer: string, variables: Variables, report: Reporter): Template | null {
  try {
    const parts = splitText(text)
    const [only] = parts
    if (parts.length === 1 && typeof only === 'object') {
      const expression = compileAt(only, variables)
      return { shape: expression.shape, optional: expression.optional, expressions: [expression], lone: expression, evaluate: expression.evaluate }
    }
    if (parts.every(part => typeof part === 'string')) return constant(parts.join(''))
    return interpolated(parts.map(part => typeof part === 'string' ? part : compileScalar(part, variables)))
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    report.fault(pointer, error.rule, error.message, error.offset)
    return null
  }
}

function interpolated (parts: ReadonlyArray<string | Expression>): Template {
  const evaluate = (bindings: Bindings, extra?: Extra): string => parts
    .map(part => typeof part === 'string' ? part : textOf(part.evaluate(bindings, extra), part.text))
    .join('')
  return { shape: STRING, optional: false, expressions: parts.filter(part => typeof part !== 'string'), lone: null, evaluate }
}

function compileScalar (slot: Slot, variables: Variables): Expression {
  const expression = compileAt(slot, variables)
  if (!isTextual(expression)) {
    const kind = expression.optional ? 'value that may be absent' : expression.shape.kind
    throw new ExpressionError('template-not-text', `\${${slot.text}} cannot be written inside a text: it is a ${kind}`, slot.offset)
  }
  return expression
}

function compileAt (slot: Slot, variables: Variables): Expression {
  try {
    return compileExpression(slot.text, variables)
  } catch (error) {
    throw error instanceof ExpressionError ? new ExpressionError(error.rule, error.message, slot.offset + error.offset) : error
  }
}

function textOf (value: Json | undefined, source: string): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw new ExpressionFault(`${source}: not a text, a number or a bool`)
}

function compileList (items: readonly Json[], pointer: string, variables: Variables, report: Reporter): Template | null {
  const parts = items.map((item, index) => compileTemplate(item, pointerTo(pointer, index), variables, report))
  if (parts.some(part => part === null)) return null
  const templates = parts as readonly Template[]
  return {
    shape: listOf(union(templates.map(part => part.shape))),
    optional: false,
    expressions: templates.flatMap(part => part.expressions),
    lone: null,
    evaluate: (bindings, extra) => templates.map(part => part.evaluate(bindings, extra)).filter(value => value !== undefined),
  }
}

function compileObject (object: { readonly [name: string]: Json }, pointer: string, variables: Variables, report: Reporter): Template | null {
  const entries: Array<readonly [string, Template]> = []
  let whole = true
  for (const [name, value] of Object.entries(object)) {
    const at = pointerTo(pointer, name)
    if (name.includes('${')) {
      report.faultAtKey(at, 'template-in-name', 'a name is written out; no expression may choose it')
      whole = false
      continue
    }
    const template = compileTemplate(value, at, variables, report)
    if (template === null) whole = false
    else entries.push([name, template])
  }
  if (!whole) return null
  const shape = objectOf(Object.fromEntries(entries.map(([name, part]) => [name, part.shape])))
  const fields = new Map([...shape.fields].map(([name, field], index) => [name, { ...field, required: !entries[index]![1].optional }]))
  return {
    shape: { ...shape, fields },
    optional: false,
    expressions: entries.flatMap(([, part]) => part.expressions),
    lone: null,
    evaluate (bindings, extra) {
      const made: { [name: string]: Json } = {}
      for (const [name, part] of entries) {
        const value = part.evaluate(bindings, extra)
        if (value !== undefined) setOwn(made, name, value)
      }
      return made
    },
  }
}

interface Slot {
  readonly text: string
  /** Where the expression begins in the text of the value. */
  readonly offset: number
}

/** @throws ExpressionError where a `${` is not closed or is empty */
export function splitText (text: string): ReadonlyArray<string | Slot> {
  const parts: Array<string | Slot> = []
  let literal = ''
  let at = 0
  while (at < text.length) {
    if (text.startsWith('$${', at)) {
      literal += '${'
      at += 3
    } else if (text.startsWith('${', at)) {
      const end = closingBrace(text, at + 2)
      if (end === -1) throw new ExpressionError('template-not-closed', 'a ${ is not closed', at)
      const inner = text.slice(at + 2, end)
      if (inner.trim() === '') throw new ExpressionError('template-empty', 'nothing stands between ${ and }', at)
      if (literal !== '') parts.push(literal)
      literal = ''
      parts.push({ text: inner, offset: at + 2 })
      at = end + 1
    } else {
      literal += text[at]
      at++
    }
  }
  if (literal !== '' || parts.length === 0) parts.push(literal)
  return parts
}

/** The `}` that closes, seen past CEL's own braces and strings; -1 where there is none. */
function closingBrace (text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const character = text[at]!
    if (character === '{') depth++
    else if (character === '}' && depth-- === 0) return at
    else if (character === '"' || character === "'") {
      at = stringEnd(text, at)
      if (at === -1) return -1
    }
  }
  return -1
}

/** The last character of a CEL string that begins at `from`; in a raw one too, a quote behind a backslash does not end it. */
function stringEnd (text: string, from: number): number {
  const quote = text.startsWith(text[from]!.repeat(3), from) ? text[from]!.repeat(3) : text[from]!
  for (let at = from + quote.length; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text.startsWith(quote, at)) return at + quote.length - 1
  }
  return -1
}
