// MCP by hand: what a client writes on the wire in each era, and what comes back, with nothing between that could forgive a fault.
import assert from 'node:assert/strict'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { JsonObject } from '../../src/catalog/catalog.ts'
import { ENVELOPE_OUTPUT_SCHEMA } from '../../src/tools/envelope-schema.ts'

export type Era = '2026-07-28' | '2025-11-25'
export const ERAS: readonly Era[] = ['2026-07-28', '2025-11-25']

export interface Spoken {
  readonly status: number
  readonly headers: Headers
  /** The JSON-RPC message of the answer; null where there is none. */
  readonly message: any
}

export interface SpeakOptions {
  readonly token?: string | null
  readonly era?: Era
  readonly headers?: Readonly<Record<string, string>>
  readonly meta?: JsonObject
  readonly signal?: AbortSignal
  /** Of the message; absent: one of its own. */
  readonly id?: number
  /** Of the client, where they are declared in each request. */
  readonly capabilities?: JsonObject
}

export interface CallOptions extends SpeakOptions {
  /** Beside the name and the arguments. */
  readonly params?: JsonObject
}

const OF_EVERY_POST = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

let lastId = 0

/** @param url of the agents listener */
export async function speak (url: string, method: string, params: JsonObject, options: SpeakOptions = {}): Promise<Spoken> {
  const { body, headers } = written(method, params, options)
  return post(url, body, headers, options.signal)
}

/** The request as it stands on the wire. */
export function written (method: string, params: JsonObject, options: SpeakOptions = {}): { readonly body: string, readonly headers: Readonly<Record<string, string>> } {
  const { era = '2026-07-28', token, meta = {}, capabilities = {}, id = ++lastId } = options
  const modern = era === '2026-07-28'
  const envelope = modern
    ? {
        'io.modelcontextprotocol/protocolVersion': era,
        'io.modelcontextprotocol/clientCapabilities': capabilities,
        'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      }
    : {}
  const all = { ...meta, ...envelope }
  const name = params['name']
  const message = { jsonrpc: '2.0', id, method, params: { ...params, ...(Object.keys(all).length === 0 ? {} : { _meta: all }) } }
  return {
    body: JSON.stringify(message),
    headers: {
      ...OF_EVERY_POST,
      ...(token === null || token === undefined ? {} : { authorization: `Bearer ${token}` }),
      'mcp-protocol-version': era,
      ...(modern ? { 'mcp-method': method } : {}),
      ...(modern && typeof name === 'string' ? { 'mcp-name': name } : {}),
      ...options.headers,
    },
  }
}

export async function post (url: string, body: string, headers: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<Spoken> {
  const answer = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { ...OF_EVERY_POST, ...headers },
    body,
    signal: signal ?? null,
  })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, message: messageOf(text, answer.headers.get('content-type') ?? '') }
}

function messageOf (text: string, type: string): unknown {
  if (text === '') return null
  if (!type.startsWith('text/event-stream')) return JSON.parse(text)
  const data = text.split('\n').filter(line => line.startsWith('data: ')).map(line => line.slice('data: '.length))
  return JSON.parse(data.at(-1)!)
}

/** A tool call, the result of which is as every result has to be. @returns the result of JSON-RPC, or throws the whole answer */
export async function callTool (url: string, token: string, name: string, args: JsonObject, options: CallOptions = {}): Promise<any> {
  const { params, ...rest } = options
  const said = await speak(url, 'tools/call', { name, arguments: args, ...params }, { ...rest, token })
  const result = said.message?.result
  if (result === undefined) throw Object.assign(new Error(JSON.stringify(said.message)), { said })
  requireGood(result)
  return result
}

/** A client that validates throws away what does not conform, after the action has run. */
const conforms = new Ajv2020().compile(ENVELOPE_OUTPUT_SCHEMA)

function requireGood (result: any): void {
  // It asks the client for something first.
  if (result.resultType === 'input_required') return
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent)
  assert.ok(conforms(result.structuredContent), JSON.stringify(conforms.errors))
  assert.equal(result.isError === true, result.structuredContent.outcome === 'rejected')
}
