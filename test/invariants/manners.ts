// Everything that the works do with a write, honest or not: what happened in truth, what the broker may say of it at once, and what it must say is
// missing. Each manner is one way in which networks, gateways and upstreams really behave.
import type { Asked } from '../crash/works.ts'
import { whole } from '../support/hostile-modes.ts'
import { reset } from '../support/reset.ts'

export interface Manner {
  readonly name: string
  readonly act: (asked: Asked) => void
  /** Whether it took effect, when all is over. */
  readonly effect: boolean
  /** What can be said of it at once. */
  readonly first: 'completed' | 'rejected' | 'unknown' | 'pending'
  /** Of an unknown one: the evidence that is missing, in the words for operators. */
  readonly missing: RegExp | null
}

const JSON_TYPE = 'Content-Type: application/json'
const DONE = JSON.stringify({ id: 'work_1', key: 'told', item: 'told', amount: 7, state: 'done' })
/** How long after a lost answer an effect may still come: within the send window and the time-out, and after two look-ups. */
const LATE_MS = 1_800

const LOST = /no answer came back/
const CUT = /the answer, of status 20[01], was cut/
const UNREADABLE = /cannot be read/

type Act = Manner['act']

const applied = (act: Act): Act => asked => {
  asked.apply()
  act(asked)
}
const raw = (text: string | Buffer, end = false): Act => ({ socket }) => { socket.write(text, () => { if (end) socket.end() }) }
const status = (code: number, headers: readonly string[] = []): Act => ({ socket }) => { socket.write(whole(
  code,
  [JSON_TYPE, ...headers],
  '{"title":"said"}',
)) }
const head = (...lines: readonly string[]): string => `HTTP/1.1 201 Said\r\n${lines.join('\r\n')}\r\n\r\n`

const unknown = (name: string, act: Act, missing: RegExp): readonly Manner[] => [
  { name: `${name}, done`, act: applied(act), effect: true, first: 'unknown', missing },
  { name: `${name}, not done`, act, effect: false, first: 'unknown', missing },
]
const refused = (code: number, headers: readonly string[] = []): Manner =>
  ({ name: `${code}, not done`, act: status(code, headers), effect: false, first: 'rejected', missing: null })
/** Something between us and the upstream sent it twice, and we hear the answer to the second. */
const echoed = (code: number): Manner =>
  ({ name: `${code} to its own echo`, act: applied(status(code)), effect: true, first: 'completed', missing: null })

export const MANNERS: readonly Manner[] = [
  { name: 'honest', act: asked => asked.honest(), effect: true, first: 'completed', missing: null },
  { name: 'honest and slow', act: asked => setTimeout(asked.honest, 200), effect: true, first: 'completed', missing: null },
  {
    name: 'accepted',
    act: applied(asked => asked.answer(202, { id: 'job_1', key: 'told', item: 'told', amount: 7, state: 'queued' })),
    effect: true,
    first: 'pending',
    missing: null,
  },

  ...unknown('reset', ({ socket }) => reset(socket), LOST),
  ...unknown('ended', ({ socket }) => socket.end(), LOST),
  ...unknown('silence', () => {}, LOST),
  ...unknown('half a head', raw(`HTTP/1.1 201 Said\r\nContent-Ty`, true), LOST),
  ...unknown('no HTTP', raw('this is not HTTP at all\r\n\r\n'), LOST),
  ...unknown('status 101', raw('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'), LOST),
  {
    name: 'reset, done later',
    act: ({ socket, apply }) => { reset(socket); setTimeout(apply, LATE_MS) },
    effect: true,
    first: 'unknown',
    missing: LOST,
  },

  ...unknown('a body too short', raw(`${head(JSON_TYPE, 'Content-Length: 400')}${DONE}`, true), CUT),
  ...unknown('a chunked body cut', raw(`${head(JSON_TYPE, 'Transfer-Encoding: chunked')}8\r\n{"id":"w\r\n`, true), CUT),
  ...unknown('a body that stalls', raw(`${head(JSON_TYPE, 'Content-Length: 400')}${DONE}`), CUT),
  ...unknown('a body until the end, cut', raw(`${head(JSON_TYPE, 'Connection: close')}${DONE.slice(0, 20)}`, true), UNREADABLE),
  ...unknown('a page', raw(whole(201, ['Content-Type: text/html'], '<html><body>Please sign in</body></html>')), UNREADABLE),
  ...unknown('a page called JSON', raw(whole(201, [JSON_TYPE], '<html></html>')), UNREADABLE),
  ...unknown('an empty success', raw(whole(201, [JSON_TYPE], '')), UNREADABLE),
  ...unknown('a success in gzip', raw(whole(201, [JSON_TYPE, 'Content-Encoding: gzip'], DONE)), UNREADABLE),
  ...unknown('status 204', raw('HTTP/1.1 204 No Content\r\n\r\n'), /answered 204, and no rule of the sheet speaks/),
  ...unknown('status 999', raw(whole(999, [JSON_TYPE], DONE)), /status 999, was cut/),

  ...[301, 302, 303, 307].flatMap(code => unknown(
    `status ${code}`,
    status(code, ['Location: /v1/works']),
    new RegExp(`answered ${code}, which is never followed`),
  )),
  ...[408, 500, 502, 503, 504].flatMap(code => unknown(`status ${code}`, status(code), new RegExp(`answered ${code}, which does not say`))),

  ...[400, 403, 404, 405, 409, 410, 412, 413, 415, 422].map(code => refused(code)),
  refused(425),
  refused(429, ['Retry-After: 1']),
  ...[404, 409, 410, 412].map(echoed),
]

/** An item a manner, so that the ledger tells them apart. */
export const itemOf = (manner: Manner): string => manner.name.replaceAll(/[^a-z0-9]+/g, '-')

/** What the works do from now on: the first arrival of an item has its manner, later ones are served honestly. */
export function mannerly (): (asked: Asked) => void {
  const byItem = new Map(MANNERS.map(manner => [itemOf(manner), manner]))
  return asked => {
    const { item } = JSON.parse(asked.request.body) as { readonly item: string }
    const manner = byItem.get(item)
    byItem.delete(item)
    if (manner === undefined) asked.honest()
    else manner.act(asked)
  }
}

/** How many writes of this item arrived. */
export const arrivals = (writes: readonly { readonly body: string }[], item: string): number =>
  writes.filter(({ body }) => (JSON.parse(body) as { readonly item: string }).item === item).length
