// MCP by hand: what a client writes on the wire in each era, and what comes back, with nothing between that could forgive a fault.
import type { JsonObject } from '../../src/catalog/catalog.ts'

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

let lastId = 0

/** @param url of the agents listener */
export async function speak (url: string, method: string, params: JsonObject, options: SpeakOptions = {}): Promise<Spoken> {
  const { era = '2026-07-28', token, meta = {}, signal, capabilities = {}, id = ++lastId } = options
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
  return post(url, JSON.stringify(message), {
    ...(token === null || token === undefined ? {} : { authorization: `Bearer ${token}` }),
    'mcp-protocol-version': era,
    ...(modern ? { 'mcp-method': method } : {}),
    ...(modern && typeof name === 'string' ? { 'mcp-name': name } : {}),
    ...options.headers,
  }, signal)
}

export async function post (url: string, body: string, headers: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<Spoken> {
  const answer = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
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

/** A tool call. @returns the result of JSON-RPC, or throws the whole answer */
export async function callTool (url: string, token: string, name: string, args: JsonObject, options: SpeakOptions = {}): Promise<any> {
  const said = await speak(url, 'tools/call', { name, arguments: args }, { ...options, token })
  if (said.message?.result === undefined) throw Object.assign(new Error(JSON.stringify(said.message)), { said })
  return said.message.result
}
