// Text that others wrote, made safe for a line: whatever a terminal or a log viewer could take for something else is written as an escape.

/** C0 and C1 controls, soft hyphen, zero-width and bidirectional marks, line and paragraph separator, byte order mark, tags, lone surrogates. */
const UNSAFE = new RegExp([
  '[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]',
  '[\\ud800-\\udbff](?![\\udc00-\\udfff])',
  '(?<![\\ud800-\\udbff])[\\udc00-\\udfff]',
].join('|'), 'g')

/** Already JSON, one line of it: what JSON.stringify lets through raw is escaped in JSON's own way, so that the value stays the same. */
export function escapeLine (json: string): string {
  return json.replace(UNSAFE, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Anything but printable ASCII, and the backslash that would begin an escape. */
const UNPRINTABLE = /[^\x20-\x5b\x5d-\x7e]/u
const EACH_UNPRINTABLE = new RegExp(UNPRINTABLE, 'gu')

/** Printable ASCII that shows what was meant, cut to `lengthMax`: for lines whose bytes are hashed and compared. */
export function printable (text: string, lengthMax = 256): string {
  const cut = text.length > lengthMax ? text.slice(0, lengthMax) : text
  return UNPRINTABLE.test(cut) ? cut.replace(EACH_UNPRINTABLE, character => `\\u{${character.codePointAt(0)!.toString(16)}}`) : cut
}
