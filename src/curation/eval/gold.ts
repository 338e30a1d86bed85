// The gold file: which calls each task should lead to.
import { CatalogFaults, type JsonObject } from '../../catalog/catalog.ts'
import { FaultList } from '../../catalog/faults.ts'
import type { JsonSchema } from '../../catalog/openapi/operation.ts'
import { ACTION_ID_PATTERN } from '../../catalog/sheet.ts'
import { checkStructure } from '../../catalog/structure.ts'
import { readYaml, YamlFile } from '../../catalog/yaml-file.ts'

export interface GoldCall {
  readonly action: string
  /** What the arguments must hold; others may stand beside. */
  readonly arguments?: JsonObject
}

export interface GoldTask {
  readonly id: string
  readonly expect: readonly GoldCall[]
  readonly forbid?: readonly string[]
}

const ACTION: JsonSchema = { description: 'With its version, get_customer.v1.', type: 'string', pattern: ACTION_ID_PATTERN }

export const GOLD_SCHEMA: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Gold',
  description: 'Which calls each task should lead to, for aval eval.',
  type: 'object',
  additionalProperties: false,
  required: ['tasks'],
  properties: {
    tasks: {
      description: 'The tasks; a transcript names its own, or is named after it.',
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['id', 'expect'],
        properties: {
          id: { description: 'The name of the task.', type: 'string', minLength: 1, maxLength: 200 },
          expect: {
            description: 'The calls that must be made, in any order; none: the right answer is to call nothing.',
            type: 'array',
            items: {
              type: 'object',
              additionalProperties: false,
              required: ['action'],
              properties: { action: ACTION, arguments: { description: 'What the arguments must hold; others may stand beside.', type: 'object' } },
            },
          },
          forbid: { description: 'Actions that must not be called.', type: 'array', items: ACTION },
        },
      },
    },
  },
}

/** YAML or JSON. @throws CatalogFaults */
export function readGold (name: string, bytes: Buffer): readonly GoldTask[] {
  const file = readYaml(name, bytes)
  if (!(file instanceof YamlFile)) throw new CatalogFaults(file)
  const faults = new FaultList()
  const report = faults.in(file)
  const wellFormed = checkStructure(file.value, GOLD_SCHEMA, report)
  const { tasks } = file.value as unknown as { readonly tasks: readonly GoldTask[] }
  if (wellFormed) {
    for (const [index, { id }] of tasks.entries()) {
      if (tasks.findIndex(task => task.id === id) < index) report.fault(`/tasks/${index}/id`, 'task-twice', `another task is named "${id}"`)
    }
  }
  if (faults.count > 0) throw new CatalogFaults(faults.all())
  return tasks
}
