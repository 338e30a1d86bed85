// What is judged: one contract as an agent's model reads it. A sheet and a tool of an MCP server are read into the same form, so that one rubric
// serves both; what only a sheet can say hangs on `sheet`.
import { isObject, type Json, type JsonObject } from '../../catalog/catalog.ts'
import type { Operation } from '../../catalog/openapi/operation.ts'
import type { PolicySheet } from '../../catalog/policy.ts'
import type { Sheet } from '../../catalog/sheet.ts'
import type { SurveyedSheet } from '../../catalog/load.ts'
import type { YamlFile } from '../../catalog/yaml-file.ts'

export interface Contract {
  /** `get_customer.v1`, or the name of a tool. */
  readonly id: string
  readonly name: string
  readonly title: string | null
  readonly description: string
  readonly input: JsonObject
  /** null: the contract does not say what comes back. */
  readonly result: JsonObject | null
  readonly examples: ReadonlyArray<{ readonly arguments: JsonObject, readonly result?: Json }>
  /** Whether it changes anything; null where a tool does not say. */
  readonly write: boolean | null
  /** null of a sheet, whose annotations follow from effect and retry. */
  readonly annotations: JsonObject | null
  /** null of a tool. */
  readonly sheet: Sheet | null
  /** The operation that the sheet is about; null of a tool, and where it could not be found. */
  readonly operation: Operation | null
  readonly file: YamlFile
  /** JSON Pointers of the parts in the file. */
  readonly at: Readonly<Record<'whole' | 'name' | 'title' | 'description' | 'input' | 'result' | 'examples' | 'annotations', string>>
}

/** All contracts that are offered together, and who may call which. */
export interface Offer {
  readonly contracts: readonly Contract[]
  readonly policy: { readonly file: YamlFile, readonly sheet: PolicySheet } | null
}

const SHEET_PLACES: Contract['at'] = {
  whole: '', name: '/action', title: '/title', description: '/description', input: '/input', result: '/result/schema', examples: '/examples',
  annotations: '/effect',
}

export function contractOfSheet ({ id, sheet, file, operations }: SurveyedSheet): Contract {
  return {
    id,
    name: sheet.action,
    title: sheet.title.trim(),
    description: sheet.description.trim(),
    input: sheet.input,
    result: sheet.result?.schema ?? null,
    examples: sheet.examples ?? [],
    write: sheet.effect !== 'observation',
    annotations: null,
    sheet,
    operation: operations.get(sheet.operation) ?? null,
    file,
    at: SHEET_PLACES,
  }
}

/** @param at JSON Pointer of the tool in its file; @returns null where it has not the form of a tool */
export function contractOfTool (tool: Json, at: string, file: YamlFile): Contract | null {
  if (!isObject(tool) || typeof tool.name !== 'string' || !isObject(tool.inputSchema)) return null
  const annotations = isObject(tool.annotations) ? tool.annotations : {}
  const examples = Array.isArray(tool.inputSchema.examples) ? tool.inputSchema.examples as readonly Json[] : []
  const title = typeof tool.title === 'string' ? tool.title : typeof annotations.title === 'string' ? annotations.title : null
  return {
    id: tool.name,
    name: tool.name,
    title,
    description: typeof tool.description === 'string' ? tool.description.trim() : '',
    input: tool.inputSchema,
    result: isObject(tool.outputSchema) ? tool.outputSchema : null,
    examples: examples.filter(isObject).map(example => ({ arguments: example })),
    write: typeof annotations.readOnlyHint === 'boolean' ? !annotations.readOnlyHint : null,
    annotations,
    sheet: null,
    operation: null,
    file,
    at: {
      whole: at, name: `${at}/name`, title: `${at}/title`, description: `${at}/description`, input: `${at}/inputSchema`,
      result: `${at}/outputSchema`, examples: `${at}/inputSchema/examples`, annotations: `${at}/annotations`,
    },
  }
}
