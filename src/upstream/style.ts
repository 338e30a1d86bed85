// Parameters as text: one table of styles, one way to expand them (RFC 6570 §3.2, as OpenAPI 3.0.4, 3.1.1 and 3.2.0 read it).
//
// An empty list or object is refused everywhere: it would vanish from the request, and a request without a filter is another request.
// null is refused for the same reason.
import type { Json } from '../catalog/catalog.ts'
import type { ParameterStyle } from '../catalog/openapi/operation.ts'
import { refuse, scalarText } from './text.ts'

interface Row {
  /** Before the first. */
  readonly first: string
  /** Between exploded items. */
  readonly between: string
  /** Between items that are not exploded. */
  readonly within: string
  /** Items bear the parameter's name. */
  readonly named: boolean
  /** Characters that no value may hold, because they would be read as separators even when they are escaped. */
  readonly forbidden: RegExp | null
}

function row (first: string, between: string, within: string, named: boolean, forbidden: RegExp | null = null): Row {
  return { first, between, within, named, forbidden }
}

const ROWS: { readonly [style in ParameterStyle]: Row } = {
  simple: row('', ',', ',', false),
  label: row('.', '.', ',', false, /[.,]/),
  matrix: row(';', ';', ',', true, /[;,=]/),
  form: row('', '&', ',', true),
  cookie: row('', '; ', ',', true, /[,]/),
  spaceDelimited: row('', '&', '%20', true, / /),
  pipeDelimited: row('', '&', '%7C', true, /\|/),
  tabDelimited: row('', '&', '%09', true, /\t/),
  deepObject: row('', '&', '', true),
  brackets: row('', '&', '', true),
}

export interface Styled {
  readonly name: string
  readonly style: ParameterStyle
  readonly explode: boolean
}

/** `name` is null where the item bears none; it is not escaped, `text` is. */
export interface Item {
  readonly name: string | null
  readonly text: string
}

export interface Writing {
  /** Makes a text safe for the place it is written in; throws a Refusal where it cannot be. */
  readonly escape: (text: string) => string
  /** Nothing is escaped, separators neither: a header. */
  readonly raw?: boolean
  /** For operators: which parameter it is. */
  readonly internal: string
}

type Fields = { readonly [key: string]: Json }

const isFields = (value: Json): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

function entriesOf (value: Fields, internal: string): ReadonlyArray<readonly [string, Json]> {
  const entries = Object.entries(value)
  if (entries.length === 0) throw refuse('empty', 'An empty object would vanish from the request.', internal)
  return entries
}

function itemsOf (value: readonly Json[], internal: string): readonly Json[] {
  if (value.length === 0) throw refuse('empty', 'An empty list would vanish from the request.', internal)
  return value
}

/** `name[a][b]=…`: nested only where the style is `brackets`, because OpenAPI leaves deepObject undefined for anything but flat objects. */
function bracketed (name: string, value: Json, nested: boolean, top: boolean, { escape, internal }: Writing): readonly Item[] {
  if (isFields(value) && (top || nested)) {
    return entriesOf(value, internal).flatMap(([key, item]) =>
      bracketed(`${name}[${bracketKey(key, internal)}]`, item, nested, false, { escape, internal }))
  }
  if (Array.isArray(value) && nested) {
    return itemsOf(value as readonly Json[], internal).flatMap((item, index) => {
      const scalar = typeof item !== 'object' || item === null
      return bracketed(`${name}[${scalar ? '' : index}]`, item, nested, false, { escape, internal })
    })
  }
  if (top) throw refuse('type', 'Only an object can be sent in this place.', internal)
  return [{ name, text: escape(scalarText(value, internal)) }]
}

function bracketKey (key: string, internal: string): string {
  if (key === '' || /[[\]]/.test(key)) throw refuse('name', 'The name of a property cannot be sent in this place.', internal)
  return key
}

function checkedText (value: Json, { forbidden }: Row, list: boolean, { internal }: Writing, style: ParameterStyle): string {
  const text = scalarText(value, internal)
  // A cookie's value may hold a comma, unless it is one of several.
  if (forbidden !== null && (list || style !== 'cookie') && forbidden.test(text)) {
    throw refuse('separator', 'A value holds the character that separates values in this place.', internal)
  }
  return text
}

/** The items of a parameter, in order. */
export function expand (parameter: Styled, value: Json, writing: Writing): readonly Item[] {
  const { name, style, explode } = parameter
  const { escape, internal } = writing
  if (style === 'deepObject' || style === 'brackets') return bracketed(name, value, style === 'brackets', true, writing)
  const rule = ROWS[style]
  const own = rule.named ? name : null
  const within = writing.raw === true ? decodeURIComponent(rule.within) : rule.within
  const write = (item: Json, list: boolean): string => {
    const text = escape(checkedText(item, rule, list, writing, style))
    // Only `allowReserved` leaves a comma as it is; between commas even that must not.
    return list && !explode && style === 'form' ? text.replaceAll(',', '%2C') : text
  }
  if (Array.isArray(value)) {
    const texts = itemsOf(value as readonly Json[], internal).map(item => write(item, true))
    return explode ? texts.map(text => ({ name: own, text })) : [{ name: own, text: texts.join(within) }]
  }
  if (isFields(value)) {
    const entries = entriesOf(value, internal)
    if (!explode) {
      return [{ name: own, text: entries.flatMap(([key, item]) => [write(key, true), write(item, true)]).join(within) }]
    }
    if (rule.named) return entries.map(([key, item]) => ({ name: checkedText(key, rule, true, writing, style), text: write(item, true) }))
    return entries.map(([key, item]) => ({ name: null, text: `${write(key, true)}=${write(item, true)}` }))
  }
  return [{ name: own, text: write(value, false) }]
}

/** What stands between the items of a list that is not exploded, where nothing is escaped. */
export const separatorOf = (style: ParameterStyle): string => decodeURIComponent(ROWS[style].within) || ','

/** Items joined for a path or a header. */
export function joined ({ style }: Styled, items: readonly Item[], escape: (text: string) => string): string {
  const { first, between } = ROWS[style]
  // Of the styles of paths and headers only matrix writes names. RFC 6570 §3.2.7: where the value is empty the name stands without `=`
  const named = (name: string, text: string): string => text === '' ? escape(name) : `${escape(name)}=${text}`
  return first + items.map(({ name, text }) => name === null || style !== 'matrix' ? text : named(name, text)).join(between)
}
