// An action as a tool: what a model is told of it, whoever the provider is. Everything is derived from the sheet; nothing is written by hand.
import type { Action, JsonObject } from '../catalog/catalog.ts'
import { portableSchema } from './portable-schema.ts'
import type { Loss } from './schema-loss.ts'
import { toolNameOf } from './tool-name.ts'

/** Hints of MCP; all four are always given, because their defaults say the opposite of what most actions do. */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly annotations: ToolAnnotations
  readonly losses: readonly Loss[]
}

const tools = new WeakMap<Action, Tool>()

/** Made once for an action. */
export function toolOf (action: Action): Tool {
  let tool = tools.get(action)
  if (tool === undefined) {
    const { schema, losses } = portableSchema(action.inputSchema as JsonObject)
    tool = Object.freeze({
      name: toolNameOf(action.id),
      title: action.title,
      description: action.description.trim(),
      inputSchema: schema,
      annotations: annotationsOf(action),
      losses,
    })
    tools.set(action, tool)
  }
  return tool
}

/**
 * From the declared effect and retry class. Destructive is what cannot be taken back; open world is what reaches people outside; idempotent is what
 * has no further effect when it is sent again with the same arguments and nothing else, which a key of the upstream alone does not give.
 */
export function annotationsOf ({ effect, write, retry, involves }: Pick<Action, 'effect' | 'write' | 'retry' | 'involves'>): ToolAnnotations {
  return Object.freeze({
    readOnlyHint: !write,
    destructiveHint: effect === 'external_commitment' || effect === 'irreversible_change',
    idempotentHint: !write || retry === 'natural',
    openWorldHint: effect === 'external_commitment' || involves.includes('public'),
  })
}
