// One action a slot: each puts the agent's word into one place of a request, and only there.
import type { LedgerEntry } from '../support/hostile-upstream.ts'

export interface Slot {
  readonly method: string
  readonly path: string
  /** The word as the upstream reads it, or null where it is not there. */
  readonly at: (request: LedgerEntry) => string | null
  /** Of the operation and of the sheet. */
  readonly parameters: string
  readonly requestBody?: string
  readonly request: string
}

const decoded = (text: string | undefined): string | null => {
  try {
    return text === undefined ? null : decodeURIComponent(text)
  } catch {
    return null
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const WORD = 'schema: {type: string}'
const TWO_WORDS = '{schema: {type: object, properties: {word: {type: string}, fixed: {type: string}}}}'

export const SLOTS: { readonly [name: string]: Slot } = {
  path: {
    method: 'GET',
    path: '/slots/by/{word}/end',
    at: request => decoded(request.path.split('/')[3]),
    parameters: `[{name: word, in: path, required: true, ${WORD}}]`,
    request: '{path: {word: "${args.word}"}}',
  },
  query: {
    method: 'GET',
    path: '/slots/query',
    at: request => decoded(/[?&]word=([^&]*)/.exec(request.path)?.[1]),
    parameters: `[{name: word, in: query, ${WORD}}, {name: fixed, in: query, ${WORD}}]`,
    request: '{query: {word: "${args.word}", fixed: "1"}}',
  },
  header: {
    method: 'GET',
    path: '/slots/header',
    at: request => request.headers['x-slot'] ?? null,
    parameters: `[{name: X-Slot, in: header, ${WORD}}]`,
    request: '{headers: {X-Slot: "${args.word}"}}',
  },
  cookie: {
    method: 'GET',
    path: '/slots/cookie',
    at: request => decoded(/^word=([^;]*)$/.exec(request.headers['cookie'] ?? '')?.[1]),
    parameters: `[{name: word, in: cookie, ${WORD}}]`,
    request: '{cookies: {word: "${args.word}"}}',
  },
  body: {
    method: 'POST',
    path: '/slots/body',
    at: request => {
      const body = parsed(request.body) as { readonly [name: string]: string } | null
      return body !== null && Object.keys(body).sort().join() === 'fixed,word' && body['fixed'] === '1' ? body['word']! : null
    },
    parameters: `[{name: Idempotency-Key, in: header, ${WORD}}]`,
    requestBody: `{required: true, content: {application/json: ${TWO_WORDS}}}`,
    request: '{body: {word: "${args.word}", fixed: "1"}}',
  },
  form: {
    method: 'POST',
    path: '/slots/form',
    at: request => {
      const fields = [...new URLSearchParams(request.body)]
      if (fields.length !== 2 || !fields.some(([name, value]) => name === 'fixed' && value === '1')) return null
      return fields.find(([name]) => name === 'word')?.[1] ?? null
    },
    parameters: `[{name: Idempotency-Key, in: header, ${WORD}}]`,
    requestBody: `{required: true, content: {application/x-www-form-urlencoded: ${TWO_WORDS}}}`,
    request: '{body: {word: "${args.word}", fixed: "1"}}',
  },
  list: {
    method: 'GET',
    path: '/slots/list',
    at: request => decoded(/\?words=([^&]*)&words=last$/.exec(request.path)?.[1]),
    parameters: '[{name: words, in: query, schema: {type: array, items: {type: string}}}]',
    request: '{query: {words: ["${args.word}", last]}}',
  },
  object: {
    method: 'GET',
    path: '/slots/object',
    at: request => decoded(/\?filter%5Bword%5D=([^&]*)&filter%5Bfixed%5D=1$/.exec(request.path)?.[1]),
    parameters: `[{name: filter, in: query, style: deepObject, explode: true, ${TWO_WORDS.slice(1, -1)}}]`,
    request: '{query: {filter: {word: "${args.word}", fixed: "1"}}}',
  },
}

const isWrite = ({ method }: Slot): boolean => method !== 'GET'

export const SLOT_FILES = (port: number): { readonly [path: string]: string } => ({
  'openapi/slots.yaml': `
openapi: 3.1.0
info: {title: Slots, version: "1"}
paths:
${Object.entries(SLOTS).map(([name, slot]) => `
  ${slot.path}:
    ${slot.method.toLowerCase()}:
      operationId: ${name}
      parameters: ${slot.parameters}${slot.requestBody === undefined ? '' : `
      requestBody: ${slot.requestBody}`}
      responses: {"200": {description: Done, content: {application/json: {schema: {type: object, properties: {ok: {type: boolean}}}}}}}`).join('\n')}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Slots-Key}
`,
  'actions/policy.yaml': `roles: {filler: [${Object.keys(SLOTS).map(name => `fill_${name}.v1`).join(', ')}]}\n`,
  'actions/slots/upstream.yaml': `
upstream: slots
openapi: slots.yaml
server: http://127.0.0.1:${port}
networks: [loopback]
headers: {X-Fixed: fixed}
credential: {scheme: key, secret: "env:SLOTS_KEY"}
timeouts: {connect: 1s, total: 2s}
`,
  ...Object.fromEntries(Object.entries(SLOTS).map(([name, slot]) => [`actions/slots/fill_${name}.v1.yaml`, `
action: fill_${name}
version: 1
upstream: slots
operation: ${name}
title: Put a word into the ${name}
description: Puts a word into one place of a request.
effect: ${isWrite(slot) ? 'reversible_change' : 'observation'}
consent: none
retry: ${isWrite(slot) ? 'same_key' : 'safe'}
input:
  type: object
  additionalProperties: false
  required: [word]
  properties: {word: {type: string, maxLength: 2000}}
request: ${slot.request}
${isWrite(slot) ? 'idempotency: {header: Idempotency-Key, retention: 24h}\nlookup: none' : ''}
`])),
})
