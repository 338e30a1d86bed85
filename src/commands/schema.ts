// `aval schema KIND`: the JSON Schema of a file kind, for editors and reviews.
import type { JsonSchema } from '../catalog/openapi/operation.ts'
import { POLICY_SCHEMA } from '../catalog/policy.ts'
import { SHEET_SCHEMA } from '../catalog/sheet.ts'
import { UPSTREAM_SCHEMA } from '../catalog/upstream.ts'
import { PRINCIPALS_SCHEMA } from '../consent/principals.ts'
import { GOLD_SCHEMA } from '../curation/eval/gold.ts'
import { MOCK_SCENARIO_SCHEMA } from '../curation/mock/scenario.ts'
import { TRACE_SCHEMA } from '../curation/replay/trace.ts'
import { WEBHOOKS_SCHEMA } from '../notifications/endpoints.ts'
import { SCENARIOS_SCHEMA } from '../curation/test/scenario-file.ts'

const SCHEMAS = {
  sheet: SHEET_SCHEMA, upstream: UPSTREAM_SCHEMA, policy: POLICY_SCHEMA, scenarios: SCENARIOS_SCHEMA, mock: MOCK_SCENARIO_SCHEMA, webhooks: WEBHOOKS_SCHEMA,
  principals: PRINCIPALS_SCHEMA, gold: GOLD_SCHEMA, trace: TRACE_SCHEMA,
} as const satisfies Record<string, JsonSchema>

export type FileKind = keyof typeof SCHEMAS
export const SCHEMA_KINDS = Object.keys(SCHEMAS) as readonly FileKind[]

export const isFileKind = (word: string): word is FileKind => Object.hasOwn(SCHEMAS, word)

/** JSON with two spaces and a line end. */
export const printSchema = (kind: FileKind): string => `${JSON.stringify(SCHEMAS[kind], null, 2)}\n`
