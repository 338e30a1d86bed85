// The script of a mock: what it answers, in turn, and how it misbehaves.
import { CatalogFaults, type Json } from '../../catalog/catalog.ts'
import { FaultList } from '../../catalog/faults.ts'
import type { JsonSchema } from '../../catalog/openapi/operation.ts'
import { checkStructure } from '../../catalog/structure.ts'
import { DURATION_PATTERN } from '../../catalog/units.ts'
import { readYaml, YamlFile } from '../../catalog/yaml-file.ts'

/** What the network, or the upstream, does to one exchange. */
export const FAULTS = {
  dropped: 'the connection is closed before anything happens',
  lost: 'it happens, and the connection is closed instead of an answer',
  cut: 'it happens, and the answer ends in the middle of its body',
  malformed: 'it happens, and the answer is a success that is no JSON',
  wrong_type: 'it happens, and the answer is a page of HTML',
  secret: 'it happens, and the answer holds the credential that came with the request',
  late: 'it happens at once, and the answer comes 30 s later',
} as const
export type MockFault = keyof typeof FAULTS

export interface ScriptedAnswer {
  /** operationId, or `METHOD /path`; absent: any operation. */
  readonly operation?: string
  /** How many requests it answers; absent: all that follow. */
  readonly times?: number
  readonly status?: number
  readonly headers?: { readonly [name: string]: string }
  readonly body?: Json
  readonly fault?: MockFault
  readonly delay?: string
}

export interface MockScenario {
  readonly name: string
  /** Where a key that was seen before is looked for; absent: keys mean nothing here. */
  readonly idempotency?: { readonly header: string }
  readonly answers: readonly ScriptedAnswer[]
}

const text = (description: string): JsonSchema => ({ description, type: 'string', minLength: 1, maxLength: 500 })

export const MOCK_SCENARIO_SCHEMA: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Mock scenario',
  description: 'What a mock answers: the file that `aval mock --scenario` takes.',
  type: 'object',
  additionalProperties: false,
  required: ['name', 'answers'],
  properties: {
    name: text('What it plays, in a few words.'),
    idempotency: {
      description: 'A repeat with the same key gets the first answer and does nothing; another body under the key is refused with 422. ' +
        'Left out: keys mean nothing.',
      type: 'object',
      additionalProperties: false,
      required: ['header'],
      properties: { header: text('The header that carries the key.') },
    },
    answers: {
      description: 'The first that fits a request and is not used up answers it. A request that none fits gets a sample of the document.',
      type: 'array',
      maxItems: 500,
      items: {
        description: 'One answer.',
        type: 'object',
        additionalProperties: false,
        properties: {
          operation: text('operationId, or "PATCH /customers/{id}"; left out: any operation.'),
          times: { description: 'How many requests it answers; left out: all that follow.', type: 'integer', minimum: 1, maximum: 1_000_000 },
          status: { description: 'Left out: the first success that the document declares.', type: 'integer', minimum: 200, maximum: 599 },
          headers: { description: 'Headers of the answer.', type: 'object', additionalProperties: { type: 'string' } },
          body: { description: 'JSON; left out: a sample made from the schema of the document.' },
          fault: { description: Object.entries(FAULTS).map(([name, what]) => `${name}: ${what}.`).join(' '), enum: Object.keys(FAULTS) },
          delay: { description: 'How long the answer takes, as 500ms or 2s.', type: 'string', pattern: DURATION_PATTERN },
        },
      },
    },
  },
}

/** @throws CatalogFaults with `file:line:column` of all that is wrong */
export function readMockScenario (name: string, bytes: Buffer, isOperation: (selector: string) => boolean): MockScenario {
  const faults = new FaultList()
  const file = readYaml(name, bytes)
  if (!(file instanceof YamlFile)) throw new CatalogFaults(file)
  const report = faults.in(file)
  if (checkStructure(file.value, MOCK_SCENARIO_SCHEMA, report)) {
    const { answers } = file.value as unknown as MockScenario
    for (const [index, { operation }] of answers.entries()) {
      if (operation === undefined || isOperation(operation)) continue
      report.fault(`/answers/${index}/operation`, 'operation-unknown', 'the document has no such operation')
    }
  }
  if (faults.count > 0) throw new CatalogFaults(faults.all())
  return file.value as unknown as MockScenario
}
