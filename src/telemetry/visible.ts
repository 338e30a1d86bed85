// Text that others wrote, made safe for a line: whatever a terminal or a log viewer could take for something else is written as an escape.

/** C0 and C1 controls, soft hyphen, zero-width and bidirectional marks, line and paragraph separator, byte order mark, tags, lone surrogates. */
const UNSAFE = new RegExp([
  '[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]',
  '\\udb40[\\udc00-\\udc7f]',
  '[\\ud800-\\udbff](?![\\udc00-\\udfff])',
  '(?<![\\ud800-\\udbff])[\\udc00-\\udfff]',
].join('|'), 'g')

const BEYOND_PRINTABLE = /[^\x20-\x7e]/

/** Already JSON, one line of it: what JSON.stringify lets through raw is escaped in JSON's own way, so that the value stays the same. */
export function escapeLine (json: string): string {
  // Nearly every line is plain, which is seen in half the time.
  if (!BEYOND_PRINTABLE.test(json)) return json
  return json.replace(UNSAFE, escaped)
}

const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')

/** Lines for a terminal, text or JSON: nothing in them moves its cursor, colours it or turns the order of what is read. */
export function escapeForTerminal (lines: string): string {
  return lines.replace(UNSAFE, character => character === '\n' ? character : escaped(character))
}

/** Anything but printable ASCII, and the backslash that would begin an escape. */
const UNPRINTABLE = /[^\x20-\x5b\x5d-\x7e]/u
const EACH_UNPRINTABLE = new RegExp(UNPRINTABLE, 'gu')

/** Printable ASCII that shows what was meant, cut to `lengthMax`: for lines whose bytes are hashed and compared. */
export function printable (text: string, lengthMax = 256): string {
  const cut = text.length > lengthMax ? text.slice(0, lengthMax) : text
  return UNPRINTABLE.test(cut) ? cut.replace(EACH_UNPRINTABLE, character => `\\u{${character.codePointAt(0)!.toString(16)}}`) : cut
}
