// Patterns that run in linear time, whatever the text. A pattern has to be valid for ECMA-262 too, so that what a contract says means the
// same to whoever reads it with another engine.
import { RE2JS } from 're2js'
import { patternForRe2 } from './pattern-syntax.ts'

export interface Pattern {
  /** Whether it matches anywhere in the text. */
  test (text: string): boolean
}

/** Patterns are met several times in a load, and the same ones in the next. */
const known = new Map<string, Pattern | string>()
const KNOWN_MAX = 2_000

/** A pattern, or why it cannot be used. */
export function compilePattern (source: string): Pattern | string {
  const before = known.get(source)
  if (before !== undefined) return before
  const compiled = compile(source)
  // What is compiled stays with whoever holds it.
  if (known.size >= KNOWN_MAX) known.clear()
  known.set(source, compiled)
  return compiled
}

function compile (source: string): Pattern | string {
  try {
    new RegExp(source, 'u')
  } catch {
    return 'the pattern is not valid in ECMA-262 with the flag u'
  }
  try {
    return new LinearPattern(source)
  } catch {
    return 'the pattern cannot run in linear time (look-arounds, back-references and repeats above 1000 cannot)'
  }
}

class LinearPattern implements Pattern {
  readonly #source: string
  readonly #compiled: RE2JS

  constructor (source: string) {
    this.#source = source
    this.#compiled = RE2JS.compile(patternForRe2(source))
  }

  test (text: string): boolean {
    return this.#compiled.test(text)
  }

  /** ajv tells patterns apart by this: without it, every pattern would be the first one that was compiled. */
  toString (): string {
    return `/${this.#source}/u`
  }
}
