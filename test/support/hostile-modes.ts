// The ways in which the hostile upstream answers, by name. `whole` answers are honest HTTP; the others are what networks, gateways and bad servers
// do.
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { reset } from './reset.ts'
import type { LedgerEntry } from './hostile-upstream.ts'

export type Mode = (socket: Socket, request: LedgerEntry) => void

const BODY = '{"ok":true,"id":"one"}'

/** An honest answer with a Content-Length. */
export function whole (status: number, headers: readonly string[], body: string | Buffer): Buffer {
  const bytes = Buffer.from(body)
  const lines = [`HTTP/1.1 ${status} Said`, ...headers, `Content-Length: ${bytes.length}`]
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes])
}

const JSON_TYPE = 'Content-Type: application/json'
const head = (...lines: string[]): string => `HTTP/1.1 200 OK\r\n${lines.map(line => `${line}\r\n`).join('')}\r\n`
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

/** `/status/418`, `/echoed/some text`: what stands after the mode. */
const after = (request: LedgerEntry): string => decodeURIComponent(request.path.split('/').slice(2).join('/').replace(/\?.*$/, ''))

const write = (text: string | Buffer): Mode => socket => { socket.write(text) }
const writeAndEnd = (text: string | Buffer): Mode => socket => { socket.end(text) }

function every (ms: number, socket: Socket, step: () => void): void {
  const timer = setInterval(() => {
    if (socket.writable) step()
    else clearInterval(timer)
  }, ms)
  socket.on('close', () => clearInterval(timer))
}

export const hostileModes: { readonly [name: string]: Mode } = {
  ok: write(whole(200, [JSON_TYPE], BODY)),
  status: (socket, request) => { socket.write(whole(Number(after(request)), [JSON_TYPE], BODY)) },
  'no-content': write('HTTP/1.1 204 No Content\r\n\r\n'),
  echo: (socket, request) => { socket.write(whole(200, [JSON_TYPE], JSON.stringify(request))) },
  chunked: write(`${head(JSON_TYPE, 'Transfer-Encoding: chunked', 'Trailer: X-Late')}${chunk('{"ok":')}${chunk('true}')}0\r\nX-Late: told\r\n\r\n`),
  'many-chunks': write(`${head(JSON_TYPE, 'Transfer-Encoding: chunked')}${chunk('[')}${chunk('1,').repeat(5_000)}${chunk('1]')}0\r\n\r\n`),

  // The connection breaks.
  'end-after': socket => { socket.end() },
  'reset-after': reset,
  'reset-when-reused': (socket, request) => {
    if (request.onConnection === 1) socket.write(whole(200, [JSON_TYPE], BODY))
    else reset(socket)
  },
  'partial-head-reset': socket => { socket.write('HTTP/1.1 200 OK\r\nContent-Ty', () => setTimeout(reset, 20, socket)) },
  'short-length': writeAndEnd(`${head(JSON_TYPE, 'Content-Length: 100')}{"ok":tr`),
  'short-length-close': writeAndEnd(`${head(JSON_TYPE, 'Content-Length: 100', 'Connection: close')}{"ok":tr`),
  'chunked-cut': writeAndEnd(`${head(JSON_TYPE, 'Transfer-Encoding: chunked')}${chunk('{"ok":')}`),
  'body-reset': socket => { socket.write(`${head(JSON_TYPE, 'Content-Length: 100')}{"ok":tr`, () => setTimeout(reset, 20, socket)) },
  'until-close': writeAndEnd(`${head(JSON_TYPE, 'Connection: close')}${BODY}`),
  'until-close-cut': writeAndEnd(`${head(JSON_TYPE, 'Connection: close')}${BODY.slice(0, 7)}`),

  // The answer does not come, or does not end.
  silent: () => {},
  'partial-head': write('HTTP/1.1 200 OK\r\nContent-Type: appl'),
  'body-stalls': write(`${head(JSON_TYPE, 'Content-Length: 100')}{"ok":tr`),
  drip: socket => {
    socket.write(head(JSON_TYPE, 'Content-Length: 100000'))
    every(20, socket, () => socket.write('1'))
  },
  'endless-chunks': socket => {
    socket.write(head(JSON_TYPE, 'Transfer-Encoding: chunked'))
    every(1, socket, () => socket.write(chunk('1'.repeat(64 * 1024))))
  },
  'endless-interim': socket => { every(5, socket, () => socket.write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n')) },
  slow: (socket, request) => { setTimeout(() => socket.write(whole(200, [JSON_TYPE], BODY)), Number(after(request))) },

  // The answer is not HTTP, or more than anyone should take.
  garbage: write('this is not HTTP at all\r\n\r\n'),
  continue: write(`HTTP/1.1 100 Continue\r\n\r\n${whole(200, [JSON_TYPE], BODY).toString()}`),
  'early-hints': write(`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${whole(200, [JSON_TYPE], BODY).toString()}`),
  'switching-protocols': write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'),
  'large-head': write(whole(200, [JSON_TYPE, `X-Large: ${'x'.repeat(20_000)}`], BODY)),
  'many-headers': write(whole(200, [JSON_TYPE, ...Array.from({ length: 500 }, (_, at) => `X-H${at}: 1`)], BODY)),
  'same-header-often': write(whole(200, [JSON_TYPE, ...Array.from({ length: 500 }, () => 'X-H: 1')], BODY)),
  large: write(whole(200, [JSON_TYPE], `"${'x'.repeat(3 << 20)}"`)),
  'two-lengths': write(`${head(JSON_TYPE, 'Content-Length: 22', 'Content-Length: 2')}${BODY}`),
  'length-and-chunked': write(`${head(JSON_TYPE, 'Content-Length: 22', 'Transfer-Encoding: chunked')}${chunk(BODY)}0\r\n\r\n`),
  'bare-line-feeds': write(`HTTP/1.1 200 OK\n${JSON_TYPE}\nContent-Length: 22\n\n${BODY}`),

  // The answer is HTTP, and says what must not be believed or shown.
  redirect: (socket, request) => { socket.write(whole(Number(after(request) || 302), ['Location: http://169.254.169.254/latest/meta-data'], '')) },
  gzip: write(whole(200, [JSON_TYPE, 'Content-Encoding: gzip'], gzipSync(BODY))),
  'html-around-json': write(whole(200, ['Content-Type: text/html'], BODY)),
  'json-around-html': write(whole(200, [JSON_TYPE], '<html><body>no</body></html>')),
  'telling-headers': write(whole(200, [JSON_TYPE, 'Set-Cookie: a=1', 'Set-Cookie: b=2', 'Location: /else', 'WWW-Authenticate: Bearer a="b"'], BODY)),
  'says-error': write(whole(200, [JSON_TYPE], '{"error":"nothing was done"}')),
  'early-refusal': socket => { socket.end(whole(413, [JSON_TYPE, 'Connection: close'], '{"error":"too large"}')) },
}
