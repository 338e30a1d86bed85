// What about a text can deceive a reader although every letter of it is shown: mixed alphabets, letters and digits that imitate others, and signs of
// other alphabets where plain ones are expected. Each gives a badge and never a refusal: names are mixed for good reasons.
import { domainToASCII } from 'node:url'

/** What stands in a place, as far as its form says: in anything but `text` only ASCII is expected. */
export type TextKind = 'text' | 'identifier' | 'host' | 'email' | 'amount'

export interface Badge {
  readonly kind: 'mixed_alphabets' | 'imitates' | 'not_ascii' | 'punycode' | 'right_to_left'
  /** For people, as it is: it holds nothing of the text but characters in printable ASCII. */
  readonly text: string
}

const ASCII = /^[\x20-\x7e\t\n]*$/

/** @param kind what stands there; by its own form where it is not said */
export function badgesOf (text: string, kind: TextKind = kindOf(text)): readonly Badge[] {
  if (ASCII.test(text)) return []
  const badges: Badge[] = []
  for (const mix of mixedAlphabets(text)) badges.push({ kind: 'mixed_alphabets', text: `mixed alphabets: ${mix}` })
  for (const what of imitations(text)) badges.push({ kind: 'imitates', text: what })
  if (kind !== 'text' && /[^\x20-\x7e\p{Sc}]/u.test(text)) badges.push({ kind: 'not_ascii', text: `not only plain letters: ${EXPECTED[kind]}` })
  if (kind === 'host' || kind === 'email') badges.push({ kind: 'punycode', text: punycode(text) })
  if (hasRightToLeft(text)) badges.push({ kind: 'right_to_left', text: 'written from right to left, at least in part' })
  return badges
}

const EXPECTED: Record<Exclude<TextKind, 'text'>, string> = {
  identifier: 'an identifier', host: 'a host name', email: 'an e-mail address', amount: 'an amount',
}

/** By its form alone, so a guess; what rests on it is whether a badge is shown. */
export function kindOf (text: string): TextKind {
  if (/\s/u.test(text.trim()) && !AMOUNT.test(text)) return 'text'
  if (/^[^@]+@[^@]+$/u.test(text)) return 'email'
  if (/^[a-z][a-z0-9+.-]*:\/\/./iu.test(text) || /^[\p{L}\p{M}\p{N}-]+(?:\.[\p{L}\p{M}\p{N}-]+)*\.\p{L}[\p{L}\p{M}\p{N}-]+$/u.test(text)) return 'host'
  if (AMOUNT.test(text)) return 'amount'
  return /[\p{N}_:/#]/u.test(text) ? 'identifier' : 'text'
}

const AMOUNT = /^(?:\p{Sc} ?)?[+\-\u2212]?\p{Nd}[\p{Nd}.,' ]*(?:\p{Sc}|[\p{L}\p{M}]{3})?$/u

// Scripts that a language writes in one word.
const TOGETHER: ReadonlyArray<ReadonlySet<string>> = [
  new Set(['Han', 'Hiragana', 'Katakana']), new Set(['Han', 'Hangul']), new Set(['Han', 'Bopomofo']),
]

const SCRIPTS = ([
  'Latin', 'Cyrillic', 'Greek', 'Han', 'Hiragana', 'Katakana', 'Hangul', 'Bopomofo', 'Arabic', 'Hebrew', 'Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati',
  'Oriya', 'Tamil', 'Telugu', 'Kannada', 'Malayalam', 'Sinhala', 'Thai', 'Lao', 'Tibetan', 'Myanmar', 'Georgian', 'Ethiopic', 'Cherokee',
  'Canadian_Aboriginal', 'Khmer', 'Mongolian', 'Armenian', 'Syriac', 'Thaana', 'Nko', 'Coptic', 'Lisu', 'Tifinagh', 'Yi', 'Vai', 'Deseret', 'Osage', 'Adlam',
]).map(name => [name, new RegExp(`\\p{Script=${name}}`, 'u')] as const)

const OF_EVERY_SCRIPT = /[\p{Script=Common}\p{Script=Inherited}]/u

function scriptOf (letter: string): string | null {
  if (OF_EVERY_SCRIPT.test(letter)) return null
  return SCRIPTS.find(([, script]) => script.test(letter))?.[0] ?? 'another'
}

/** Each mixture that stands inside one word, `Latin + Cyrillic`. */
function mixedAlphabets (text: string): ReadonlySet<string> {
  const mixes = new Set<string>()
  for (const word of new Set(text.match(/[\p{L}\p{M}\p{N}\p{Cf}]+/gu))) {
    if (ASCII.test(word)) continue
    const found = new Set<string>()
    for (const letter of new Set(word)) {
      const script = scriptOf(letter)
      if (script !== null) found.add(script)
    }
    if (found.size < 2 || TOGETHER.some(set => [...found].every(script => set.has(script)))) continue
    mixes.add(SCRIPT_ORDER.filter(script => found.has(script)).join(' + ').replaceAll('_', ' '))
  }
  return mixes
}

const SCRIPT_ORDER = [...SCRIPTS.map(([name]) => name), 'another']

/** Letters of other alphabets that nobody tells from Latin ones in print. */
const LIKE_LATIN: Record<string, RegExp> = {
  Cyrillic: /^[\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u051b\u051d\u0501\u04cf\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405\u04c0\u051a\u051c]+$/u,
  Greek: /^[\u03b1\u03b9\u03ba\u03bd\u03bf\u03c1\u03c5\u03c7\u03f2\u03f3\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03f9\u037f]+$/u,
  Armenian: /^[\u0561\u0563\u0566\u0570\u0578\u057d\u0581\u0585\u054d\u0555]+$/u,
  Cherokee: /^[\u13a0-\u13f4]+$/u,
  Lisu: /^[\ua4d0-\ua4f7]+$/u,
}

function imitations (text: string): readonly string[] {
  const found: string[] = []
  const words = [...new Set(text.match(/[\p{L}\p{M}]+/gu))]
  for (const [script, letters] of Object.entries(LIKE_LATIN)) {
    if (words.some(word => letters.test(word))) found.push(`looks like Latin, is ${script}`)
  }
  // Circled, mathematical, full-width: what they stand for is plain.
  if ([...new Set(text)].some(character => character > '\x7f' && /^[A-Za-z0-9]+$/.test(character.normalize('NFKC')))) {
    found.push('styled letters or digits that stand for plain ones')
  }
  if (/[^\x20-\x7e]/.test(text.replace(/\P{Nd}/gu, ''))) found.push('digits of another script')
  return found
}

function punycode (text: string): string {
  const host = /^(?:[a-z][a-z0-9+.-]*:\/\/)?(?:.*@)?([^/:?#]+)/iu.exec(text)?.[1] ?? ''
  const ascii = domainToASCII(host)
  return ascii === '' ? 'no valid host name' : `in the network: ${ascii}`
}

/** The blocks whose letters are written from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

export const hasRightToLeft = (text: string): boolean => RIGHT_TO_LEFT.test(text)
