// The forms in which model providers take tools, one row each: from the portable tool to what is put into a request, and what the form cannot say.
import type { JsonObject } from '../catalog/catalog.ts'
import { ENVELOPE_OUTPUT_SCHEMA } from './envelope-schema.ts'
import { geminiSchema } from './gemini-schema.ts'
import { Losses, type Loss } from './schema-loss.ts'
import { strictSchema } from './strict-schema.ts'
import type { Tool } from './tool.ts'

export const FORMATS = ['openai', 'openai-strict', 'anthropic', 'gemini', 'mcp'] as const
export type Format = (typeof FORMATS)[number]

export interface ToolForm {
  /** To be put into the list of tools of a request as it is. */
  readonly tool: JsonObject
  /** Each holds all the same: the broker checks the whole rule. */
  readonly losses: readonly Loss[]
}

type Writer = (tool: Tool, losses: Losses) => JsonObject

const WRITERS: Readonly<Record<Format, Writer>> = {
  // A function tool of the Responses API.
  openai: ({ name, description, inputSchema }) => ({ type: 'function', name, description, parameters: inputSchema, strict: false }),
  'openai-strict': ({ name, description, inputSchema }, losses) =>
    ({ type: 'function', name, description, parameters: strictSchema(inputSchema, losses), strict: true }),
  // A custom tool of the Messages API.
  anthropic: ({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema }),
  // A function declaration of generateContent.
  gemini: ({ name, description, inputSchema }, losses) => ({ name, description, parameters: geminiSchema(inputSchema, losses) }),
  mcp: ({ name, title, description, inputSchema, annotations }) =>
    ({ name, title, description, inputSchema, outputSchema: ENVELOPE_OUTPUT_SCHEMA, annotations: { title, ...annotations } }),
}

export function formOf (tool: Tool, format: Format): ToolForm {
  const losses = new Losses()
  const written = WRITERS[format](tool, losses)
  return { tool: written, losses: [...tool.losses, ...losses.list()] }
}
