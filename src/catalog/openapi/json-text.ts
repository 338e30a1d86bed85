// What JSON.parse does not tell about a JSON text: where things stand. It reads text that JSON.parse has already accepted, so it looks at no more
// than it needs.
import type { Position } from './fault.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

/** The offset behind the closing quote of the string that opens at `from`. */
function endOfString (text: string, from: number): number {
  let end = text.indexOf('"', from + 1)
  for (;;) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return end + 1
    end = text.indexOf('"', end + 1)
  }
}

function nameAt (text: string, from: number, end: number): string {
  const raw = text.slice(from + 1, end - 1)
  return raw.includes('\\') ? JSON.parse(`"${raw}"`) as string : raw
}

function skipSpace (text: string, from: number): number {
  let at = from
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

/** The offset behind the value that starts at `from`. */
function endOfValue (text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const char = text[at]
    if (char === '"') at = endOfString(text, at) - 1
    else if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') depth--
    else if (depth > 0 || !(char === ',' || isSpace(text.charCodeAt(at)))) continue
    if (depth < 0) return at
    if (depth === 0 && char !== '"') return char === '}' || char === ']' ? at + 1 : at
    if (depth === 0) return at + 1
  }
  return text.length
}

/** The offset of the key of the last token, or of the array item; as deep as the tokens can be followed. */
export function offsetOf (text: string, tokens: readonly string[]): number {
  let value = skipSpace(text, 0)
  let found = value
  for (const token of tokens) {
    const array = text[value] === '['
    let at = skipSpace(text, value + 1)
    let index = 0
    for (;;) {
      if (text[at] === '}' || text[at] === ']' || at >= text.length) return found
      const key = at
      if (!array) at = skipSpace(text, skipSpace(text, endOfString(text, at)) + 1)
      if (array ? String(index) === token : nameAt(text, key, endOfString(text, key)) === token) {
        found = key
        value = at
        break
      }
      at = skipSpace(text, endOfValue(text, at))
      if (text[at] === ',') at = skipSpace(text, at + 1)
      index++
    }
  }
  return found
}

export function positionAt (text: string, offset: number): Position {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}
