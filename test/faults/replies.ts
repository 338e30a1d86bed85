// How the hostile upstream behaves towards a write: when it is done, and what is answered to it. A mode is both; which one a write meets depends on
// the seed, its errand and how often it came, and on nothing else.
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { whole } from '../support/hostile-modes.ts'
import { reset } from '../support/reset.ts'
import { draw } from './folder.ts'
import type { Said, Write } from './yard.ts'

/** Puts the answer, or what is left of it, on the wire; `honest` is what a good server would say. */
export type Reply = (socket: Socket, honest: Said) => void

export interface Mode {
  readonly name: string
  /**
   * `later`: after the answer, and after a look-up; `late`: after a second one; `job`: taken up now, done later; `failing`: taken up and never done.
   */
  readonly effect: 'now' | 'never' | 'later' | 'late' | 'job' | 'failing'
  readonly reply: Reply
  /** For writes alone that can be looked up under an id of their own. */
  readonly ownIdOnly?: true
  readonly worksOnly?: true
}

const JSON_TYPE = 'Content-Type: application/json'
const DRIP_MS = 50

const head = (status: number, ...lines: readonly string[]): string => `HTTP/1.1 ${status} Said\r\n${lines.map(line => `${line}\r\n`).join('')}\r\n`
const text = ({ body }: Said): string => JSON.stringify(body)
const honestly: Reply = (socket, said) => { socket.write(whole(said.status, [JSON_TYPE], text(said))) }
const say = (write: (said: Said) => string | Buffer): Reply => (socket, said) => { socket.write(write(said)) }
const sayAndEnd = (write: (said: Said) => string | Buffer): Reply => (socket, said) => { socket.end(write(said)) }
const status = (code: number, ...headers: readonly string[]): Reply => say(() => whole(code, [JSON_TYPE, ...headers], '{"title":"said"}'))
const okStatus = (said: Said): number => said.status < 300 ? said.status : 201
const longer = (said: Said): string => `Content-Length: ${Buffer.byteLength(text(said)) + 100}`

function drip (socket: Socket, said: Said): void {
  socket.write(head(okStatus(said), JSON_TYPE, 'Content-Length: 100000'))
  const timer = setInterval(() => {
    if (socket.writable) socket.write(' ')
    else clearInterval(timer)
  }, DRIP_MS)
  socket.on('close', () => clearInterval(timer))
}

/** Whatever came of the write, these answers do not tell. */
const LOSSES: Readonly<Record<string, Reply>> = {
  reset: socket => reset(socket),
  end: socket => { socket.end() },
  silence: () => {},
  'half a head': sayAndEnd(() => 'HTTP/1.1 201 Said\r\nContent-Ty'),
  'a head that stalls': say(() => 'HTTP/1.1 201 Said\r\nContent-Type: appl'),
  'a body that stalls': say(said => `${head(okStatus(said), JSON_TYPE, longer(said))}${text(said)}`),
  'a short body': sayAndEnd(said => `${head(okStatus(said), JSON_TYPE, longer(said))}${text(said)}`),
  'a short last body': sayAndEnd(said => `${head(okStatus(said), JSON_TYPE, longer(said), 'Connection: close')}${text(said)}`),
  'a chunked body, cut': sayAndEnd(said => `${head(okStatus(said), JSON_TYPE, 'Transfer-Encoding: chunked')}8\r\n${text(said).slice(0, 8)}\r\n`),
  'a body until the end, cut': sayAndEnd(said => `${head(okStatus(said), JSON_TYPE, 'Connection: close')}${text(said).slice(0, 20)}`),
  garbage: say(() => 'this is not HTTP at all\r\n\r\n'),
  'status 100': say(said => `HTTP/1.1 100 Continue\r\n\r\n${whole(said.status, [JSON_TYPE], text(said)).toString()}`),
  'status 101': say(() => 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'),
  'a large head': say(said => whole(okStatus(said), [JSON_TYPE, `X-Large: ${'x'.repeat(20_000)}`], text(said))),
  'a huge body': say(said => whole(okStatus(said), [JSON_TYPE], `"${'x'.repeat(3 << 20)}"`)),
  drip,
  'a page': say(said => whole(okStatus(said), ['Content-Type: text/html'], '<html><body>Please sign in</body></html>')),
  'a page called JSON': say(said => whole(okStatus(said), [JSON_TYPE], '<html></html>')),
  'an empty success': say(said => whole(okStatus(said), [JSON_TYPE], '')),
  gzip: say(said => whole(okStatus(said), [JSON_TYPE, 'Content-Encoding: gzip'], gzipSync(text(said)))),
  'status 204': say(() => 'HTTP/1.1 204 No Content\r\n\r\n'),
  'status 302': status(302, 'Location: /v1/works'),
  'status 303': status(303, 'Location: /v1/works'),
  'status 307': status(307, 'Location: /v1/works'),
  'status 408': status(408),
  'status 500': status(500),
  'status 502': status(502),
  'status 503': status(503, 'Retry-After: 1'),
  'status 504': status(504),
}

const WHOLE: Readonly<Record<string, Reply>> = {
  'slow and honest': (socket, said) => { setTimeout(honestly, 50 + draw('slow', text(said)) * 400, socket, said) },
  'status 103, then honest': say(said => `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${whole(said.status, [JSON_TYPE], text(said)).toString()}`),
  'honest, then ends': sayAndEnd(said => whole(said.status, [JSON_TYPE], text(said))),
  'honest, until the end': sayAndEnd(said => `${head(said.status, JSON_TYPE, 'Connection: close')}${text(said)}`),
}

const REFUSALS: readonly number[] = [400, 403, 404, 405, 409, 410, 413, 415, 422, 425, 429]
/** Said of a write that was done all the same, as by something in between that sent it twice and passed the second answer on. */
const LIES: readonly number[] = [404, 409, 410, 412]

export const HONEST: Mode = { name: 'honest', effect: 'now', reply: honestly }

export const MODES: readonly Mode[] = [
  ...Object.entries(LOSSES).flatMap(([name, reply]): readonly Mode[] => [
    { name: `${name}, done`, effect: 'now', reply },
    { name: `${name}, not done`, effect: 'never', reply },
  ]),
  ...['reset', 'silence', 'status 503'].map((name): Mode => ({ name: `${name}, done later`, effect: 'later', reply: LOSSES[name]! })),
  { name: 'reset, done late', effect: 'late', reply: LOSSES['reset']! },
  ...Object.entries(WHOLE).map(([name, reply]): Mode => ({ name, effect: 'now', reply })),
  ...REFUSALS.map((code): Mode => ({
    name: `status ${code}, not done`, effect: 'never', reply: status(code, ...code === 429 ? ['Retry-After: 1'] : []),
  })),
  ...LIES.flatMap((code): readonly Mode[] => [
    { name: `status ${code}, done`, effect: 'now', reply: status(code), ownIdOnly: true },
    { name: `status ${code}, done later`, effect: 'later', reply: status(code), ownIdOnly: true },
  ]),
  { name: 'taken up, done later', effect: 'job', reply: honestly, worksOnly: true },
  { name: 'taken up, fails later', effect: 'failing', reply: honestly, worksOnly: true },
  { name: 'taken up and reset, done later', effect: 'job', reply: LOSSES['reset']!, worksOnly: true },
  { name: 'taken up and reset, fails later', effect: 'failing', reply: LOSSES['reset']!, worksOnly: true },
]

export interface Behaviour {
  readonly seed: string
  /** Of all writes, from 0 to 1. */
  readonly faultShare: number
  /** Names of modes; null: all of them. */
  readonly only: readonly string[] | null
}

/** @param nth how often this errand arrived before */
export function modeOf (write: Write, nth: number, { seed, faultShare, only }: Behaviour): Mode {
  if (draw(seed, 'fault', write.errand, nth) >= faultShare) return HONEST
  const isWork = write.kind === 'work'
  const hasOwnId = isWork || write.kind === 'order'
  const fitting = MODES.filter(({ name, ownIdOnly, worksOnly }) =>
    (only === null || only.includes(name)) && (hasOwnId || ownIdOnly !== true) && (isWork || worksOnly !== true))
  return fitting[Math.floor(draw(seed, 'mode', write.errand, nth) * fitting.length)] ?? HONEST
}
