// What a sheet says that people may not read: in its place stands a mark that is the same where the value is, so that a change can still be seen. The
// value is kept from every other place where it would be shown as well, and is not in what is stored to be shown.
import { isObject, type Json, type JsonObject } from '../catalog/catalog.ts'
import { parsePointer } from '../catalog/openapi/pointer.ts'
import { diffRows } from './diff.ts'
import type { Shown } from './proposal.ts'

/** Of shorter texts every other text would be a part. */
const PART_MIN = 4

export interface Redacted {
  readonly shown: Shown
  /** A text of the agent's own, without what may not be read. */
  words (text: string): string
}

/** @param mark short, and not to be guessed from */
export function redact (shown: Shown, args: JsonObject, pointers: readonly string[], mark: (value: Json) => string): Redacted {
  if (pointers.length === 0) return { shown, words: text => text }
  const hidden = new Map<string | number, string>()
  const cover = (value: Json): string => {
    for (const leaf of leavesOf(value)) hidden.set(leaf, dots(mark(leaf)))
    return dots(mark(value))
  }
  const [before, after] = [shown.before, shown.after].map(value => pointers.reduce((one, pointer) => covered(one, parsePointer(pointer) ?? [], cover), value)) as [Json, Json]
  const hide = hiding(hidden)
  const { request } = shown
  const kept: Shown = {
    ...shown,
    before,
    after,
    diff: diffRows(before, after),
    effect: shown.effect.map(part => part.kind === 'text' ? part : { ...part, value: hide(part.value) }),
    facts: hide(shown.facts) as JsonObject,
    request: {
      ...request,
      url: inUrl(request.url, hide),
      headers: hide({ ...request.headers }) as { [name: string]: string },
      body: request.body === null ? null : inBody(request.body, request.headers, hide, mark),
    },
    redacted: pointers,
    arguments: hide(args) as JsonObject,
  }
  return { shown: kept, words: text => hide(text) as string }
}

/** How a mark reads, wherever it stands. */
export const REDACTED = /\u2022{4} \(HMAC [^)]*\)/g

const dots = (mark: string): string => `\u2022\u2022\u2022\u2022 (HMAC ${mark})`

function covered (value: Json, [token, ...rest]: readonly string[], cover: (value: Json) => string): Json {
  if (token === undefined) return value === null ? null : cover(value)
  if (Array.isArray(value)) return value.map((item, at) => String(at) === token ? covered(item, rest, cover) : item)
  if (!isObject(value) || !Object.hasOwn(value, token)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, name === token ? covered(member, rest, cover) : member]))
}

/** Texts and numbers; of the others there are too few to hide them. */
function leavesOf (value: Json): ReadonlyArray<string | number> {
  if (typeof value === 'string') return value === '' ? [] : [value]
  if (typeof value === 'number') return [value]
  return value === null || typeof value === 'boolean' ? [] : Object.values(value).flatMap(leavesOf)
}

type Hide = (value: Json) => Json

/** The longest first: a text may hold another one. */
function hiding (hidden: ReadonlyMap<string | number, string>): Hide {
  const texts = [...hidden].map(([value, mark]) => [String(value), mark] as const).sort(([one], [other]) => other.length - one.length)
  const inText = (text: string): string => texts.reduce((left, [value, mark]) =>
    left === value ? mark : value.length >= PART_MIN ? left.replaceAll(value, () => mark) : left, text)
  const hide: Hide = value => {
    if (typeof value === 'string') return inText(value)
    if (typeof value === 'number') return hidden.get(value) ?? value
    if (Array.isArray(value)) return value.map(hide)
    return isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, hide(member)])) : value
  }
  return hide
}

/** Also of a form: what stands between the signs that part it is looked at as it was before it was escaped. */
const inUrl = (text: string, hide: Hide): string => text.split(/([/?&=,;])/).map(part => {
  const plain = unescaped(part)
  const shown = hide(plain) as string
  return shown === plain ? part : shown
}).join('')

function unescaped (part: string): string {
  try {
    return decodeURIComponent(part.replaceAll('+', ' '))
  } catch {
    return part
  }
}

/** What cannot be taken apart is a mark as a whole. */
function inBody (body: string, headers: { readonly [name: string]: string }, hide: Hide, mark: (value: Json) => string): string {
  const type = Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? ''
  if (/^application\/x-www-form-urlencoded\b/i.test(type)) return inUrl(body, hide)
  try {
    return JSON.stringify(hide(JSON.parse(body) as Json))
  } catch {
    return dots(mark(body))
  }
}
