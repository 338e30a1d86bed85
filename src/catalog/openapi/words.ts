// What a document tells people about an operation. None of it decides anything: it is what a sheet is drafted from, and what a person reads.
import type { Located } from './inventory.ts'
import { isObject, own } from './pointer.ts'
import { parametersOf } from './reader.ts'
import type { Reading } from './reader.ts'

export interface OperationWords {
  readonly summary: string
  readonly description: string
  readonly deprecated: boolean
  /** By place and name, `query:limit`; only of those that have one. */
  readonly parameters: ReadonlyMap<string, string>
}

/** @throws DocumentFault where a parameter does not have the form that OpenAPI gives it */
export function readWords (reading: Reading, { operation, pathItem }: Located): OperationWords {
  const text = (node: unknown, name: string): string => {
    const value = isObject(node) ? own(node, name) : undefined
    return typeof value === 'string' ? value : ''
  }
  const parameters = parametersOf(reading, pathItem, operation)
    .map(({ place, name, in: where }) => [`${where}:${name}`, text(place.node, 'description')] as const)
    .filter(([, description]) => description !== '')
  return {
    summary: text(operation.node, 'summary') || text(pathItem.node, 'summary'),
    description: text(operation.node, 'description') || text(pathItem.node, 'description'),
    deprecated: isObject(operation.node) && own(operation.node, 'deprecated') === true,
    parameters: new Map(parameters),
  }
}
