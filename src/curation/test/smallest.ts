// The smallest value that a schema takes, and the fullest small one: with every optional property once. What comes out is held to the schema by
// whoever asked: a schema can say things that no value is made by here (`not`, `if`, two patterns at once).
import { isObject, type Json } from '../../catalog/catalog.ts'
import { FORMATS } from './formats.ts'
import { PatternText } from './pattern-text.ts'
import { all, bound, listOf, propertiesOf, requiredOf, typesOf, type Place, type SchemaPlaces } from './place.ts'

export interface Wanted {
  /** Optional properties too, and at least one item a list. */
  readonly full: boolean
  /** Another number gives other texts and numbers, where the schema leaves a choice. */
  readonly variant: number
  /** Optional properties that may still be made: the answers that documents describe can be endless. */
  readonly budget?: { left: number }
}

/** What refers to itself is left out from here on, where it may be. */
const DEPTH_MAX = 8

/** undefined where no value is found. */
export function smallest (places: SchemaPlaces, place: Place, wanted: Wanted, depth = 0): Json | undefined {
  const fixed = all(place, 'const')[0]
  if (fixed !== undefined) return fixed.value
  const listed = listOf(all(place, 'enum')[0]?.value)
  if (listed.length > 0) return listed[wanted.variant % listed.length]
  const types = typesOf(place)
  if (types.has('object') && (types.size === 1 || propertiesOf(place).length > 0)) return smallestObject(places, place, wanted, depth)
  if (types.has('string')) return smallestText(place, wanted.variant)
  if (types.has('integer') || types.has('number')) return smallestNumber(place, types.has('number') ? 'number' : 'integer', wanted.variant)
  if (types.has('boolean')) return wanted.variant % 2 === 1
  if (types.has('array')) return smallestArray(places, place, wanted, depth)
  return types.has('object') ? smallestObject(places, place, wanted, depth) : types.has('null') ? null : undefined
}

function smallestObject (places: SchemaPlaces, place: Place, wanted: Wanted, depth: number): Json | undefined {
  const required = requiredOf(place)
  const made: { [name: string]: Json } = {}
  const put = (name: string): boolean => {
    const value = smallest(places, places.property(place, name), wanted, depth + 1)
    if (value !== undefined) made[name] = value
    return value !== undefined
  }
  if (depth > DEPTH_MAX + 4) return undefined
  for (const name of required.keys()) if (propertiesOf(place).includes(name) && !put(name)) return undefined
  const [least, most] = [bound(place, 'minProperties', 'greatest')?.value ?? 0, bound(place, 'maxProperties', 'least')?.value ?? Infinity]
  for (const name of propertiesOf(place)) {
    if (Object.hasOwn(made, name) || depth >= DEPTH_MAX) continue
    const needed = neededBeside(place, name).filter(other => !Object.hasOwn(made, other))
    const count = Object.keys(made).length
    if (count >= least && !(wanted.full && count + needed.length < most && spends(wanted))) continue
    if (put(name)) for (const other of needed) put(other)
  }
  return inOrder(made, propertiesOf(place))
}

/** What has to be there where a property is. */
function neededBeside (place: Place, name: string): readonly string[] {
  return all(place, 'dependentRequired').flatMap(({ value }) => isObject(value) ? listOf(value[name]).map(String) : [])
}

const inOrder = (made: { readonly [name: string]: Json }, names: readonly string[]): Json =>
  Object.fromEntries(names.flatMap(name => Object.hasOwn(made, name) ? [[name, made[name]!]] : []))

function spends ({ budget }: Wanted): boolean {
  if (budget === undefined) return true
  budget.left -= 1
  return budget.left >= 0
}

function smallestArray (places: SchemaPlaces, place: Place, wanted: Wanted, depth: number): Json | undefined {
  const least = bound(place, 'minItems', 'greatest')?.value ?? 0
  const most = bound(place, 'maxItems', 'least')?.value ?? Infinity
  // One of each kind of item: those that have a schema of their own, and one behind them.
  const kinds = Math.max(
    0, ...all(place, 'prefixItems').map(({ value }) => listOf(value).length)
  ) + (all(place, 'items').some(({ value }) => isObject(value)) ? 1 : 0)
  const count = Math.min(most, Math.max(least, wanted.full && depth < DEPTH_MAX ? kinds : 0))
  return itemsOf(places, place, count, wanted, depth)
}

/** A list of so many items, all different. */
export function itemsOf (places: SchemaPlaces, place: Place, count: number, wanted: Wanted, depth = 0): readonly Json[] | undefined {
  const items: Json[] = []
  const seen = new Set<string>()
  const unique = all(place, 'uniqueItems').some(({ value }) => value === true)
  for (let index = 0, variant = wanted.variant; items.length < count; variant++) {
    const value = smallest(places, places.item(place, index), { ...wanted, variant }, depth + 1)
    if (value === undefined || variant > wanted.variant + 4 * count + 64) return undefined
    const text = JSON.stringify(value)
    if (unique && seen.has(text)) continue
    seen.add(text)
    items.push(value)
    index++
  }
  return items
}

/** A text that every part takes, of `length` characters where it is given. */
export function smallestText (place: Place, variant: number, length: number | null = null): string | undefined {
  const min = length ?? bound(place, 'minLength', 'greatest')?.value ?? 0
  const max = length ?? bound(place, 'maxLength', 'least')?.value ?? Infinity
  const patterns = all(place, 'pattern').map(({ value }) => String(value))
  for (const pattern of patterns) {
    const text = PatternText.of(pattern, variant)?.shortest(min, max) ?? null
    // What one pattern gives may be what all of them take.
    if (text !== null && patterns.every(other => matches(other, text))) return text
  }
  if (patterns.length > 0) return undefined
  const format = all(place, 'format').map(({ value }) => FORMATS.get(String(value))).find(known => known !== undefined)
  if (format !== undefined && format.good.length > 0) {
    const text = format.good[variant % format.good.length]!
    return text.length >= min && text.length <= max ? text : undefined
  }
  const least = length ?? Math.max(min, Math.min(1, max))
  return LETTERS[variant % LETTERS.length]!.repeat(least)
}

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz']

export function matches (pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text)
  } catch {
    return false
  }
}

function smallestNumber (place: Place, type: 'integer' | 'number', variant: number): number | undefined {
  const range = rangeOf(place, type)
  const step = all(place, 'multipleOf').map(({ value }) => value).find(value => typeof value === 'number') ?? (type === 'integer' ? 1 : 0.5)
  // The number nearest to one: nothing and less are what calls are refused for by the upstream itself.
  const from = Math.min(Math.max(1, range.min), range.max)
  const first = Math.ceil(from / step) * step
  const value = first + variant * step
  const fitting = value <= range.max ? value : first <= range.max ? first : Math.floor(range.max / step) * step
  return fitting >= range.min && fitting <= range.max ? fitting : undefined
}

/** The least and the greatest number that the bounds take. */
export function rangeOf (place: Place, type: 'integer' | 'number'): { readonly min: number, readonly max: number } {
  const nudge = type === 'integer' ? 1 : 1e-6
  const above = bound(place, 'exclusiveMinimum', 'greatest')
  const below = bound(place, 'exclusiveMaximum', 'least')
  return {
    min: Math.max(bound(place, 'minimum', 'greatest')?.value ?? -Infinity, above === null ? -Infinity : above.value + nudge),
    max: Math.min(bound(place, 'maximum', 'least')?.value ?? Infinity, below === null ? Infinity : below.value - nudge),
  }
}

