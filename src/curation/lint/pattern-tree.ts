// An ECMA-262 pattern (flag u) as a tree, as far as its shape matters: which characters, how often, in which order. What is not understood makes the
// whole null, and then nothing is claimed about the pattern.

export type Ranges = ReadonlyArray<readonly [from: number, to: number]>

export type PatternTree =
  | { readonly kind: 'set', readonly ranges: Ranges }
  | { readonly kind: 'start' } | { readonly kind: 'end' } | { readonly kind: 'boundary' }
  | { readonly kind: 'sequence', readonly parts: readonly PatternTree[] }
  | { readonly kind: 'choice', readonly options: readonly PatternTree[] }
  | { readonly kind: 'repeat', readonly part: PatternTree, readonly min: number, readonly max: number }

export const CODE_POINT_MAX = 0x10ffff
const ANY: Ranges = [[0, CODE_POINT_MAX]]
const DIGITS: Ranges = [[0x30, 0x39]]
const WORDS: Ranges = [[0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]]
const SPACES: Ranges = [[0x09, 0x0d], [0x20, 0x20], [0xa0, 0xa0], [0x2028, 0x2029]]
const CONTROLS: ReadonlyMap<string, number> = new Map([['n', 10], ['r', 13], ['t', 9], ['v', 11], ['f', 12], ['0', 0]])

/** null where it is not understood: look-arounds, back-references. */
export function patternTree (source: string): PatternTree | null {
  try {
    const reader = new PatternReader([...source])
    const tree = reader.choice()
    return reader.atEnd() ? tree : null
  } catch (error) {
    if (error instanceof NotUnderstood) return null
    throw error
  }
}

class NotUnderstood extends Error {}

class PatternReader {
  readonly #characters: readonly string[]
  #at = 0

  constructor (characters: readonly string[]) {
    this.#characters = characters
  }

  atEnd (): boolean {
    return this.#at === this.#characters.length
  }

  choice (): PatternTree {
    const options = [this.#sequence()]
    while (this.#takes('|')) options.push(this.#sequence())
    return options.length === 1 ? options[0]! : { kind: 'choice', options }
  }

  #sequence (): PatternTree {
    const parts: PatternTree[] = []
    while (!this.atEnd() && this.#next() !== '|' && this.#next() !== ')') parts.push(this.#repeated(this.#atom()))
    return { kind: 'sequence', parts }
  }

  #atom (): PatternTree {
    const character = this.#take()
    switch (character) {
      case '^': return { kind: 'start' }
      case '$': return { kind: 'end' }
      case '.': return { kind: 'set', ranges: without([[10, 10], [13, 13], [0x2028, 0x2029]]) }
      case '(': return this.#group()
      case '[': return { kind: 'set', ranges: this.#class() }
      case '\\': return this.#escaped()
      default: return { kind: 'set', ranges: [[character.codePointAt(0)!, character.codePointAt(0)!]] }
    }
  }

  #group (): PatternTree {
    if (this.#takes('?')) {
      if (this.#takes('<')) {
        if (this.#next() === '=' || this.#next() === '!') throw new NotUnderstood()
        while (this.#take() !== '>');
      } else if (!this.#takes(':')) throw new NotUnderstood()
    }
    const inner = this.choice()
    if (!this.#takes(')')) throw new NotUnderstood()
    return inner
  }

  #repeated (part: PatternTree): PatternTree {
    const bounds = this.#bounds()
    if (bounds === null) return part
    this.#takes('?')
    return { kind: 'repeat', part, min: bounds[0], max: bounds[1] }
  }

  #bounds (): readonly [number, number] | null {
    if (this.#takes('*')) return [0, Infinity]
    if (this.#takes('+')) return [1, Infinity]
    if (this.#takes('?')) return [0, 1]
    const braces = /^\{(\d+)(?:(,)(\d*))?\}/.exec(this.#characters.slice(this.#at, this.#at + 20).join(''))
    if (braces === null) return null
    this.#at += braces[0].length
    const min = Number(braces[1])
    return [min, braces[2] === undefined ? min : braces[3] === '' ? Infinity : Number(braces[3])]
  }

  #escaped (): PatternTree {
    if (this.#next() === 'b' || this.#next() === 'B') {
      this.#take()
      return { kind: 'boundary' }
    }
    return { kind: 'set', ranges: this.#escape() }
  }

  #escape (): Ranges {
    const character = this.#take()
    if (character === 'd') return DIGITS
    if (character === 'w') return WORDS
    if (character === 's') return SPACES
    if (character === 'D') return without(DIGITS)
    if (character === 'W') return without(WORDS)
    if (character === 'S') return without(SPACES)
    if (character === 'p' || character === 'P') {
      if (!this.#takes('{')) throw new NotUnderstood()
      while (this.#take() !== '}');
      // Which characters they are does not matter here; that they may meet any other class does.
      return ANY
    }
    const control = CONTROLS.get(character)
    if (control !== undefined) return [[control, control]]
    if (character === 'u' || character === 'x') return this.#hexadecimal(character)
    if (/[1-9k]/.test(character)) throw new NotUnderstood()
    return [[character.codePointAt(0)!, character.codePointAt(0)!]]
  }

  #hexadecimal (kind: string): Ranges {
    const text = this.#characters.slice(this.#at, this.#at + 12).join('')
    const match = (kind === 'x' ? /^([0-9A-Fa-f]{2})/ : /^(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{4}))/).exec(text)
    if (match === null) throw new NotUnderstood()
    this.#at += match[0].length
    const code = parseInt(match[1] ?? match[2]!, 16)
    return [[code, code]]
  }

  #class (): Ranges {
    const negated = this.#takes('^')
    const ranges: Array<readonly [number, number]> = []
    while (!this.#takes(']')) {
      const from = this.#classAtom()
      if (this.#next() === '-' && this.#characters[this.#at + 1] !== ']') {
        this.#take()
        const to = this.#classAtom()
        ranges.push([from[0]![0], to.at(-1)![1]])
      } else ranges.push(...from)
    }
    return negated ? without(ranges) : ranges
  }

  #classAtom (): Ranges {
    const character = this.#take()
    if (character !== '\\') return [[character.codePointAt(0)!, character.codePointAt(0)!]]
    if (this.#takes('b')) return [[8, 8]]
    if (this.#takes('-')) return [[0x2d, 0x2d]]
    return this.#escape()
  }

  #next (): string | undefined {
    return this.#characters[this.#at]
  }

  #take (): string {
    const character = this.#characters[this.#at++]
    if (character === undefined) throw new NotUnderstood()
    return character
  }

  #takes (wanted: string): boolean {
    if (this.#next() !== wanted) return false
    this.#at++
    return true
  }
}

function without (ranges: Ranges): Ranges {
  const kept: Array<readonly [number, number]> = []
  let from = 0
  for (const [low, high] of [...ranges].sort((one, other) => one[0] - other[0])) {
    if (low > from) kept.push([from, low - 1])
    from = Math.max(from, high + 1)
  }
  if (from <= CODE_POINT_MAX) kept.push([from, CODE_POINT_MAX])
  return kept
}

export const meet = (one: Ranges, other: Ranges): boolean => one.some(([from, to]) => other.some(([low, high]) => from <= high && low <= to))
