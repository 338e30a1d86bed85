// A request as a mock reads it.
import type { IncomingMessage } from 'node:http'
import type { Json } from '../../catalog/catalog.ts'
import { bareMediaType } from '../../catalog/openapi/reader.ts'
import { isJson } from '../../catalog/variables.ts'

const BODY_BYTES_MAX = 4 * 1024 * 1024

export interface MockRequest {
  readonly method: string
  /** Without the query, as it was sent. */
  readonly path: string
  /** Decoded values of the operation's path, by name. */
  readonly pathValues: { readonly [name: string]: string }
  readonly query: { readonly [name: string]: string | readonly string[] }
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string }
  /** null: no body. */
  readonly mediaType: string | null
  /** JSON, or text of another kind; undefined where JSON was said and is not there. */
  readonly body: Json | undefined
}

/** null where it is too large to be read. */
export async function readRequest (incoming: IncomingMessage): Promise<MockRequest | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > BODY_BYTES_MAX) return null
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString('utf8')
  const target = incoming.url ?? '/'
  const at = target.indexOf('?')
  const mediaType = text === '' ? null : bareMediaType(incoming.headers['content-type'] ?? '') ?? 'application/octet-stream'
  return {
    method: incoming.method ?? 'GET',
    path: at === -1 ? target : target.slice(0, at),
    pathValues: {},
    query: queryOf(at === -1 ? '' : target.slice(at + 1)),
    headers: Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')])),
    mediaType,
    body: mediaType === null ? null : isJson(mediaType) ? parsed(text) : text,
  }
}

function queryOf (text: string): MockRequest['query'] {
  const params = new URLSearchParams(text)
  return Object.fromEntries([...new Set(params.keys())].map(name => {
    const values = params.getAll(name)
    return [name, values.length === 1 ? values[0]! : values]
  }))
}

function parsed (text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
