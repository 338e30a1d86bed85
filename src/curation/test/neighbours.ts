// The invalid neighbours of a valid value: each differs from it in one thing, just beyond one boundary; and the valid ones that stand on a boundary
// from inside. They are made from the schema as it is written, not by asking what would refuse them.
import { isObject, type Json } from '../../catalog/catalog.ts'
import { FORMATS } from './formats.ts'
import { all, bound, escaped, listOf, propertiesOf, requiredOf, typesOf, type Place, type SchemaPlaces } from './place.ts'
import { itemsOf, matches, rangeOf, smallest, smallestText } from './smallest.ts'

/** A number that no double holds; it is written into the text of the call as it is. */
export class UnsafeNumber {
  readonly text = '9007199254740993'
}

/** What is put in the place of a part: a value, the part left out, or a text of JSON that no value of ours can hold. */
export type Replacement = { readonly value: Json } | { readonly without: true } | UnsafeNumber

export interface Neighbour {
  /** In words, `one character too long`. */
  readonly about: string
  /** JSON Pointer within the arguments to what is replaced. */
  readonly pointer: string
  readonly replacement: Replacement
  /** JSON Pointers of the boundaries in the schema that it crosses, or, where it is allowed, that it stands on. */
  readonly boundaries: readonly string[]
  readonly allowed: boolean
  /** Which field the refusal must name; null: any, since a union may say it of the whole. */
  readonly field: string | null
  /** It is meant to be wrong, but another branch of a union may take it. */
  readonly inUnion: boolean
}

const ITEMS_MAX = 2_000

export function * neighboursOf (places: SchemaPlaces, place: Place, value: Json, pointer = ''): Generator<Neighbour> {
  const making = new Making(place, pointer)
  yield * ofTypes(making, value)
  yield * ofLists(making, value)
  yield * ofUnions(making, places, value)
  if (typeof value === 'string') yield * ofText(making)
  if (typeof value === 'number') yield * ofNumber(making, value)
  if (Array.isArray(value)) yield * ofArray(making, places, value as readonly Json[])
  if (isObject(value)) yield * ofObject(making, places, value)
}

class Making {
  readonly place: Place
  readonly pointer: string

  constructor (place: Place, pointer: string) {
    this.place = place
    this.pointer = pointer
  }

  wrong (
    about: string, replacement: Replacement, boundaries: readonly string[], more: { readonly pointer?: string, readonly field?: string } = {}
  ): Neighbour {
    const pointer = more.pointer ?? this.pointer
    const field = this.place.inUnion || boundaries.length === 0 ? null : more.field ?? pointer
    return { about, pointer, replacement, boundaries, allowed: false, field, inUnion: this.place.inUnion }
  }

  right (about: string, value: Json, boundaries: readonly string[]): Neighbour {
    return { about, pointer: this.pointer, replacement: { value }, boundaries, allowed: true, field: null, inUnion: this.place.inUnion }
  }
}

/** One value of each primitive; two of them look like others, and are not. */
const PRIMITIVES: ReadonlyArray<readonly [string, string, Json]> = [
  ['null', 'null instead of being absent or a value', null],
  ['boolean', 'a boolean', true],
  ['integer', 'an integer', 5],
  ['number', 'a number with a fraction', 5.5],
  ['string', 'a text', '5'],
  ['array', 'a list', []],
  ['object', 'an object', {}],
]

function * ofTypes (making: Making, value: Json): Generator<Neighbour> {
  const { place } = making
  const allowed = typesOf(place)
  const at = all(place, 'type').map(one => one.at)
  const unions = [...all(place, 'oneOf'), ...all(place, 'anyOf')].map(one => one.at)
  const told = at.length > 0 ? [...at, ...unions] : [...all(place, 'enum'), ...all(place, 'const')].map(one => one.at)
  if (told.length === 0) return
  const fixed = [...all(place, 'const').map(one => one.value), ...all(place, 'enum').flatMap(one => listOf(one.value))]
  for (const [type, about, other] of PRIMITIVES) {
    const taken = allowed.has(type) && (at.length > 0 || fixed.some(one => JSON.stringify(one) === JSON.stringify(other)))
    if (taken || (at.length === 0 && fixed.includes(other))) continue
    yield making.wrong(about, { value: other }, told)
  }
  // The arguments themselves are an object, and a number in their place says nothing about numbers.
  if (typeof value === 'number') yield making.wrong('a number that cannot be kept exactly', new UnsafeNumber(), [])
}

function * ofLists (making: Making, value: Json): Generator<Neighbour> {
  for (const keyword of ['enum', 'const'] as const) {
    for (const { value: declared, at } of all(making.place, keyword)) {
      const listed = keyword === 'enum' ? listOf(declared) : [declared]
      const other = typeof value === 'number' ? value + 7919 : typeof value === 'string' ? `${value}_` : typeof value === 'boolean' ? !value : null
      if (other === null || listed.includes(other)) continue
      yield making.wrong('a value that is not listed', { value: other }, [at])
      if (typeof value === 'string' && value.toUpperCase() !== value && !listed.includes(value.toUpperCase())) {
        yield making.wrong('a listed value in capitals', { value: value.toUpperCase() }, [at])
      }
    }
  }
}

/** A value of one branch with a part of another, and a branch that does not exist. */
function * ofUnions (making: Making, places: SchemaPlaces, value: Json): Generator<Neighbour> {
  for (const keyword of ['oneOf', 'anyOf'] as const) {
    for (const { value: branches, at } of all(making.place, keyword)) {
      const chosen = places.choices.get(at) ?? 0
      for (const [index] of listOf(branches).entries()) {
        if (index === chosen || !isObject(value)) continue
        const others = places.choosing(at, index)
        const other = smallest(others, others.again(making.place), { full: true, variant: 0 })
        const name = isObject(other) ? Object.keys(other).find(one => !Object.hasOwn(value, one)) : undefined
        if (name === undefined || !isObject(other)) continue
        yield making.wrong(`branch ${chosen + 1} mixed with branch ${index + 1}`, { value: { ...value, [name]: other[name]! } }, [at])
      }
      const discriminator = isObject(value) ? discriminatorOf(making.place, places, at, listOf(branches).length) : null
      if (discriminator === null || !isObject(value)) continue
      yield { ...making.wrong(`an unknown ${discriminator}`, { value: { ...value, [discriminator]: 'undeclared_kind' } }, [at]), inUnion: false }
    }
  }
}

/** A property that every branch fixes to a constant. */
function discriminatorOf (place: Place, places: SchemaPlaces, union: string, branches: number): string | null {
  const fixedIn = (index: number): readonly string[] => {
    const others = places.choosing(union, index)
    const other = others.again(place)
    return propertiesOf(other).filter(name => all(others.property(other, name), 'const').length > 0)
  }
  return fixedIn(0).find(name => Array.from({ length: branches }, (_, index) => index).every(index => fixedIn(index).includes(name))) ?? null
}

function * ofText (making: Making): Generator<Neighbour> {
  const { place } = making
  if (all(place, 'enum').length > 0 || all(place, 'const').length > 0) return
  yield * ofLength(making)
  const least = bound(place, 'minLength', 'greatest')?.value ?? 0
  const most = bound(place, 'maxLength', 'least')?.value ?? Infinity
  for (const { value, at } of all(place, 'pattern')) {
    const base = smallestText(place, 0) ?? ''
    const misses = [
      `${base}~`,
      `~${base}`,
      ` ${base}`,
      `${base}\n`,
      base.toUpperCase(),
      base.slice(0, -1),
      '~'.repeat(Math.max(least, 1)),
      '\u0000'.repeat(Math.max(least, 1)),
      '',
    ]
    const fitting = misses.filter(
      (text, index) => [...text].length >= least && [...text].length <= most && !matches(String(value), text) && misses.indexOf(text) === index
    )
    for (const text of fitting.slice(0, 3)) {
      yield making.wrong(`a text that the pattern does not match (${JSON.stringify(text)})`, { value: text }, [at])
    }
  }
  for (const { value, at } of all(place, 'format')) {
    for (const text of FORMATS.get(String(value))?.bad ?? []) {
      yield making.wrong(`no ${String(value)} (${JSON.stringify(text)})`, { value: text }, [at])
    }
  }
}

function * ofLength (making: Making): Generator<Neighbour> {
  const { place } = making
  const min = bound(place, 'minLength', 'greatest')
  const max = bound(place, 'maxLength', 'least')
  if (min !== null && min.value > 0) {
    yield making.wrong('empty', { value: '' }, [min.at])
    if (min.value > 1) yield making.wrong('one character too short', { value: ofLengthAnyway(place, min.value - 1) }, [min.at])
    const exact = smallestText(place, 0, min.value)
    if (exact !== undefined) yield making.right('as short as allowed', exact, [min.at])
  } else if (all(place, 'pattern').some(({ value }) => !matches(String(value), ''))) {
    yield making.wrong('empty', { value: '' }, all(place, 'pattern').filter(({ value }) => !matches(String(value), '')).map(({ at }) => at))
  }
  if (max !== null && max.value <= 100_000) {
    yield making.wrong('one character too long', { value: ofLengthAnyway(place, max.value + 1) }, [max.at])
    const exact = smallestText(place, 0, max.value)
    if (exact !== undefined) yield making.right('as long as allowed', exact, [max.at])
  }
}

/** Right in all but its length where such a text is found. */
function ofLengthAnyway (place: Place, length: number): string {
  const loose: Place = { ...place, parts: place.parts.map(({ schema, at }) => ({ at, schema: { ...schema, minLength: 0, maxLength: length } })) }
  return smallestText(loose, 0, length) ?? 'a'.repeat(length)
}

function * ofNumber (making: Making, value: number): Generator<Neighbour> {
  const { place } = making
  if (all(place, 'enum').length > 0 || all(place, 'const').length > 0) return
  const type = typesOf(place).has('number') ? 'number' : 'integer'
  const { min, max } = rangeOf(place, type)
  const step = all(place, 'multipleOf').map(one => one.value).find(one => typeof one === 'number')
  const nudge = type === 'integer' ? 1 : 0.5
  for (
    const [keyword, strictest, beyond] of [
      ['minimum', 'greatest', -nudge], ['maximum', 'least', nudge], ['exclusiveMinimum', 'greatest', 0], ['exclusiveMaximum', 'least', 0],
    ] as const
  ) {
    const found = bound(place, keyword, strictest)
    if (found === null || !Number.isSafeInteger(Math.trunc(found.value + beyond))) continue
    yield making.wrong(
      beyond < 0 || keyword === 'exclusiveMinimum' ? 'just below what is allowed' : 'just above what is allowed',
      { value: found.value + beyond },
      [found.at]
    )
    const inside = strictest === 'greatest' ? min : max
    if (step === undefined || Number.isInteger(inside / step)) {
      yield making.right(strictest === 'greatest' ? 'as small as allowed' : 'as great as allowed', inside, [found.at])
    }
  }
  for (const { value: multiple, at } of all(place, 'multipleOf')) {
    if (typeof multiple !== 'number') continue
    const off = type === 'integer' && Number.isInteger(multiple) ? (multiple > 1 ? value + 1 : null) : value + multiple / 2
    if (off !== null && off >= min && off <= max) yield making.wrong('between two allowed steps', { value: off }, [at])
  }
}

function * ofArray (making: Making, places: SchemaPlaces, value: readonly Json[]): Generator<Neighbour> {
  const { place, pointer } = making
  const wanted = { full: false, variant: 0 }
  const min = bound(place, 'minItems', 'greatest')
  const max = bound(place, 'maxItems', 'least')
  if (min !== null && min.value > 0) {
    yield making.wrong('one item too few', { value: itemsOf(places, place, min.value - 1, wanted) ?? [] }, [min.at])
    const exact = itemsOf(places, place, min.value, wanted)
    if (exact !== undefined) yield making.right('as few items as allowed', exact, [min.at])
  }
  if (max !== null && max.value < ITEMS_MAX) {
    const more = itemsOf(places, place, max.value + 1, wanted) ?? Array.from({ length: max.value + 1 }, () => value[0] ?? null)
    yield making.wrong('one item too many', { value: more }, [max.at])
    const exact = itemsOf(places, place, max.value, wanted)
    if (exact !== undefined) yield making.right('as many items as allowed', exact, [max.at])
  }
  for (const { value: unique, at } of all(place, 'uniqueItems')) {
    if (unique === true && value.length > 0 && (max?.value ?? Infinity) >= 2) {
      yield making.wrong('the same item twice', { value: [value[0]!, value[0]!] }, [at])
    }
  }
  // Items behind those that have a schema of their own are all alike.
  const own = Math.max(0, ...all(place, 'prefixItems').map(one => listOf(one.value).length))
  for (const [index, item] of value.slice(0, own + 1).entries()) yield * neighboursOf(places, places.item(place, index), item, `${pointer}/${index}`)
}

function * ofObject (making: Making, places: SchemaPlaces, value: { readonly [name: string]: Json }): Generator<Neighbour> {
  const { place, pointer } = making
  const at = (name: string): string => `${pointer}/${escaped(name)}`
  for (const keyword of ['additionalProperties', 'unevaluatedProperties'] as const) {
    for (const closed of all(place, keyword).filter(one => one.value === false)) {
      yield making.wrong('a field that is not declared', { value: true }, [closed.at], { pointer: at('undeclared_field') })
    }
  }
  for (const [name, boundary] of requiredOf(place)) {
    yield making.wrong('left out although it is required', { without: true }, [boundary], { pointer: at(name) })
  }
  for (const { value: rule, at: boundary } of all(place, 'dependentRequired')) {
    for (const [name, needed] of Object.entries(isObject(rule) ? rule : {})) {
      for (const other of listOf(needed).map(String)) {
        if (!Object.hasOwn(value, name) || !Object.hasOwn(value, other)) continue
        yield making.wrong(
          `left out although ${name} is there`, { without: true }, [`${boundary}/${escaped(name)}/${escaped(other)}`], { pointer: at(other) }
        )
      }
    }
  }
  yield * ofPropertyCount(making, places, value)
  for (const name of propertiesOf(place)) {
    if (Object.hasOwn(value, name)) yield * neighboursOf(places, places.property(place, name), value[name]!, at(name))
  }
}

function * ofPropertyCount (making: Making, places: SchemaPlaces, value: { readonly [name: string]: Json }): Generator<Neighbour> {
  const { place } = making
  const min = bound(place, 'minProperties', 'greatest')
  const max = bound(place, 'maxProperties', 'least')
  if (min !== null && min.value > 0) {
    const few = Object.fromEntries(Object.entries(value).slice(0, min.value - 1))
    yield making.wrong('one property too few', { value: few }, [min.at])
  }
  if (max === null || propertiesOf(place).length <= max.value) return
  const unlimited: Place = { ...place, parts: place.parts.map(({ schema: { maxProperties, ...schema }, at }) => ({ schema, at })) }
  const full = smallest(places, unlimited, { full: true, variant: 0 })
  if (isObject(full) && Object.keys(full).length > max.value) yield making.wrong('one property too many', { value: full }, [max.at])
}
