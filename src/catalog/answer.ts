// From the bytes of an upstream to an answer, or to the reason why they are none. Pure; whatever the bytes are, it does not throw.
import { createHash } from 'node:crypto'
import type { Answer, Json } from './catalog.ts'
import { contentFor, responseFor, type Operation } from './openapi/operation.ts'
import { isJson } from './variables.ts'

export interface RawReply {
  readonly status: number
  /** Lower-case names. */
  readonly headers: { readonly [name: string]: string }
  readonly body: Buffer
  /** false: nothing but the end of the connection says that the body is whole. */
  readonly delimited?: false
}

export type InvalidAnswer = 'unparsable' | 'media_type' | 'status' | 'headers' | 'encoded' | 'empty' | 'undelimited'

export type ReadAnswer =
  | { readonly kind: 'ok', readonly answer: Answer }
  | { readonly kind: 'invalid', readonly why: InvalidAnswer }

const HEADERS_MAX = 100
export const DEPTH_MAX = 64

/**
 * A success has to be of a media type that the operation declares for its status. The body of anything else may be of any kind: JSON where it can be
 * read, otherwise its type, size and digest.
 */
export function readAnswer (operation: Operation, reply: RawReply): ReadAnswer {
  const { status, headers, body } = reply
  if (!Number.isInteger(status) || status < 100 || status > 599) return invalid('status')
  if (Object.keys(headers).length > HEADERS_MAX) return invalid('headers')
  const encoding = headers['content-encoding']?.trim().toLowerCase()
  // Accept-Encoding: identity was sent; what is encoded all the same is not opened.
  if (encoding !== undefined && encoding !== '' && encoding !== 'identity') return invalid('encoded')
  const success = status >= 200 && status <= 299
  const ok = (content: Json): ReadAnswer => ({ kind: 'ok', answer: { status, headers, body: content } })
  // RFC 9110 §15.3.5, §15.3.6, §15.4.5: these have no content.
  if (status === 204 || status === 205 || status === 304) return body.length === 0 ? ok(null) : invalid('status')
  const declared = responseFor(operation, status)
  // RFC 9112 §6.3 calls a body that the connection ended complete; a cut one looks the same. A JSON object or list that closes is whole, nothing else is.
  if (success && reply.delimited === false && !isClosed(body)) return invalid('undelimited')
  if (body.length === 0) return success && operation.method !== 'HEAD' && (declared?.content.size ?? 0) > 0 ? invalid('empty') : ok(null)
  const type = mediaTypeOf(headers['content-type'])
  if (success && !isExpected(type, declared)) return invalid('media_type')
  if (type !== null && isJson(type.name)) {
    const parsed = type.utf8 ? parseJson(body) : undefined
    if (parsed !== undefined) return ok(parsed.value)
    if (success) return invalid('unparsable')
  }
  return ok({ type: type?.name ?? '', size: body.length, sha256: createHash('sha256').update(body).digest('hex') })
}

/** Whether it ends as a JSON object or list does; that it is one is found out when it is parsed. */
const isClosed = (body: Buffer): boolean => /^\s*[{[][^]*[}\]]\s*$/.test(body.toString('latin1'))

const invalid = (why: InvalidAnswer): ReadAnswer => ({ kind: 'invalid', why })

interface MediaType {
  /** In lower case, without parameters. */
  readonly name: string
  readonly utf8: boolean
}

/** RFC 9110 §8.3.1. null where there is none or it is no media type. */
function mediaTypeOf (header: string | undefined): MediaType | null {
  if (header === undefined) return null
  let type = mediaTypes.get(header)
  if (type === undefined) {
    type = parseMediaType(header)
    if (mediaTypes.size >= MEDIA_TYPES_MAX) mediaTypes.clear()
    mediaTypes.set(header, type)
  }
  return type
}

/** Upstreams say few of them, again and again. */
const mediaTypes = new Map<string, MediaType | null>()
const MEDIA_TYPES_MAX = 200

function parseMediaType (header: string): MediaType | null {
  const parts = /^\s*([a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+)\s*(?:;(.*))?$/i.exec(header)
  if (parts === null) return null
  const charset = /(?:^|;)\s*charset\s*=\s*"?([^";\s]+)/i.exec(parts[2] ?? '')?.[1]?.toLowerCase()
  // RFC 8259 §8.1 knows one encoding; ASCII is part of it.
  return { name: parts[1]!.toLowerCase(), utf8: charset === undefined || charset === 'utf-8' || charset === 'utf8' || charset === 'us-ascii' }
}

/** Where the document does not say what comes back, JSON is taken; anything else, a sign-in page say, is not what a success looks like. */
function isExpected (type: MediaType | null, declared: ReturnType<typeof responseFor>): boolean {
  if (type === null) return false
  if (declared === undefined || declared.content.size === 0) return isJson(type.name)
  return contentFor(declared, type.name) !== undefined
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

function parseJson (body: Buffer): { readonly value: Json } | undefined {
  if (isTooDeep(body)) return undefined
  try {
    const text = UTF8.decode(body)
    const value = JSON.parse(text) as Json
    // Bytes that are UTF-8 can still spell half a surrogate pair with an escape.
    if (/\\u[dD][89a-fA-F]/.test(text) && !isWellFormed(value)) return undefined
    return { value }
  } catch {
    return undefined
  }
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d]

/** JSON.parse takes a million levels; whatever walks through them afterwards does not. */
function isTooDeep (body: Buffer): boolean {
  return opensMoreThan(DEPTH_MAX, body) && goesDeeperThan(DEPTH_MAX, body)
}

/** Nothing is deeper than it has brackets; most bodies have few, and the search for them is native. */
function opensMoreThan (max: number, body: Buffer): boolean {
  let left = max
  for (const bracket of [OPEN_LIST, OPEN_OBJECT]) {
    for (let at = body.indexOf(bracket); at !== -1; at = body.indexOf(bracket, at + 1)) {
      if (left-- === 0) return true
    }
  }
  return false
}

function goesDeeperThan (max: number, body: Buffer): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]!
    if (inString) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) inString = true
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      if (++depth > max) return true
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
  }
  return false
}

function isWellFormed (value: Json): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([name, part]) => name.isWellFormed() && isWellFormed(part as Json))
}
