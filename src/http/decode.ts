// Strict JSON (RFC 8259) for what an agent sends. One scan over the text refuses what JSON.parse lets pass or silently changes: a key named
// twice, depth, numbers that lose digits, lone surrogates, keys that reach a prototype. The grammar is left to JSON.parse, which reads it after.
import { isUtf8 } from 'node:buffer'
import type { Json } from '../catalog/catalog.ts'
import { Refusal } from '../errors.ts'
import { isExactNumber } from './number.ts'

export const DEPTH_MAX = 32
export const TOKENS_MAX = 10_000

const RESERVED_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const DOT = 0x2e
const PLUS = 0x2b
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * The value that these bytes are; what comes back equals what JSON.parse gives for them.
 * @throws Refusal ILL_FORMED_TEXT, MALFORMED_JSON, DUPLICATE_KEY, UNSAFE_NUMBER, TOO_DEEP, or MALFORMED_REQUEST for a reserved key
 */
export function decodeJson (bytes: Buffer): Json {
  // RFC 8259 §8.1: a BOM must not be sent; one in front would otherwise become U+FEFF or vanish, depending on who reads.
  if (bytes.length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw Refusal.of('MALFORMED_JSON', { rule: 'byte_order_mark', hint: 'Send the body without a byte order mark.' })
  }
  if (!isUtf8(bytes)) throw Refusal.of('ILL_FORMED_TEXT', { rule: 'utf8' })
  const text = bytes.toString('utf8')
  scan(text)
  return parse(text)
}

function parse (text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    throw Refusal.of('MALFORMED_JSON')
  }
}

/** A container that is open where the scan stands. */
interface Frame {
  /** null: a list. */
  readonly keys: Set<string> | null
  /** The key or index that is being read. */
  at: string | number
}

/**
 * Right about every text that JSON.parse accepts; about others it only has to end in bounded work, since JSON.parse refuses them anyway.
 * Work is linear in the text: each character is looked at once, and quotes and backslashes are found by indexOf going forward only.
 */
function scan (text: string): void {
  const frames: Frame[] = []
  let frame: Frame | undefined
  let keyNext = false
  let tokens = 0
  let escapeAt = text.indexOf('\\')

  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code <= 0x20 || code === COLON) continue
    if (code === COMMA) {
      if (frame?.keys === null) frame.at = (frame.at as number) + 1
      keyNext = frame !== undefined && frame.keys !== null
      continue
    }
    if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      frames.pop()
      frame = frames.at(-1)
      keyNext = false
      continue
    }
    if (++tokens > TOKENS_MAX) throw Refusal.of('TOO_DEEP', { rule: 'values_max', hint: `At most ${TOKENS_MAX} keys and values.` })
    if (code === QUOTE) {
      const end = endOfString(text, at)
      if (escapeAt !== -1 && escapeAt < at) escapeAt = text.indexOf('\\', at)
      const escaped = escapeAt !== -1 && escapeAt < end
      if (keyNext) {
        nameKey(escaped ? unescape(text.slice(at, end + 1), frames.slice(0, -1)) : text.slice(at + 1, end), frame!, frames)
        keyNext = false
      } else if (escaped) {
        unescape(text.slice(at, end + 1), frames)
      }
      at = end
    } else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      if (frames.length === DEPTH_MAX) throw Refusal.of('TOO_DEEP', { rule: 'depth_max', hint: `At most ${DEPTH_MAX} levels.` })
      keyNext = code === OPEN_OBJECT
      frame = keyNext ? { keys: new Set(), at: '' } : { keys: null, at: 0 }
      frames.push(frame)
    } else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      const end = endOfNumber(text, at)
      if (!isExactNumber(text.slice(at, end))) throw Refusal.of('UNSAFE_NUMBER', { field: pointer(frames) })
      at = end - 1
    } else {
      // A literal, or something that JSON.parse refuses.
      while (at + 1 < text.length && isLetter(text.charCodeAt(at + 1))) at++
    }
  }
}

function nameKey (key: string, frame: Frame, frames: readonly Frame[]): void {
  frame.at = key
  if (frame.keys!.has(key)) throw Refusal.of('DUPLICATE_KEY', { field: pointer(frames) })
  if (RESERVED_KEYS.has(key)) {
    const message = 'An object in the body has a key that is not allowed.'
    throw Refusal.of('MALFORMED_REQUEST', { field: pointer(frames), rule: 'reserved_key', message })
  }
  frame.keys!.add(key)
}

/** The index of the quote that ends the string that begins at `from`: the first one behind an even number of backslashes. */
function endOfString (text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
  throw Refusal.of('MALFORMED_JSON')
}

/**
 * The value of a string that holds escapes. Only an escape can bring in half of a surrogate pair: the bytes themselves were well-formed.
 * @param frames lead to what is named where it is ill-formed
 */
function unescape (literal: string, frames: readonly Frame[]): string {
  const value = parse(literal) as string
  if (!value.isWellFormed()) throw Refusal.of('ILL_FORMED_TEXT', { field: pointer(frames), rule: 'surrogate' })
  return value
}

function endOfNumber (text: string, from: number): number {
  let end = from + 1
  while (end < text.length) {
    const code = text.charCodeAt(end)
    const belongs = (code >= ZERO && code <= NINE) || code === DOT || code === PLUS || code === MINUS || code === 0x45 || code === 0x65
    if (!belongs) break
    end++
  }
  return end
}

const isLetter = (code: number): boolean => (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a)

/** JSON Pointer (RFC 6901) to where the scan stands; for a key that is itself ill-formed, to the object that holds it. */
function pointer (frames: readonly Frame[]): string {
  return frames.map(frame => `/${String(frame.at).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}
