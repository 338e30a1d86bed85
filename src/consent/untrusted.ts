// The one way in which text that others wrote reaches a person: the agent's reason, arguments, values of upstreams, names of an identity provider or a
// document. What could not be seen, or would change the order of what is read, becomes a visible chip; nothing is dropped without being counted.
// The parts are data: whoever makes HTML of them escapes the texts, everyone else writes them with `plain` or `plainLine`.
import { createHash } from 'node:crypto'
import { badgesOf, hasRightToLeft, type Badge, type TextKind } from './alphabets.ts'

export type { Badge, TextKind } from './alphabets.ts'

/** Stands in what a decision keeps of how it was shown; rises when the same text would be shown differently. */
export const RENDERER = 'aval-text/1'

export type Part =
  /** Shown as it is. Right-to-left letters may be in it: give it an element that isolates its direction. */
  | { readonly kind: 'text', readonly text: string }
  /** In place of a character that is not shown; `text` is what to write, `⟦U+202E⟧`. */
  | { readonly kind: 'chip', readonly text: string, readonly codePoint: number }
  /** A line feed: write the mark, then begin a new line. */
  | { readonly kind: 'break', readonly text: '\u21b5' }
  | { readonly kind: 'tab', readonly text: '\u2192' }
  /** Spaces that a reader would not count or not see: more than one, or at an end of the text. */
  | { readonly kind: 'spaces', readonly text: string, readonly count: number }
  /** Where the budget ended. `text` is the sentence to write; the digest is that of the whole text. */
  | { readonly kind: 'rest', readonly text: string, readonly codePoints: number, readonly sha256: string }

export interface Budget {
  readonly codePoints: number
  readonly lines: number
}

export const VALUE_BUDGET: Budget = Object.freeze({ codePoints: 2_000, lines: Infinity })
export const REASON_BUDGET: Budget = Object.freeze({ codePoints: 500, lines: 20 })
/** For where a person has asked to see all of it. */
export const NO_BUDGET: Budget = Object.freeze({ codePoints: Infinity, lines: Infinity })

export interface Rendered {
  readonly parts: readonly Part[]
  readonly badges: readonly Badge[]
  /** Something in it could not be shown as it is. */
  readonly chipped: boolean
  /** Nothing was left out. */
  readonly complete: boolean
  readonly rightToLeft: boolean
}

/** Controls, format characters, surrogates, unassigned and private ones, separators, whatever may be ignored, blanks that are no spaces. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}[\p{Zs}--\x20]\p{Default_Ignorable_Code_Point}\u2800\u303f\ufffc\ufffd\u{13441}\u{13442}\u{1d159}]/v
/** What this renderer writes itself: in a text it could be taken for its own. */
const OWN_MARKS = /[\u27e6\u27e7\u21b5\u2423]/
const MARK = /\p{M}/u
const LETTER = /\p{L}/u
/** So many combining marks on one letter; more of them climb over the lines around. */
const MARKS_MAX = 3
const PLAIN = /^(?! )(?:[\x21-\x7e]| (?! |$))*$/
const PLAIN_WITHIN = /^(?:[\x21-\x7e]| (?! ))*$/

export interface Place {
  /** What stands there, for the badges; by its own form where it is not said. */
  readonly kind?: TextKind
  /** It is a piece of a sentence: a space at its end parts it from what comes next. */
  readonly within?: true
}

export function renderUntrusted (text: string, budget: Budget = VALUE_BUDGET, { kind, within }: Place = {}): Rendered {
  // Nearly every value is plain, which is seen at once.
  if (text.length <= budget.codePoints && (within === true ? PLAIN_WITHIN : PLAIN).test(text)) {
    return { parts: text === '' ? [] : [{ kind: 'text', text }], badges: [], chipped: false, complete: true, rightToLeft: false }
  }
  const writer = new PartWriter(within === true)
  let [taken, lines, length] = [0, 1, 0]
  for (const character of text) {
    if (taken === budget.codePoints || lines > budget.lines) break
    writer.add(character)
    if (character === '\n') lines++
    taken++
    length += character.length
  }
  const complete = length === text.length
  const parts = writer.finish(complete)
  if (!complete) parts.push(rest(text, length))
  const shown = complete ? text : text.slice(0, length)
  return {
    parts,
    badges: badgesOf(shown, kind),
    chipped: parts.some(part => part.kind === 'chip'),
    complete,
    rightToLeft: hasRightToLeft(shown),
  }
}

type CharacterKind = 'unseen' | 'mark' | 'letter' | 'other'

/** Of the characters that a text repeats, found out once. */
const known = new Map<string, CharacterKind>()
const KNOWN_MAX = 8_192

function kindOfCharacter (character: string): CharacterKind {
  let kind = known.get(character)
  if (kind !== undefined) return kind
  if (UNSEEN.test(character) || OWN_MARKS.test(character)) kind = 'unseen'
  else if (MARK.test(character)) kind = 'mark'
  else kind = LETTER.test(character) ? 'letter' : 'other'
  if (known.size < KNOWN_MAX) known.set(character, kind)
  return kind
}

class PartWriter {
  readonly #parts: Part[] = []
  #text = ''
  #spaces = 0
  /** Combining marks so far on the letter before; null: there is no letter that could carry one. */
  #marks: number | null = null
  readonly #within: boolean

  constructor (within: boolean) {
    this.#within = within
  }

  add (character: string): void {
    if (character === ' ') {
      this.#marks = null
      this.#spaces++
      return
    }
    this.#endSpaces(false)
    if (character === '\n' || character === '\t') return this.#put(character === '\n' ? { kind: 'break', text: '\u21b5' } : { kind: 'tab', text: '\u2192' })
    const kind = kindOfCharacter(character)
    if (kind === 'unseen') this.#put(chip(character))
    else if (kind === 'mark') this.#addMark(character)
    else {
      this.#text += character
      this.#marks = kind === 'letter' ? 0 : null
    }
  }

  finish (complete: boolean): Part[] {
    this.#endSpaces(complete)
    this.#endText()
    return this.#parts
  }

  /** Without a letter below it, a mark would sit on what is not part of the text, or strike a digit out. */
  #addMark (character: string): void {
    if (this.#marks === null || this.#marks === MARKS_MAX) return this.#put(chip(character), this.#marks)
    this.#text += character
    this.#marks++
  }

  #put (part: Part, marks: number | null = null): void {
    this.#endText()
    this.#parts.push(part)
    this.#marks = marks
  }

  #endSpaces (atEnd: boolean): void {
    const [count, atStart] = [this.#spaces, this.#text === '' && this.#parts.length === 0]
    this.#spaces = 0
    if (count === 0) return
    if (count === 1 && (this.#within || (!atStart && !atEnd))) this.#text += ' '
    else this.#put({ kind: 'spaces', text: count > SPACES_MAX ? `\u2423\u00d7${count}` : '\u2423'.repeat(count), count })
  }

  #endText (): void {
    if (this.#text !== '') this.#parts.push({ kind: 'text', text: this.#text })
    this.#text = ''
  }
}

/** More of them are written as a number: rows of spaces push the rest out of sight. */
const SPACES_MAX = 4

const chip = (character: string): Part => ({ kind: 'chip', text: `\u27e6${codePointName(character)}\u27e7`, codePoint: character.codePointAt(0)! })

const codePointName = (character: string): string => `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`

function rest (text: string, from: number): Part {
  let codePoints = 0
  for (const _ of text.slice(from)) codePoints++
  const sha256 = createHash('sha256').update(text).digest('hex')
  return { kind: 'rest', codePoints, sha256, text: `\u2026${codePoints} more characters not shown \u00b7 SHA-256 ${sha256}` }
}

/** The agent's reason, or that of a person who denied: normalised, since nothing is ever computed from it. */
export const renderReason = (reason: string): Rendered => renderUntrusted(reason.normalize('NFC'), REASON_BUDGET, { kind: 'text' })

/** The code points one by one, for whoever wants to look closely: `U+0041 U+0430`. */
export const codePointsOf = (text: string, max = 200): readonly string[] => Array.from(text.slice(0, max * 2), codePointName).slice(0, max)

/** For a terminal or a mail: a line feed is a mark and a new line, which begins with `indent`. */
export const plain = (rendered: Rendered, indent = ''): string => written(rendered, `\u21b5\n${indent}`)

/** For a log line, a notice, a cell of a table: one line, whatever the text holds. */
export const plainLine = (rendered: Rendered): string => written(rendered, '\u21b5')

function written (rendered: Rendered, lineFeed: string): string {
  const inOneDirection = !rendered.rightToLeft || rendered.parts.every(part =>
    part.kind === 'break' || (part.kind === 'text' && ![...part.text].some(character => /[\p{L}\p{N}]/u.test(character) && !hasRightToLeft(character))))
  return rendered.parts.map(part => {
    if (part.kind === 'break') return lineFeed
    return part.kind === 'text' && !inOneDirection ? withoutDirections(part.text) : part.text
  }).join('')
}

/**
 * A terminal turns the numbers and words between right-to-left letters around by itself, and there is no element to keep them apart. A text that has
 * both is written with chips for these letters; one in a single direction stays as it is.
 */
function withoutDirections (text: string): string {
  return Array.from(text, character => hasRightToLeft(character) ? chip(character).text : character).join('')
}
