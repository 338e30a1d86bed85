// Transcripts of agents in the formats that runtimes keep, as one list of what was said, called and answered. No text of a transcript is ever run
// or obeyed.
import { isObject, type Json, type JsonObject } from '../../catalog/catalog.ts'

export type TranscriptEvent =
  /** `agent`: the model's own words. */
  | { readonly kind: 'text', readonly from: 'agent' | 'other', readonly text: string }
  /** `arguments` is undefined where what stands there is no JSON object. */
  | { readonly kind: 'call', readonly id: string, readonly tool: string, readonly arguments: JsonObject | undefined }
  | { readonly kind: 'result', readonly id: string, readonly text: string }

export interface Transcript {
  readonly task: string
  readonly format: Format
  readonly events: readonly TranscriptEvent[]
}

export const FORMATS = ['openai', 'openai-responses', 'anthropic', 'mcp'] as const
export type Format = (typeof FORMATS)[number]

/** Not one of the formats: the message says what was missing. */
export class TranscriptFault extends Error {
  override readonly name = 'TranscriptFault'
}

/** @param name the task where the transcript does not name one. @throws TranscriptFault */
export function readTranscript (value: Json, name: string): Transcript {
  const given: JsonObject = isObject(value) ? value : {}
  const items = itemsOf(value)
  if (items === null) throw new TranscriptFault('a transcript is a list of messages, or an object with messages, items, log, or input and output')
  const format = typeof given.format === 'string' ? asFormat(given.format) : formatOf(items)
  const prompts = [given.system, given.prompt, given.instructions].flatMap(text => textOf(text)).map(
    text => ({ kind: 'text', from: 'other', text }) as const
  )
  const read = READERS[format]
  return { task: typeof given.task === 'string' ? given.task : name, format, events: [...prompts, ...items.flatMap(read)] }
}

function asFormat (name: string): Format {
  const found = FORMATS.find(known => known === name)
  if (found === undefined) throw new TranscriptFault(`the format is one of ${FORMATS.join(', ')}`)
  return found
}

function itemsOf (value: Json): readonly JsonObject[] | null {
  if (Array.isArray(value)) return objectsOf(value as readonly Json[])
  if (!isObject(value)) return null
  for (const name of ['messages', 'items', 'log'] as const) if (Array.isArray(value[name])) return objectsOf(value[name] as readonly Json[])
  if (!Array.isArray(value.output)) return null
  const input = typeof value.input === 'string'
    ? [{ role: 'user', content: value.input }]
    : objectsOf(Array.isArray(value.input) ? value.input as readonly Json[] : [])
  return [...input, ...objectsOf(value.output as readonly Json[])]
}

const objectsOf = (values: readonly Json[]): readonly JsonObject[] => values.filter(isObject)

function formatOf (items: readonly JsonObject[]): Format {
  if (items.some(item => item.jsonrpc === '2.0')) return 'mcp'
  if (items.some(item => item.type === 'function_call' || item.type === 'function_call_output')) return 'openai-responses'
  const blocks = items.flatMap(item => Array.isArray(item.content) ? objectsOf(item.content as readonly Json[]) : [])
  return blocks.some(block => block.type === 'tool_use' || block.type === 'tool_result') ? 'anthropic' : 'openai'
}

const READERS: { readonly [format in Format]: (item: JsonObject) => readonly TranscriptEvent[] } = {
  openai: chatMessage,
  'openai-responses': responsesItem,
  anthropic: anthropicMessage,
  mcp: mcpMessage,
}

/** https://platform.openai.com/docs/api-reference/chat */
function chatMessage (message: JsonObject): readonly TranscriptEvent[] {
  if (message.role === 'tool') return [{ kind: 'result', id: String(message.tool_call_id ?? ''), text: textOf(message.content).join('\n') }]
  const calls = Array.isArray(message.tool_calls) ? objectsOf(message.tool_calls as readonly Json[]) : []
  return [...said(message), ...calls.map(call => {
    const made = isObject(call.function) ? call.function : {}
    return called(call.id, made.name, made.arguments)
  })]
}

/** https://platform.openai.com/docs/api-reference/responses */
function responsesItem (item: JsonObject): readonly TranscriptEvent[] {
  if (item.type === 'function_call') return [called(item.call_id ?? item.id, item.name, item.arguments)]
  if (item.type === 'function_call_output') return [{ kind: 'result', id: String(item.call_id ?? ''), text: textOf(item.output).join('\n') }]
  return item.role === undefined ? [] : said(item)
}

/** https://docs.anthropic.com/en/api/messages */
function anthropicMessage (message: JsonObject): readonly TranscriptEvent[] {
  if (!Array.isArray(message.content)) return said(message)
  return objectsOf(message.content as readonly Json[]).flatMap((block): readonly TranscriptEvent[] => {
    if (block.type === 'tool_use') return [called(block.id, block.name, block.input)]
    if (block.type === 'tool_result') return [{ kind: 'result', id: String(block.tool_use_id ?? ''), text: textOf(block.content).join('\n') }]
    return said({ role: message.role ?? 'user', content: typeof block.text === 'string' ? block.text : null })
  })
}

/** JSON-RPC as it went over the wire, requests and answers in order; plain messages with a role may stand between. */
function mcpMessage (message: JsonObject): readonly TranscriptEvent[] {
  if (message.jsonrpc !== '2.0') return message.role === undefined ? [] : said(message)
  if (message.method === 'tools/call') {
    const params = isObject(message.params) ? message.params : {}
    return [called(message.id, params.name, params.arguments ?? {})]
  }
  if (message.method !== undefined || message.id === undefined) return []
  const result = isObject(message.result) ? message.result : {}
  const structured = result.structuredContent === undefined ? [] : [JSON.stringify(result.structuredContent)]
  const failed = isObject(message.error) ? textOf(message.error.message) : []
  return [{ kind: 'result', id: String(message.id), text: [...structured, ...textOf(result.content), ...failed].join('\n') }]
}

function said (message: JsonObject): readonly TranscriptEvent[] {
  const text = textOf(message.content).join('\n')
  if (text.trim() === '') return []
  return [{ kind: 'text', from: message.role === 'assistant' || message.role === 'model' ? 'agent' : 'other', text }]
}

function called (id: Json | undefined, name: Json | undefined, sent: Json | undefined): TranscriptEvent {
  return { kind: 'call', id: String(id ?? ''), tool: String(name ?? ''), arguments: argumentsOf(sent) }
}

/** OpenAI sends the text of JSON, the others JSON. */
function argumentsOf (sent: Json | undefined): JsonObject | undefined {
  if (typeof sent !== 'string') return isObject(sent) ? sent : undefined
  try {
    const value = JSON.parse(sent) as Json
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Texts of a content, whatever it is made of; what is no text is told as JSON, since values can be taken from it. */
function textOf (content: Json | undefined): readonly string[] {
  if (content === undefined || content === null) return []
  if (typeof content === 'string') return [content]
  if (Array.isArray(content)) return content.flatMap((block: Json) => textOf(block))
  if (isObject(content)) return typeof content.text === 'string' ? [content.text] : content.type === 'image' ? [] : [JSON.stringify(content)]
  return [String(content)]
}
