// What a form of ours posts: urlencoded from a page, JSON from a terminal. Read strictly: a field that is not asked for, or stands twice, is refused.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isObject } from '../../catalog/catalog.ts'
import { Refusal } from '../../errors.ts'
import { readBody } from '../body.ts'
import { decodeJson } from '../decode.ts'
import { inviteBody } from '../node-server.ts'

const FORM_BYTES_MAX = 64 * 1024
const FIELDS_MAX = 32
const FORM_TYPE = /^application\/x-www-form-urlencoded(?:; ?charset=utf-8)?$/i

/** Sent where a form was submitted without one of its buttons. */
export const BY_ENTER = 'by_enter'

export type Fields = ReadonlyMap<string, string>

/** From a page; else from a terminal. */
export const isFormPost = (request: FastifyRequest): boolean => FORM_TYPE.test(request.headers['content-type'] ?? '')

/** @throws Refusal UNSUPPORTED_MEDIA_TYPE, TOO_LARGE or MALFORMED_REQUEST */
export async function readForm (request: FastifyRequest, reply: FastifyReply, known: readonly string[]): Promise<Fields> {
  const isForm = isFormPost(request)
  inviteBody(request.raw, reply.raw)
  const bytes = await readBody(request.raw, request.headers, { bytesMax: FORM_BYTES_MAX, ...(isForm ? { type: FORM_TYPE } : {}) })
  const pairs = isForm ? pairsOfForm(bytes) : pairsOfJson(bytes)
  if (pairs.length > FIELDS_MAX) throw malformed('too_many_fields')
  const fields = new Map<string, string>()
  for (const [name, value] of pairs) {
    if (name !== BY_ENTER && !known.includes(name)) throw malformed('unknown_field')
    if (fields.has(name)) throw malformed('repeated_field')
    if (!value.isWellFormed()) throw malformed('ill_formed_text')
    fields.set(name, value)
  }
  return fields
}

function pairsOfForm (bytes: Buffer): ReadonlyArray<readonly [string, string]> {
  const text = bytes.toString('latin1')
  // A browser escapes all else; URLSearchParams would turn what is no UTF-8 into U+FFFD without a word.
  if (!/^[\x21-\x7e]*$/.test(text)) throw malformed('form')
  if (text === '') return []
  return text.split('&').map(pair => {
    const equals = pair.indexOf('=')
    return equals === -1 ? [decodePart(pair), ''] : [decodePart(pair.slice(0, equals)), decodePart(pair.slice(equals + 1))]
  })
}

function decodePart (text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw malformed('percent_encoding')
  }
}

function pairsOfJson (bytes: Buffer): ReadonlyArray<readonly [string, string]> {
  const body = decodeJson(bytes)
  if (!isObject(body)) throw malformed('form')
  return Object.entries(body).flatMap(([name, value]) => {
    if (value === null) return []
    if (typeof value !== 'string') throw malformed('form')
    return [[name, value] as const]
  })
}

const malformed = (rule: string): Refusal => Refusal.of('MALFORMED_REQUEST', { rule })
