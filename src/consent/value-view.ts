// A JSON value as a person is shown it: what is absent, null and empty are told apart, numbers keep every digit, texts go through renderUntrusted, and
// what is left out is counted.
import { createHash } from 'node:crypto'
import { formatMoney } from '../catalog/money.ts'
import { isObject, type Json } from '../catalog/catalog.ts'
import { plain, plainLine, renderUntrusted, VALUE_BUDGET, type Budget, type Rendered, type TextKind } from './untrusted.ts'

export type ValueView =
  /** Words of ours in place of a value; draw them differently from any text. */
  | { readonly kind: 'absent' | 'null' | 'empty' | 'empty_list' | 'empty_object', readonly text: string }
  | { readonly kind: 'text', readonly rendered: Rendered }
  | { readonly kind: 'number' | 'boolean', readonly text: string }
  | { readonly kind: 'list', readonly items: readonly ValueView[], readonly rest: Rest | null }
  | { readonly kind: 'object', readonly entries: ReadonlyArray<{ readonly name: Rendered, readonly value: ValueView }>, readonly rest: Rest | null }
  /** Not for the eyes of people; the mark differs where the value does. */
  | { readonly kind: 'redacted', readonly text: string }

/** What a list or an object still holds. */
export interface Rest {
  readonly count: number
  readonly sha256: string
  /** The sentence to write. */
  readonly text: string
}

/** Members of one value, at all its levels together. */
const MEMBERS_MAX = 200
const NAME_BUDGET: Budget = Object.freeze({ codePoints: 200, lines: 1 })

/** @param value undefined: there is none, which is not null and not '' */
export function renderValue (value: Json | undefined, budget: Budget = VALUE_BUDGET, kind?: TextKind): ValueView {
  return view(value, budget, kind, { left: budget.codePoints === Infinity ? Infinity : MEMBERS_MAX })
}

function view (value: Json | undefined, budget: Budget, kind: TextKind | undefined, members: { left: number }): ValueView {
  if (value === undefined) return { kind: 'absent', text: 'not there' }
  if (value === null) return { kind: 'null', text: 'null' }
  if (value === '') return { kind: 'empty', text: 'empty text' }
  if (typeof value === 'string') return { kind: 'text', rendered: renderUntrusted(value, budget, { kind }) }
  if (typeof value === 'number') return { kind: 'number', text: exactNumber(value) }
  if (typeof value === 'boolean') return { kind: 'boolean', text: String(value) }
  if (isObject(value)) {
    const all = Object.entries(value)
    if (all.length === 0) return { kind: 'empty_object', text: 'empty object' }
    const shown = take(all, members)
    const entries = shown.map(([name, member]) => ({ name: renderUntrusted(name, NAME_BUDGET), value: view(member, budget, kind, members) }))
    return { kind: 'object', entries, rest: rest(all.length - shown.length, value) }
  }
  if (value.length === 0) return { kind: 'empty_list', text: 'empty list' }
  const shown = take(value, members)
  return { kind: 'list', items: shown.map(item => view(item, budget, kind, members)), rest: rest(value.length - shown.length, value) }
}

function take<Item> (all: readonly Item[], members: { left: number }): readonly Item[] {
  const shown = all.slice(0, members.left)
  members.left -= shown.length
  return shown
}

function rest (count: number, of: Json): Rest | null {
  if (count === 0) return null
  const sha256 = createHash('sha256').update(JSON.stringify(of)).digest('hex')
  return { count, sha256, text: `\u2026${count} more not shown \u00b7 SHA-256 ${sha256}` }
}

/** Every digit and no exponent: 1e21 and 1e-7 are written out. */
export function exactNumber (value: number): string {
  if (Object.is(value, -0)) return '-0'
  if (Number.isInteger(value)) return BigInt(value).toString()
  const [digits, exponent] = String(value).split('e')
  if (exponent === undefined) return digits!
  const [whole, fraction = ''] = digits!.replace('-', '').split('.')
  return `${value < 0 ? '-' : ''}0.${'0'.repeat(-Number(exponent) - 1)}${whole}${fraction}`
}

/** An amount from its minor units; null where these are no whole number or the currency is none, so that nothing guessed is shown. */
export function renderAmount (minor: Json | undefined, currency: Json | undefined): string | null {
  if (typeof minor !== 'number' || !Number.isSafeInteger(minor) || typeof currency !== 'string') return null
  try {
    return formatMoney(BigInt(minor), currency)
  } catch {
    return null
  }
}

/** Nothing of the value was left out, at any level. */
export function isComplete (shown: ValueView): boolean {
  if (shown.kind === 'text') return shown.rendered.complete
  if (shown.kind === 'list') return shown.rest === null && shown.items.every(isComplete)
  if (shown.kind === 'object') return shown.rest === null && shown.entries.every(({ name, value }) => name.complete && isComplete(value))
  return true
}

/** Every badge in it, each once. */
export function badgesIn (shown: ValueView): readonly string[] {
  const of = (one: ValueView): readonly string[] => {
    if (one.kind === 'text') return one.rendered.badges.map(({ text }) => text)
    if (one.kind === 'list') return one.items.flatMap(of)
    return one.kind === 'object' ? one.entries.flatMap(({ name, value }) => [...name.badges.map(({ text }) => text), ...of(value)]) : []
  }
  return [...new Set(of(shown))]
}

/** One line, whatever the value holds. Text stands in quotes, our own words in parentheses; after right-to-left letters they keep the rest in its place. */
export function valueLine (shown: ValueView): string {
  switch (shown.kind) {
    case 'text': return `${quoted(plainLine(shown.rendered))}${shown.rendered.rightToLeft ? ' (text)' : ''}`
    case 'number': case 'boolean': case 'redacted': return shown.text
    case 'list': return `[${withRest(shown.items.map(valueLine), shown.rest)}]`
    case 'object': return `{${withRest(shown.entries.map(({ name, value }) => `${quoted(plainLine(name))}: ${valueLine(value)}`), shown.rest)}}`
    default: return `(${shown.text})`
  }
}

/** For a terminal: members each on a line of their own, line feeds of a text as such. */
export function valueText (shown: ValueView, indent = ''): string {
  const inner = `${indent}  `
  switch (shown.kind) {
    case 'text': return quoted(plain(shown.rendered, indent))
    case 'list': return [...shown.items.map(item => `\n${inner}- ${valueText(item, inner)}`), ...restLine(shown.rest, inner)].join('')
    case 'object':
      return [...shown.entries.map(({ name, value }) => `\n${inner}${plainLine(name)}: ${valueText(value, inner)}`), ...restLine(shown.rest, inner)].join('')
    default: return valueLine(shown)
  }
}

const restLine = (left: Rest | null, indent: string): readonly string[] => left === null ? [] : [`\n${indent}${left.text}`]
const withRest = (lines: readonly string[], left: Rest | null): string => [...lines, ...left === null ? [] : [left.text]].join(', ')
/** These quotes end where the value ends: one inside it is written twice. */
const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`
