// One pattern, two engines: what a contract shows is read as ECMA-262 (with the flag u), what runs here is RE2. Where both take the same text and mean
// something else by it, the text is written anew for RE2: `.` and `\s` know fewer characters there.

/** ECMA-262 §12.2 and §12.3, WhiteSpace and LineTerminator: what `\s` stands for. */
const SPACES: ReadonlyArray<readonly [from: number, to: number]> = [
  [0x09, 0x0d], [0x20, 0x20], [0xa0, 0xa0], [0x1680, 0x1680], [0x2000, 0x200a], [0x2028, 0x2029], [0x202f, 0x202f], [0x205f, 0x205f],
  [0x3000, 0x3000], [0xfeff, 0xfeff],
]
const CODE_POINT_MAX = 0x10ffff

const point = (code: number): string => `\\x{${code.toString(16)}}`
const range = (from: number, to: number): string => from === to ? point(from) : `${point(from)}-${point(to)}`

const IN_SPACES = SPACES.map(([from, to]) => range(from, to)).join('')
const OUT_OF_SPACES = [...SPACES, [CODE_POINT_MAX + 1, 0] as const]
  .map(([from], index) => range(index === 0 ? 0 : SPACES[index - 1]![1] + 1, from - 1)).join('')

/** Each as it stands outside of a class. */
const ANY_BUT_LINE_ENDS = '[^\\n\\r\\x{2028}\\x{2029}]'
const ANY = `[${range(0, CODE_POINT_MAX)}]`

const PIECE = /\\u\{([0-9A-Fa-f]+)\}|\\u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})|\\c([A-Za-z])|\[\^\]|\\[^]|[^]/gu

/** @param source valid in ECMA-262 with the flag u. @returns for RE2 */
export function patternForRe2 (source: string): string {
  let within = false
  return source.replace(PIECE, (piece, braced?: string, high?: string, low?: string, unit?: string, control?: string) => {
    if (braced !== undefined || unit !== undefined) return point(parseInt(braced ?? unit!, 16))
    if (high !== undefined) return point(0x10000 + ((parseInt(high, 16) & 0x3ff) << 10) + (parseInt(low!, 16) & 0x3ff))
    if (control !== undefined) return point(control.charCodeAt(0) % 32)
    if (within) {
      if (piece === ']') within = false
      return CLASS_PIECES.get(piece) ?? piece
    }
    if (piece === '[') within = true
    return PIECES.get(piece) ?? piece
  })
}

const PIECES: ReadonlyMap<string, string> = new Map([
  ['.', ANY_BUT_LINE_ENDS], ['\\s', `[${IN_SPACES}]`], ['\\S', `[^${IN_SPACES}]`], ['\\0', point(0)], ['[^]', ANY],
])

/** A `[` in a class is itself; RE2 would look for the name of a class behind it. */
const CLASS_PIECES: ReadonlyMap<string, string> = new Map([
  ['\\s', IN_SPACES], ['\\S', OUT_OF_SPACES], ['\\b', point(8)], ['\\0', point(0)], ['[', '\\['],
])
