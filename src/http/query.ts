// Query strings, strictly: a parameter that the route does not declare, or that stands twice, is refused and never guessed at.
import { Refusal } from '../errors.ts'

const NOTHING: ReadonlyMap<string, string> = new Map()

/**
 * @param url the request target as it came
 * @throws Refusal MALFORMED_REQUEST
 */
export function readQuery (url: string, declared: ReadonlySet<string>): ReadonlyMap<string, string> {
  const from = url.indexOf('?')
  if (from === -1 || from === url.length - 1) return NOTHING
  const asked = new Map<string, string>()
  for (const pair of url.slice(from + 1).split('&')) {
    const equals = pair.indexOf('=')
    const name = decodePart(equals === -1 ? pair : pair.slice(0, equals))
    if (!declared.has(name)) throw Refusal.of('MALFORMED_REQUEST', { rule: 'unknown_parameter', hint: expected(declared) })
    if (asked.has(name)) throw Refusal.of('MALFORMED_REQUEST', { rule: 'repeated_parameter', hint: `The parameter ${name} stands twice.` })
    asked.set(name, equals === -1 ? '' : decodePart(pair.slice(equals + 1)))
  }
  return asked
}

const expected = (declared: ReadonlySet<string>): string =>
  declared.size === 0 ? 'This path takes no query.' : `This path takes ${[...declared].join(', ')}.`

function decodePart (text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw Refusal.of('MALFORMED_REQUEST', { rule: 'percent_encoding' })
  }
}

/** @returns the whole number, or `fallback` where the parameter is absent */
export function readCount (asked: ReadonlyMap<string, string>, name: string, fallback: number, max: number): number {
  const text = asked.get(name)
  if (text === undefined) return fallback
  const count = /^[1-9]\d{0,5}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > max) throw Refusal.of('MALFORMED_REQUEST', { rule: name, hint: `${name} is a whole number from 1 to ${max}.` })
  return count
}

/** @returns the word, or null where the parameter is absent */
export function readChoice (asked: ReadonlyMap<string, string>, name: string, choices: readonly string[]): string | null {
  const text = asked.get(name)
  if (text === undefined) return null
  if (!choices.includes(text)) throw Refusal.of('MALFORMED_REQUEST', { rule: name, hint: `${name} is one of ${choices.join(', ')}.` })
  return text
}

export const WAIT_MS_MAX = 60_000

/** `30s` or `500ms`. @returns milliseconds, 0 where the parameter is absent */
export function readWait (asked: ReadonlyMap<string, string>): number {
  const text = asked.get('wait')
  if (text === undefined) return 0
  const match = /^(\d{1,6})(ms|s)$/.exec(text)
  const waitMs = match === null ? Number.POSITIVE_INFINITY : Number(match[1]) * (match[2] === 's' ? 1_000 : 1)
  if (waitMs > WAIT_MS_MAX) throw Refusal.of('MALFORMED_REQUEST', { rule: 'wait', hint: 'wait is a duration of at most 60 s, such as 30s or 500ms.' })
  return waitMs
}
