// An upstream that shows what it knows: the credentials of its caller, in every place of an answer and in every writing that it can think of. The
// path says which: /mirror/{place}.{writing}.
import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import { whole } from '../support/hostile-modes.ts'
import { startHostileUpstream, type HostileUpstream } from '../support/hostile-upstream.ts'

/** With letters that JSON, HTML and URLs write otherwise; and one that none of them does. */
export const READ_KEY = 'cnryR3ad/Key+7%&<q\'w"e=='
export const WRITE_KEY = 'cnryWr1teKey0123456789abcdef'
export const WRITE_USER = 'mirror-user'

const base64At = (offset: number) => (secret: string): string => Buffer.concat([
  Buffer.alloc(offset, 'x'),
  Buffer.from(secret),
  Buffer.from('yz'),
]).toString('base64')
const each = (secret: string, write: (byte: number) => string): string => [...Buffer.from(secret)].map(write).join('')
const hex = (byte: number): string => byte.toString(16).padStart(2, '0')

export const WRITINGS: { readonly [name: string]: (secret: string) => string } = {
  plain: secret => secret,
  base64: base64At(0),
  base64one: base64At(1),
  base64two: base64At(2),
  base64url: secret => Buffer.from(secret).toString('base64url'),
  hex: secret => Buffer.from(secret).toString('hex'),
  HEX: secret => Buffer.from(secret).toString('hex').toUpperCase(),
  percent: secret => each(secret, byte => `%${hex(byte)}`),
  PERCENT: secret => each(secret, byte => `%${hex(byte).toUpperCase()}`),
  uri: secret => encodeURIComponent(secret),
  percenttwice: secret => encodeURIComponent(encodeURIComponent(secret)),
  units: secret => each(secret, byte => `\\u00${hex(byte)}`),
  json: secret => JSON.stringify(secret).slice(1, -1),
  jsontwice: secret => JSON.stringify(JSON.stringify(secret)).slice(1, -1),
  entities: secret => each(secret, byte => `&#${byte};`),
  hexentities: secret => each(secret, byte => `&#x${hex(byte)};`),
  html: secret => secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;').replaceAll('\'', '&#39;'),
}

const JSON_TYPE = 'Content-Type: application/json'
/** A JSON answer in which `said` stands as it is: `units` becomes the secret only when it is parsed. */
const body = (member: string, said: string): string => {
  const text = said.includes('\\u00') ? said : JSON.stringify(said).slice(1, -1)
  return `{"id":"one",${member === 'said' ? '' : '"said":"ok",'}"${member}":"${text}"}`
}
const chunked = (status: number): string => `HTTP/1.1 ${status} Said\r\n${JSON_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n`
const inHeader = (said: string): string => said.replaceAll(/[^\x20-\x7e]/g, '')

type Show = (status: number, said: string) => string | Buffer

export const PLACES: { readonly [name: string]: Show } = {
  body: (status, said) => whole(status, [JSON_TYPE], body('said', said)),
  hidden: (status, said) => whole(status, [JSON_TYPE], body('hidden', said)),
  name: (status, said) => whole(status, [JSON_TYPE], `{"id":"one","said":"ok",${JSON.stringify(said)}:1}`),
  header: (status, said) => whole(status, [JSON_TYPE, `X-Said: ${inHeader(said)}`], '{"id":"one","said":"ok"}'),
  cookie: (status, said) => whole(
    status,
    [JSON_TYPE, `Set-Cookie: key=${inHeader(said)}`, `WWW-Authenticate: Bearer token="${inHeader(said)}"`],
    '{"id":"one","said":"ok"}',
  ),
  type: (status, said) => whole(status, [`Content-Type: application/json; note="${inHeader(said).replaceAll('"', '')}"`], '{"id":"one","said":"ok"}'),
  reason: (status, said) => `HTTP/1.1 ${status} ${inHeader(said)}\r\n${JSON_TYPE}\r\nContent-Length: 24\r\n\r\n{"id":"one","said":"ok"}`,
  redirect: (_status, said) => whole(302, [`Location: /elsewhere?key=${inHeader(said)}`], body('said', said)),
  refusal: (_status, said) => whole(403, [JSON_TYPE], body('said', said)),
  fault: (_status, said) => whole(422, [JSON_TYPE, `X-Said: ${inHeader(said)}`], body('said', said)),
  page: (status, said) => whole(status, ['Content-Type: text/html'], `<html>${said}</html>`),
  cut: (status, said) => `HTTP/1.1 ${status} Said\r\n${JSON_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n${body('said', said)}`,
  noHttp: (_status, said) => `${said}\r\n\r\n`,
  trailer: (status, said) => `${chunked(status)}18\r\n{"id":"one","said":"ok"}\r\n0\r\nX-Late: ${inHeader(said)}\r\n\r\n`,
}

/** Breaks the connection after what it said. */
const ENDING = new Set(['cut', 'noHttp', 'reason'])

export async function startMirror (): Promise<HostileUpstream> {
  const upstream = await startHostileUpstream()
  upstream.mode('mirror', (socket: Socket, request) => {
    const [place = '', writing = ''] = (/^\/mirror\/([^?]*)/.exec(request.path)?.[1] ?? '').split('.')
    const write = WRITINGS[writing]
    const said = write === undefined ? 'nothing to hide' : `${write(READ_KEY)} and ${write(WRITE_KEY)}`
    const status = request.method === 'GET' ? 200 : place.startsWith('pending') ? 202 : 201
    socket.write((PLACES[place] ?? PLACES['body']!)(status, said))
    if (ENDING.has(place)) socket.end()
  })
  return upstream
}

/** Whatever in these texts would tell a secret to who reads it. */
export function tellingForms (): ReadonlyMap<string, string> {
  const forms = new Map<string, string>()
  for (const [name, secret] of [['read', READ_KEY], ['write', WRITE_KEY]] as const) {
    for (const [writing, write] of Object.entries(WRITINGS)) forms.set(`${name} as ${writing}`, inner(writing, write(secret)))
  }
  forms.set('pair', Buffer.from(`${WRITE_USER}:${WRITE_KEY}`).toString('base64').slice(0, -4))
  forms.set('digest of read', createHash('sha256').update(READ_KEY).digest('hex'))
  return forms
}

/** The first and last letters of base64 depend on what stands around. */
const inner = (writing: string, text: string): string => writing.startsWith('base64') ? text.slice(4, -8) : text

export const MIRROR_FILES = (port: number): { readonly [path: string]: string } => ({
  'openapi/mirror.yaml': `
openapi: 3.1.0
info: {title: Mirror, version: "1"}
paths:
  /mirror/{form}:
    parameters: [{name: form, in: path, required: true, schema: {type: string}}]
    get:
      operationId: look
      responses:
        "200": {description: What it says, content: {application/json: {schema: {$ref: "#/components/schemas/Said"}}}}
    post:
      operationId: act
      parameters: [{name: Idempotency-Key, in: header, schema: {type: string}}]
      responses:
        "201": {description: What it says, content: {application/json: {schema: {$ref: "#/components/schemas/Said"}}}}
        "202": {description: What it says, content: {application/json: {schema: {$ref: "#/components/schemas/Said"}}}}
components:
  schemas:
    Said: {type: object, required: [id], properties: {id: {type: string}, said: {type: string}}}
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Mirror-Key}
`,
  'actions/policy.yaml': 'roles: {looker: [look.v1, look_header.v1, act.v1, follow.v1]}\n',
  'actions/mirror/upstream.yaml': `
upstream: mirror
openapi: mirror.yaml
server: http://127.0.0.1:${port}
networks: [loopback]
credentials:
  read: {scheme: key, secret: "env:MIRROR_READ"}
  write: {scheme: basic, username: ${WRITE_USER}, secret: "env:MIRROR_WRITE"}
timeouts: {connect: 1s, total: 2s}
`,
  'actions/mirror/look.v1.yaml': sheet('look', 'observation', `
operation: look
retry: safe
request: {path: {form: "\${args.form}"}}
`),
  'actions/mirror/look_header.v1.yaml': sheet('look_header', 'observation', `
operation: look
retry: safe
request: {path: {form: "\${args.form}"}}
`, '"${response.headers[\'x-said\']}"'),
  'actions/mirror/act.v1.yaml': sheet('act', 'reversible_change', `
operation: act
retry: same_key
request: {path: {form: "\${args.form}"}}
idempotency: {header: Idempotency-Key, retention: 24h}
outcomes:
  - {when: response.status == 202, outcome: pending, reference: "\${response.body.said}"}
  - {when: response.status == 201, outcome: completed}
lookup:
  operation: look
  path: {form: "\${args.form}"}
  outcomes:
    - {when: "response.status == 200 && attempt.key != ''", outcome: completed, result: {said: "\${response.body.said}"}}
`),
  'actions/mirror/follow.v1.yaml': sheet('follow', 'reversible_change', `
operation: act
retry: never
reads:
  first: {operation: look, path: {form: "\${args.form}"}}
values: {said: "\${reads.first.body.said}"}
checks:
  - {require: "values.said != 'nothing'", error: NOTHING_SAID, message: Nothing was said., retryable: false}
target: {type: word, id: "\${reads.first.body.said}"}
request: {path: {form: "\${args.form}"}}
lookup: none
`),
})

function sheet (name: string, effect: string, rest: string, said = '"${response.body.said}"'): string {
  return `
action: ${name}
version: 1
upstream: mirror
title: What the mirror says
description: Asks the mirror. Use this when you want to know what it says.
effect: ${effect}
consent: none
input:
  type: object
  additionalProperties: false
  required: [form]
  properties: {form: {type: string, maxLength: 60}}
result:
  schema: {type: object, additionalProperties: false, required: [said], properties: {said: {type: string}}}
  view: {said: ${said}}
limits: {timeout: 1s}
${rest}`
}
