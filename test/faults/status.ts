// How the hostile upstream answers who asks what became of a write. It may be down, or say what is no answer at all; it never denies in the form of
// its document what it would have to know by then, for nobody could see through that.
import { whole } from '../support/hostile-modes.ts'
import { reset } from '../support/reset.ts'
import type { JsonObject } from '../../src/catalog/catalog.ts'
import type { Reply } from './replies.ts'

const JSON_TYPE = 'Content-Type: application/json'
const json = (code: number, body: JsonObject | string, ...headers: readonly string[]): Buffer =>
  whole(code, [JSON_TYPE, ...headers], typeof body === 'string' ? body : JSON.stringify(body))
const say = (bytes: Buffer | string, end = false): Reply => socket => { if (end) socket.end(bytes); else socket.write(bytes) }

export const DOWN: Readonly<Record<string, Reply>> = {
  reset: socket => reset(socket),
  end: socket => { socket.end() },
  silence: () => {},
  'status 503': say(json(503, { title: 'down' })),
  'status 500': say(json(500, { title: 'down' })),
  'status 429': say(json(429, { title: 'later' }, 'Retry-After: 1')),
  'status 403': say(json(403, { title: 'no' })),
}

export const LYING: Readonly<Record<string, Reply>> = {
  'a 404 of a gateway': say(whole(404, ['Content-Type: text/html'], '<html><body>404</body></html>')),
  'a 404': say(json(404, { title: 'not found' })),
  'an empty 200': say(json(200, '')),
  'a 200 without its list': say(json(200, {})),
  'a page': say(whole(200, ['Content-Type: text/html'], '<html><body>Please sign in</body></html>')),
  'status 204': say('HTTP/1.1 204 No Content\r\n\r\n'),
  'a list, cut': say(`HTTP/1.1 200 OK\r\n${JSON_TYPE}\r\nContent-Length: 400\r\n\r\n{"items":[`, true),
  'a list until the end, cut': say(`HTTP/1.1 200 OK\r\n${JSON_TYPE}\r\nConnection: close\r\n\r\n{"items":[`, true),
  'something else': (socket, { body }) => {
    const items = Array.isArray(body['items']) ? body['items'] as readonly JsonObject[] : []
    const others = items.map(item => ({ ...item, amount: 1_001, item: 'of somebody else' }))
    socket.write(json(200, 'items' in body ? { items: others } : { ...body, version: 'two' }))
  },
}
