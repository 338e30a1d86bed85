// The arguments that a contract takes, one by one: every named property of its input, within objects, lists and branches too.
import { isObject, type Json, type JsonObject } from '../../catalog/catalog.ts'
import { resolvePointer } from '../../catalog/shape.ts'
import { pointerTo } from '../../catalog/yaml-file.ts'
import type { Contract } from './contract.ts'

export interface Parameter {
  readonly name: string
  readonly schema: JsonObject
  /** JSON Pointer in the file. */
  readonly pointer: string
  /** `destination.street` */
  readonly path: string
  readonly required: boolean
  /** An object that only holds others. */
  readonly holds: boolean
}

export interface Node {
  readonly schema: JsonObject
  /** JSON Pointer in the file. */
  readonly pointer: string
}

/** Every schema of the input, the whole first; what stands behind a reference once. */
export function nodesOf (contract: Contract): readonly Node[] {
  return nodesOfSchema(contract.input, contract.at.input)
}

export function nodesOfSchema (root: JsonObject, at: string): readonly Node[] {
  const nodes: Node[] = []
  const seen = new Set<unknown>()
  const visit = (schema: Json | undefined, pointer: string): void => {
    if (!isObject(schema) || seen.has(schema)) return
    seen.add(schema)
    nodes.push({ schema, pointer })
    for (const [name, property] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
      visit(property, pointerTo(`${pointer}/properties`, name))
    }
    for (const keyword of ['items', 'additionalProperties', 'contains', 'not', 'if', 'then', 'else']) visit(schema[keyword], `${pointer}/${keyword}`)
    for (const keyword of ['allOf', 'anyOf', 'oneOf', 'prefixItems']) {
      const parts = schema[keyword]
      if (Array.isArray(parts)) parts.forEach((part, index) => visit(part as Json, `${pointer}/${keyword}/${index}`))
    }
    if (typeof schema.$ref === 'string') visit(resolvePointer(root, schema.$ref) as Json | undefined, `${at}${schema.$ref.slice(1)}`)
  }
  visit(root, at)
  return nodes
}

export function parametersOf (contract: Contract): readonly Parameter[] {
  return parametersOfSchema(contract.input, contract.at.input)
}

export function parametersOfSchema (root: JsonObject, at: string): readonly Parameter[] {
  const parameters: Parameter[] = []
  for (const { schema, pointer } of nodesOfSchema(root, at)) {
    if (!isObject(schema.properties)) continue
    const required = Array.isArray(schema.required) ? schema.required : []
    for (const [name, property] of Object.entries(schema.properties)) {
      const within = pointer.slice(at.length).split('/properties/').slice(1).map(part => part.replace(/\/.*$/, ''))
      const plain = isObject(property) ? property : {}
      parameters.push({
        name,
        schema: plain,
        pointer: pointerTo(`${pointer}/properties`, name),
        path: [...within, name].join('.'),
        required: required.includes(name),
        holds: isObject(plain.properties),
      })
    }
  }
  return parameters
}

export const descriptionOf = (schema: JsonObject): string => typeof schema.description === 'string' ? schema.description.trim() : ''

export function hasType (schema: JsonObject, type: string): boolean {
  return schema.type === type || (Array.isArray(schema.type) && schema.type.includes(type))
}

export const isChosen = (schema: JsonObject): boolean => Array.isArray(schema.enum) || schema.const !== undefined

/** Formats that bound what they allow. */
const SHORT_FORMATS = new Set(['date', 'time', 'date-time', 'iso-time', 'iso-date-time', 'duration', 'uuid', 'email', 'ipv4', 'ipv6'])
export const hasShortFormat = (schema: JsonObject): boolean => typeof schema.format === 'string' && SHORT_FORMATS.has(schema.format)

/** Text of which the schema says nothing but, perhaps, how long it is. */
export function isFreeText (schema: JsonObject): boolean {
  return hasType(schema, 'string') && !isChosen(schema) && !hasShortFormat(schema) && typeof schema.pattern !== 'string'
}
