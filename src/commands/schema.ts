// `aval schema [sheet|upstream|policy]`: the JSON Schema of a file kind, for editors and reviews.
import type { JsonSchema } from '../catalog/openapi/operation.ts'
import { POLICY_SCHEMA } from '../catalog/policy.ts'
import { SHEET_SCHEMA } from '../catalog/sheet.ts'
import { UPSTREAM_SCHEMA } from '../catalog/upstream.ts'

const SCHEMAS = { sheet: SHEET_SCHEMA, upstream: UPSTREAM_SCHEMA, policy: POLICY_SCHEMA } as const satisfies Record<string, JsonSchema>

export type FileKind = keyof typeof SCHEMAS
export const SCHEMA_KINDS = Object.keys(SCHEMAS) as readonly FileKind[]

export const isFileKind = (word: string): word is FileKind => Object.hasOwn(SCHEMAS, word)

/** JSON with two spaces and a line end. */
export const printSchema = (kind: FileKind): string => `${JSON.stringify(SCHEMAS[kind], null, 2)}\n`
