// A text that a pattern matches, of the smallest length or of one that is asked for. Only what patterns of sheets are made of is understood: a
// pattern that is not gives no text, and whoever asked says that it has none.

type Part =
  | { readonly kind: 'character', readonly choices: readonly string[] }
  | { readonly kind: 'sequence', readonly parts: readonly Part[] }
  | { readonly kind: 'choice', readonly parts: readonly Part[] }
  | { readonly kind: 'repeat', readonly part: Part, readonly min: number, readonly max: number }

/** Beyond this the ways to share a length out among parts are too many to try. */
const LENGTH_MAX = 4_000
const SHARED_LENGTH_MAX = 300

export class PatternText {
  readonly #root: Part
  readonly #variant: number
  readonly #known = new Map<Part, Map<number, string | null>>()

  /** @param variant another one gives another text where the pattern allows it */
  private constructor (root: Part, variant: number) {
    this.#root = root
    this.#variant = variant
  }

  /** null where the pattern holds something that is not understood. */
  static of (pattern: string, variant = 0): PatternText | null {
    const parser = new Parser(pattern)
    const root = parser.parse()
    return root === null ? null : new PatternText(root, variant)
  }

  /** A text of so many characters, or null where there is none or none is found. */
  ofLength (length: number): string | null {
    return length > LENGTH_MAX ? null : this.#fit(this.#root, length)
  }

  /** The shortest text of at least `min` and at most `max` characters. */
  shortest (min: number, max: number): string | null {
    const [least, most] = boundsOf(this.#root)
    const last = Math.min(max, most, Math.max(min, least) + 64)
    for (let length = Math.max(min, least); length <= last; length++) {
      const text = this.ofLength(length)
      if (text !== null) return text
    }
    return null
  }

  #fit (part: Part, length: number): string | null {
    const [least, most] = boundsOf(part)
    if (length < least || length > most) return null
    if (part.kind === 'character') return part.choices[this.#variant % part.choices.length]!
    let known = this.#known.get(part)
    if (known === undefined) this.#known.set(part, known = new Map())
    const before = known.get(length)
    if (before !== undefined) return before
    // Whatever comes back to this place on the way finds nothing, so that nothing goes round in a circle.
    known.set(length, null)
    const text = this.#fitCompound(part, length)
    known.set(length, text)
    return text
  }

  #fitCompound (part: Exclude<Part, { kind: 'character' }>, length: number): string | null {
    if (part.kind === 'choice') {
      for (const branch of part.parts) {
        const text = this.#fit(branch, length)
        if (text !== null) return text
      }
      return null
    }
    if (part.kind === 'sequence') return this.#share(part.parts, length)
    if (part.part.kind === 'character') return this.#fit(part.part, 1)!.repeat(length)
    for (let count = part.min; count <= Math.min(part.max, Math.max(length, part.min)); count++) {
      const text = this.#share(Array.from({ length: count }, () => part.part), length)
      if (text !== null) return text
    }
    return null
  }

  #share (parts: readonly Part[], length: number): string | null {
    const [first, ...rest] = parts
    if (first === undefined) return length === 0 ? '' : null
    if (rest.length === 0) return this.#fit(first, length)
    const [least, most] = boundsOf(first)
    const [restLeast, restMost] = boundsOf({ kind: 'sequence', parts: rest })
    const from = Math.max(least, length - restMost)
    const to = Math.min(most, length - restLeast)
    if (to - from > SHARED_LENGTH_MAX) return null
    for (let own = from; own <= to; own++) {
      const text = this.#fit(first, own)
      const behind = text === null ? null : this.#share(rest, length - own)
      if (behind !== null) return `${text}${behind}`
    }
    return null
  }
}

const bounds = new WeakMap<Part, readonly [number, number]>()

/** The least and the most characters. */
function boundsOf (part: Part): readonly [number, number] {
  const known = bounds.get(part)
  if (known !== undefined) return known
  const made = measured(part)
  bounds.set(part, made)
  return made
}

function measured (part: Part): readonly [number, number] {
  switch (part.kind) {
    case 'character': return [1, 1]
    case 'sequence': return part.parts.map(boundsOf).reduce(([least, most], [l, m]) => [least + l, most + m], [0, 0])
    case 'choice': {
      const all = part.parts.map(boundsOf)
      return [Math.min(...all.map(([least]) => least)), Math.max(...all.map(([, most]) => most))]
    }
    case 'repeat': {
      const [least, most] = boundsOf(part.part)
      return [least * part.min, most === 0 || part.max === 0 ? 0 : most * part.max]
    }
  }
}

/** Characters that a text is made of where there is a choice: plain ones first, then what a class may be about. */
const ALPHABET = [
  ...'ab0A1Bcdefghijklmnopqrstuvwxyz23456789CDEFGHIJKLMNOPQRSTUVWXYZ _-.,:;/@+=~!#$%&*()[]{}<>?|^"\'\\`', '\t', '\n', 'é', 'ß', 'Ω', '日', '€',
]
const DIGITS = /[0-9]/
const WORDS = /[A-Za-z0-9_]/
const SPACES = /\s/

/** Recursive descent over the syntax that RE2 and ECMA-262 share. */
class Parser {
  readonly #text: readonly string[]
  #at = 0
  #failed = false

  constructor (pattern: string) {
    this.#text = [...pattern]
  }

  parse (): Part | null {
    const part = this.#choice()
    return this.#failed || this.#at < this.#text.length ? null : part
  }

  #choice (): Part {
    const parts = [this.#sequence()]
    while (this.#take('|')) parts.push(this.#sequence())
    return parts.length === 1 ? parts[0]! : { kind: 'choice', parts }
  }

  #sequence (): Part {
    const parts: Part[] = []
    while (this.#at < this.#text.length && !'|)'.includes(this.#peek())) {
      const part = this.#repeated(this.#atom())
      if (this.#failed) break
      parts.push(part)
    }
    return parts.length === 1 ? parts[0]! : { kind: 'sequence', parts }
  }

  #atom (): Part {
    const character = this.#next()
    switch (character) {
      // The whole text is made to match, so it matches from end to end.
      case '^': case '$': return NOTHING
      case '.': return this.#character(one => one !== '\n')
      case '(': return this.#group()
      case '[': return this.#class()
      case '\\': return this.#escape()
      case '*': case '+': case '?': case '{': return this.#fail()
      default: return { kind: 'character', choices: [character] }
    }
  }

  #group (): Part {
    if (this.#take('?')) {
      if (this.#take('<')) {
        if (this.#peek() === '=' || this.#peek() === '!') return this.#fail()
        while (this.#at < this.#text.length && !this.#take('>')) this.#next()
      } else if (!this.#take(':')) {
        return this.#fail()
      }
    }
    const part = this.#choice()
    return this.#take(')') ? part : this.#fail()
  }

  #escape (): Part {
    if (this.#peek() === 'b' || this.#peek() === 'B') {
      this.#next()
      return NOTHING
    }
    const test = this.#escaped()
    return typeof test === 'string' ? { kind: 'character', choices: [test] } : this.#character(test)
  }

  /** What stands behind a backslash: one character, or a class of them. */
  #escaped (): string | ((one: string) => boolean) {
    const character = this.#next()
    switch (character) {
      case 'd': return one => DIGITS.test(one)
      case 'D': return one => !DIGITS.test(one)
      case 'w': return one => WORDS.test(one)
      case 'W': return one => !WORDS.test(one)
      case 's': return one => SPACES.test(one)
      case 'S': return one => !SPACES.test(one)
      case 'n': return '\n'
      case 't': return '\t'
      case 'r': return '\r'
      case 'p': case 'P': return this.#property(character === 'P')
      case 'x': return this.#hex(2)
      case 'u': return this.#hex(4)
      default:
        if (/[A-Za-z0-9]/.test(character)) this.#fail()
        return character
    }
  }

  #property (negated: boolean): string | ((one: string) => boolean) {
    const match = /^\{\^?[A-Za-z_=]+\}/.exec(this.#text.slice(this.#at).join(''))
    if (match === null) {
      this.#fail()
      return ''
    }
    this.#at += match[0].length
    try {
      const property = new RegExp(`\\p${match[0]}`, 'u')
      return one => property.test(one) !== negated
    } catch {
      this.#fail()
      return ''
    }
  }

  #hex (digits: number): string {
    const text = this.#text.slice(this.#at, this.#at + digits).join('')
    if (!new RegExp(`^[0-9A-Fa-f]{${digits}}$`).test(text)) this.#fail()
    this.#at += digits
    return String.fromCodePoint(Number.parseInt(text, 16) || 0)
  }

  #class (): Part {
    const negated = this.#take('^')
    const tests: Array<(one: string) => boolean> = []
    let first = true
    while (first || this.#peek() !== ']') {
      if (this.#at >= this.#text.length) return this.#fail()
      first = false
      const from = this.#classMember()
      const dash = typeof from === 'string' && this.#peek() === '-' && this.#text[this.#at + 1] !== ']'
      if (!dash) {
        tests.push(typeof from === 'string' ? one => one === from : from)
        continue
      }
      this.#next()
      const to = this.#classMember()
      if (typeof to !== 'string') return this.#fail()
      const [low, high] = [from.codePointAt(0)!, to.codePointAt(0)!]
      tests.push(one => one.codePointAt(0)! >= low && one.codePointAt(0)! <= high)
    }
    this.#next()
    return this.#character(one => tests.some(test => test(one)) !== negated)
  }

  #classMember (): string | ((one: string) => boolean) {
    const character = this.#next()
    return character === '\\' ? this.#escaped() : character
  }

  #repeated (part: Part): Part {
    const bounds = this.#quantifier()
    if (bounds === null) return part
    this.#take('?')
    return { kind: 'repeat', part, min: bounds[0], max: bounds[1] }
  }

  #quantifier (): readonly [number, number] | null {
    if (this.#take('*')) return [0, Infinity]
    if (this.#take('+')) return [1, Infinity]
    if (this.#take('?')) return [0, 1]
    const match = /^\{(\d+)(,(\d*))?\}/.exec(this.#text.slice(this.#at, this.#at + 16).join(''))
    if (match === null) return null
    this.#at += match[0].length
    const min = Number(match[1])
    return [min, match[2] === undefined ? min : match[3] === '' ? Infinity : Number(match[3])]
  }

  #character (test: (one: string) => boolean): Part {
    const choices = ALPHABET.filter(test)
    return choices.length === 0 ? this.#fail() : { kind: 'character', choices }
  }

  #peek (): string { return this.#text[this.#at] ?? '' }
  #next (): string { return this.#text[this.#at++] ?? '' }

  #take (character: string): boolean {
    if (this.#peek() !== character || character === '') return false
    this.#at++
    return true
  }

  #fail (): Part {
    this.#failed = true
    return NOTHING
  }
}

const NOTHING: Part = Object.freeze({ kind: 'sequence', parts: [] })
