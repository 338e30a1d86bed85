// What providers of models make of an input schema: what they refuse, and what they drop.
import { isObject, type JsonObject } from '../../catalog/catalog.ts'
import type { Contract } from './contract.ts'
import { hasType, nodesOf } from './parameters.ts'
import type { Found } from './rule.ts'

interface Keyword {
  readonly keyword: string
  readonly who: string
  /** What is lost where the keyword is taken away for them. */
  readonly lost: string
}

const STRICT = 'OpenAI strict'
const BOTH = 'OpenAI strict and Gemini'

const REFUSED: readonly Keyword[] = [
  { keyword: 'oneOf', who: BOTH, lost: 'Anthropic makes anyOf of it, so that several branches may match' },
  { keyword: 'allOf', who: BOTH, lost: 'all of its parts' },
  { keyword: 'not', who: BOTH, lost: 'what must not be' },
  { keyword: 'if', who: BOTH, lost: 'what depends on another argument' },
  { keyword: 'dependentRequired', who: BOTH, lost: 'which arguments go together' },
  { keyword: 'dependentSchemas', who: BOTH, lost: 'which arguments go together' },
  { keyword: 'patternProperties', who: BOTH, lost: 'every name that it allows' },
  { keyword: 'propertyNames', who: BOTH, lost: 'which names may stand there' },
  { keyword: 'minProperties', who: BOTH, lost: 'how many arguments there must be' },
  { keyword: 'maxProperties', who: BOTH, lost: 'how many arguments there may be' },
  { keyword: 'prefixItems', who: BOTH, lost: 'what stands at which place of the list' },
  { keyword: 'contains', who: BOTH, lost: 'what the list must hold' },
  { keyword: 'uniqueItems', who: BOTH, lost: 'that no item stands twice' },
  { keyword: 'unevaluatedProperties', who: BOTH, lost: 'that nothing else may be sent' },
  { keyword: '$ref', who: 'Gemini', lost: 'the whole part; write it out where it is used' },
]

const DEPTH_MAX = 10
const ENUM_VALUES_MAX = 1_000

export function portabilityOf (contract: Contract): readonly Found[] {
  const nodes = nodesOf(contract)
  const root = contract.at.input
  const found = nodes.flatMap(({ schema, pointer }) => pointer === root ? faultsOfRoot(schema, pointer) : [])
  for (const { schema, pointer } of nodes) found.push(...faultsOfNode(schema, pointer, pointer === root))
  const deepest = nodes.find(({ pointer }) => pointer.slice(root.length).split(/\/properties\/|\/items/).length - 1 > DEPTH_MAX)
  if (deepest !== undefined) found.push({ pointer: deepest.pointer, message: `${STRICT} refuses more than ${DEPTH_MAX} levels` })
  const values = nodes.reduce((sum, { schema }) => sum + (Array.isArray(schema.enum) ? schema.enum.length : 0), 0)
  if (values > ENUM_VALUES_MAX) {
    found.push({ pointer: root, atKey: true, message: `${STRICT} takes ${ENUM_VALUES_MAX} values of enums at most; here are ${values}` })
  }
  if (contract.sheet === null && !/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/.test(contract.name)) {
    found.push({ pointer: contract.at.name, message: 'no provider takes the name: at most 64 letters, digits, _ and -, a letter first' })
  }
  return found
}

function faultsOfRoot (schema: JsonObject, pointer: string): Found[] {
  return ['anyOf', 'oneOf', 'allOf'].filter(keyword => schema[keyword] !== undefined).map(keyword => ({
    pointer: `${pointer}/${keyword}`, message: `${STRICT} and Anthropic refuse ${keyword} at the root: the whole request fails`,
  }))
}

function faultsOfNode (schema: JsonObject, pointer: string, isRoot: boolean): readonly Found[] {
  const found: Found[] = []
  for (const { keyword, who, lost } of REFUSED) {
    const told = isRoot && (keyword === 'oneOf' || keyword === 'allOf')
    // A switch that is off says nothing.
    if (schema[keyword] === undefined || schema[keyword] === false || told) continue
    found.push({ pointer: `${pointer}/${keyword}`, message: `${keyword} cannot be said to ${who}; lost there: ${lost}` })
  }
  if (Array.isArray(schema.type) && schema.type.filter(type => type !== 'null').length > 1) {
    found.push({ pointer: `${pointer}/type`, message: 'Gemini takes one type; write anyOf' })
  }
  if (hasType(schema, 'array') && schema.items === undefined && schema.prefixItems === undefined) {
    found.push({ pointer, message: 'OpenAI and Gemini refuse a list without items' })
  }
  const isObjectSchema = hasType(schema, 'object') || isObject(schema.properties)
  if (isObjectSchema && (schema.additionalProperties === true || isObject(schema.additionalProperties))) {
    found.push({ pointer, message: `${STRICT} refuses open objects, Anthropic makes an empty one of it; lost: every name that is not written out` })
  }
  return found
}
