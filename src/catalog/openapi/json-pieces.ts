// A JSON text read piece by piece, so that who waits for the event loop waits for a piece and not for a document of fifty megabytes. What
// JSON.parse does not tell comes with it: which object names a key twice.
//
// The outer objects are read here, strictly; what lies deeper is cut out by its brackets and given to JSON.parse, which refuses whatever is no JSON
// value. So the pieces together are exactly what JSON.parse makes of the whole.

/** `paths`, one path, one method; `components`, `schemas`, one schema. */
const OUTER_LEVELS = 3

const QUOTE = 0x22
const COLON = 0x3a
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

export type JsonRead =
  | { readonly kind: 'read', readonly data: unknown, readonly duplicate: { readonly offset: number, readonly name: string } | null }
  /** JSON.parse knows where. */
  | { readonly kind: 'not_json' }

/** Whoever runs it may do something else between two steps. */
export function * readJson (text: string): Generator<undefined, JsonRead> {
  const reader = new Reader(text)
  try {
    const data = yield * reader.whole()
    return { kind: 'read', data, duplicate: reader.duplicate }
  } catch (error) {
    if (error instanceof SyntaxError) return { kind: 'not_json' }
    throw error
  }
}

class Reader {
  /** The first. */
  duplicate: { readonly offset: number, readonly name: string } | null = null
  readonly #text: string
  #at = 0

  constructor (text: string) {
    this.#text = text
  }

  * whole (): Generator<undefined, unknown> {
    const data = yield * this.#value(0)
    if (!Number.isNaN(this.#code())) throw new SyntaxError('something follows the value')
    return data
  }

  * #value (level: number): Generator<undefined, unknown> {
    if (this.#code() === OPEN_BRACE && level < OUTER_LEVELS) return yield * this.#object(level)
    const from = this.#at
    this.#pass()
    yield
    return JSON.parse(this.#text.slice(from, this.#at)) as unknown
  }

  * #object (level: number): Generator<undefined, unknown> {
    const members: Array<readonly [string, unknown]> = []
    const names = new Set<string>()
    this.#take(OPEN_BRACE)
    while (this.#code() !== CLOSE_BRACE) {
      if (members.length > 0) this.#take(COMMA)
      if (this.#code() !== QUOTE) throw new SyntaxError('a name has quotes')
      const offset = this.#at
      this.#at = this.#endOfString(offset)
      const name = JSON.parse(this.#text.slice(offset, this.#at)) as string
      this.#name(names, name, offset)
      this.#take(COLON)
      members.push([name, yield * this.#value(level + 1)])
    }
    this.#take(CLOSE_BRACE)
    // Also a member called __proto__ is a member, as JSON.parse has it.
    return Object.fromEntries(members)
  }

  /** The next character that is no space; NaN at the end. */
  #code (): number {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++
    return this.#text.charCodeAt(this.#at)
  }

  #take (code: number): void {
    if (this.#code() !== code) throw new SyntaxError('something else stands here')
    this.#at++
  }

  #name (names: Set<string>, name: string, offset: number): void {
    if (names.has(name)) this.duplicate ??= { offset, name }
    names.add(name)
  }

  /** Behind the value that starts here, as its brackets and quotes say. */
  #pass (): void {
    const text = this.#text
    // One entry an open bracket: the names seen so far, or null in an array.
    const open: Array<Set<string> | null> = []
    let at = this.#at
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === QUOTE) {
        const end = this.#endOfString(at)
        this.#at = end
        const names = open.at(-1)
        if (names !== null && names !== undefined && this.#code() === COLON) this.#name(names, nameOf(text.slice(at, end)), at)
        at = end - 1
      } else if (code === OPEN_BRACE) {
        open.push(new Set())
      } else if (code === OPEN_BRACKET) {
        open.push(null)
      } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
        // What a scalar ends at belongs to whoever holds it.
        if (open.length === 0) break
        open.pop()
      } else if (open.length > 0 || !(code === COMMA || isSpace(code))) {
        continue
      } else {
        break
      }
      if (open.length === 0) {
        at++
        break
      }
    }
    this.#at = at
  }

  /** The offset behind the closing quote of the string that opens at `from`. */
  #endOfString (from: number): number {
    const text = this.#text
    for (let end = text.indexOf('"', from + 1); end > 0; end = text.indexOf('"', end + 1)) {
      let slashes = 0
      while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++
      if (slashes % 2 === 0) return end + 1
    }
    throw new SyntaxError('a string does not end')
  }
}

const nameOf = (quoted: string): string => quoted.includes('\\') ? JSON.parse(quoted) as string : quoted.slice(1, -1)
