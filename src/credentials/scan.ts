// Looks for a secret in what an upstream answered, however it was written there. Two means together: needles for the ways in which a secret turns
// into other letters (hex, base64), and decoding for the ways in which single letters are written differently (JSON and percent escapes, character
// references), so that any mixture and nesting of them is seen through.
//
// Not seen: a secret split over several places, reversed, encrypted, hashed, or in base64 broken into lines.
//
// All of it works on bytes, one a character (latin1), so that text and what is no text are searched alike.

import { SECRET_BYTES_MIN } from '../secret.ts'

/** Decoding is repeated for escapes within escapes, as a JSON text in a JSON string. */
const ROUNDS_MAX = 3

/** Forms of a secret that is itself full of escapes. */
const UNDONE_MAX = 16

/** Everything to look for, for one secret. `pair` is the user:password that it is sent in, if it is. */
export function needlesOf (secret: Buffer, pair: Buffer | null): readonly string[] {
  const text = secret.toString('latin1')
  const needles = new Set<string>([text])
  // application/x-www-form-urlencoded writes a blank as a plus; its other escapes are percent escapes.
  if (text.includes(' ')) needles.add(text.replaceAll(' ', '+'))
  addUndone(needles)
  needles.add(secret.toString('hex'))
  needles.add(secret.toString('hex').toUpperCase())
  for (const bytes of pair === null ? [secret] : [secret, pair]) {
    for (const offset of [0, 1, 2]) {
      const encoded = embeddedBase64(bytes, offset)
      needles.add(encoded)
      needles.add(encoded.replaceAll('+', '-').replaceAll('/', '_'))
    }
  }
  for (const segment of tokenSegments(text)) needles.add(segment)
  return [...needles]
}

/**
 * Undoing one writing also undoes what looks like another one inside the secret: `a\b` in HTML becomes `ab` before its references are read. So a
 * secret that holds such letters is looked for in those forms too, as long as they are not too short to mean anything. One that ends like the
 * beginning of a writing loses that end to whatever stands behind it.
 */
function addUndone (needles: Set<string>): void {
  for (const needle of needles) {
    const begun = needle.replace(BEGUN_ESCAPE, '')
    if (begun.length >= SECRET_BYTES_MIN && needles.size < UNDONE_MAX) needles.add(begun)
    // A set that grows is walked to its end; each form is shorter than the one it was made of.
    for (const decode of DECODERS) {
      const undone = decode(needle)
      if (undone.length >= SECRET_BYTES_MIN && needles.size < UNDONE_MAX) needles.add(undone)
    }
  }
}

/** The part of the base64 of `offset` bytes + secret + anything that is the same whatever stands before and after. */
function embeddedBase64 (secret: Buffer, offset: number): string {
  const encoded = Buffer.concat([Buffer.alloc(offset), secret]).toString('base64')
  return encoded.slice(Math.ceil(offset * 8 / 6), Math.floor((offset + secret.length) * 8 / 6))
}

/** Payload and signature of a JWT. Its header says only how it was signed, and stands in other people's tokens too. */
function tokenSegments (text: string): readonly string[] {
  const parts = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{8,})\.([A-Za-z0-9_-]{8,})$/.exec(text)
  if (parts === null) return []
  try {
    const header: unknown = JSON.parse(Buffer.from(parts[1]!, 'base64url').toString('utf8'))
    return typeof header === 'object' && header !== null && 'alg' in header ? [parts[2]!, parts[3]!] : []
  } catch {
    return []
  }
}

/** Whether any of the needles stands in one of these, as it is or escaped. Linear in their length. */
export function holdsAny (parts: ReadonlyArray<Buffer | string>, needles: readonly string[]): boolean {
  if (needles.length === 0) return false
  let text = joined(parts)
  if (includesAny(text, needles)) return true
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const before = text
    for (const decode of DECODERS) {
      const decoded = decode(text)
      if (decoded === text) continue
      text = decoded
      if (includesAny(text, needles)) return true
    }
    if (text === before) return false
  }
  return false
}

/** The parts as one text, in which a NUL keeps them apart. Texts are many and short, as header fields are, so they are turned into bytes together. */
function joined (parts: ReadonlyArray<Buffer | string>): string {
  let [bytes, texts] = ['', '']
  for (const part of parts) {
    if (typeof part === 'string') texts += `\0${part}`
    else bytes += `\0${part.toString('latin1')}`
  }
  return texts === '' ? bytes : bytes + Buffer.from(texts).toString('latin1')
}

function includesAny (text: string, needles: readonly string[]): boolean {
  for (const needle of needles) {
    if (text.includes(needle)) return true
  }
  return false
}

const BEGUN_ESCAPE = /(?:\\(?:u[0-9A-Fa-f]{0,3}|x[0-9A-Fa-f]?)?|%[0-9A-Fa-f]?|&(?:#[0-9A-Za-z]*|[a-z]*))$/

const SHORT_ESCAPES: { readonly [letter: string]: string } = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/** RFC 8259 §7, and the \xHH that other languages write. */
function decodeBackslashes (text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(/\\(?:u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([^]))/g,
    (_all, high: string | undefined, low: string | undefined, unit: string | undefined, byte: string | undefined, letter: string) => {
      if (high !== undefined) return bytesOf(0x10000 + ((parseInt(high, 16) & 0x3ff) << 10) + (parseInt(low!, 16) & 0x3ff))
      if (unit !== undefined) return bytesOf(parseInt(unit, 16))
      if (byte !== undefined) return String.fromCharCode(parseInt(byte, 16))
      return SHORT_ESCAPES[letter] ?? letter
    })
}

function decodePercents (text: string): string {
  if (!text.includes('%')) return text
  return text.replace(/%([0-9A-Fa-f]{2})/g, (_all, byte: string) => String.fromCharCode(parseInt(byte, 16)))
}

const NAMED: { readonly [name: string]: string } = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const REFERENCE = /&(?:#[xX]([0-9A-Fa-f]{1,6})|#([0-9]{1,7})|(amp|lt|gt|quot|apos));?/g

/** Character references of HTML and XML: by number all, by name those that escaping makes. */
function decodeReferences (text: string): string {
  if (!text.includes('&')) return text
  return text.replace(REFERENCE, (all, hex: string | undefined, decimal: string | undefined, name: string | undefined) => {
    if (name !== undefined) return NAMED[name]!
    const point = hex !== undefined ? parseInt(hex, 16) : parseInt(decimal!, 10)
    return point > 0x10ffff ? all : bytesOf(point)
  })
}

const DECODERS = [decodeBackslashes, decodePercents, decodeReferences] as const

/** A code point as its bytes in UTF-8, one a character. */
function bytesOf (point: number): string {
  return point < 0x80 ? String.fromCharCode(point) : Buffer.from(String.fromCodePoint(point)).toString('latin1')
}
