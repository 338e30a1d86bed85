// The edge between plain data and CEL. Schema `integer` is int (BigInt), `number` and whatever is not declared is double; both ways exactly, or
// not at all. Only what an expression uses is converted, so an integer that was not exact in an upstream's answer hurts only who touches it.
import { isObject, type Json, type JsonObject } from './catalog.ts'
import { alternatives, ANY, type ListShape, type ObjectShape, type Shape } from './shape.ts'

/** What an expression reads of a value: all of it, whether it is there, or some of what is in it. */
export interface Use {
  whole: boolean
  readonly names: Map<string, Use>
  /** Every item, or every value of a map. */
  each: Use | null
}

export const noUse = (): Use => ({ whole: false, names: new Map(), each: null })

/** Stands for a number that cannot be kept exactly. CEL knows no such type, so that whatever touches it fails. */
class Inexact {
  readonly why = 'a number that cannot be kept exactly'
}
const INEXACT = Object.freeze(new Inexact())

/** Objects become Maps: no name in them, not even `constructor`, means anything to the evaluator. */
export function toCel (value: Json, shape: Shape): unknown {
  switch (typeof value) {
    case 'number': return numberToCel(value, shape)
    case 'string': return shape.kind === 'timestamp' ? new Date(value) : value
    case 'object': {
      if (value === null) return null
      if (!isObject(value)) {
        const item = itemOf(shape)
        return (value as readonly Json[]).map(part => toCel(part, item))
      }
      const within = objectOf(shape)
      const map = new Map<string, unknown>()
      for (const name of Object.keys(value)) map.set(name, toCel(value[name]!, fieldOf(within, name)))
      return map
    }
    default: return value
  }
}

/** Only what is used. undefined where there is nothing. */
export function pick (value: Json | undefined, shape: Shape, use: Use): unknown {
  if (value === undefined) return undefined
  if (use.whole) return toCel(value, shape)
  if (use.names.size === 0 && use.each === null) return null
  if (isObject(value)) {
    const within = objectOf(shape)
    const map = new Map<string, unknown>()
    const { each } = use
    if (each !== null) for (const name of Object.keys(value)) map.set(name, pick(value[name], fieldOf(within, name), each))
    for (const [name, inner] of use.names) {
      // A name that is used both ways is converted whole: both uses find what they need.
      if (Object.hasOwn(value, name)) {
        map.set(name, each === null ? pick(value[name], fieldOf(within, name), inner) : toCel(value[name]!, fieldOf(within, name)))
      }
    }
    return map
  }
  if (Array.isArray(value) && use.each !== null) {
    const item = itemOf(shape)
    const { each } = use
    return value.map((part: Json) => pick(part, item, each))
  }
  return toCel(value, shape)
}

function numberToCel (value: number, shape: Shape): unknown {
  if (!isExact(value)) return INEXACT
  if (!isInteger(shape)) return value
  return Number.isInteger(value) ? BigInt(value) : INEXACT
}

/** An integer beyond 2^53 has been rounded by whoever parsed it. */
export const isExact = (value: number): boolean => Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))

function isInteger (shape: Shape): boolean {
  if (shape.kind !== 'dyn') return shape.kind === 'int'
  return shape.of.some(part => part.kind === 'int') && !shape.of.some(part => part.kind === 'double')
}

/** Whether `fromCel(toCel(value, shape))` gives this very value, so that nothing needs to be converted. */
export function survivesCel (value: Json, shape: Shape): boolean {
  switch (typeof value) {
    case 'string': return shape.kind !== 'timestamp' && value.isWellFormed()
    case 'number': return isExact(value) && !Object.is(value, -0) && (Number.isInteger(value) || !isInteger(shape))
    case 'object': return value === null || partsSurvive(value, shape)
    default: return true
  }
}

function partsSurvive (value: JsonObject | readonly Json[], shape: Shape): boolean {
  if (!isObject(value)) {
    const item = itemOf(shape)
    return (value as readonly Json[]).every(part => survivesCel(part, item))
  }
  const within = objectOf(shape)
  for (const name of Object.keys(value)) {
    if (!survivesCel(value[name]!, fieldOf(within, name))) return false
  }
  return true
}

const itemOf = (shape: Shape): Shape => (alternatives(shape).find(part => part.kind === 'list') as ListShape | undefined)?.item() ?? ANY
const objectOf = (shape: Shape): ObjectShape | undefined => alternatives(shape).find(part => part.kind === 'object')
const fieldOf = (object: ObjectShape | undefined, name: string): Shape => object?.fields.get(name)?.shape() ?? object?.rest?.() ?? ANY

/** @throws RangeError for what has no exact JSON */
export function fromCel (value: unknown): Json {
  switch (typeof value) {
    case 'bigint': {
      const number = Number(value)
      if (!Number.isSafeInteger(number)) throw new RangeError('the integer cannot be kept exactly')
      return number
    }
    case 'number': {
      if (!isExact(value)) throw new RangeError('the number cannot be kept exactly')
      return value === 0 ? 0 : value
    }
    case 'string':
      if (!value.isWellFormed()) throw new RangeError('the text is not well-formed Unicode')
      return value
    case 'boolean': return value
    case 'object': return objectFromCel(value)
    default: throw new RangeError(`a ${typeof value} has no JSON`)
  }
}

function objectFromCel (value: object | null): Json {
  if (value === null) return null
  if (Array.isArray(value)) return value.map(fromCel)
  if (value instanceof Map) return Object.fromEntries([...value].map(([name, part]) => [String(name), fromCel(part)]))
  if (value instanceof Date) return value.toISOString()
  if (Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, fromCel(part)]))
  }
  throw new RangeError('the value has no exact JSON')
}
