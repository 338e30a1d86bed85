// The calls of an action that its input schema alone decides: the smallest and the fullest valid one, every invalid neighbour, and what stands on a
// boundary from inside.
import { isObject, type Action, type Json, type JsonObject } from '../../catalog/catalog.ts'
import { boundariesOf, unionsOf } from './boundary.ts'
import { neighboursOf, UnsafeNumber, type Neighbour, type Replacement } from './neighbours.ts'
import { propertiesOf, SchemaPlaces } from './place.ts'
import { smallest } from './smallest.ts'

export interface ArgumentCase {
  readonly name: string
  /** The arguments as the text of JSON that is sent. */
  readonly text: string
  /** JSON Pointers into the input schema. */
  readonly boundaries: readonly string[]
  /** null: the arguments are right. */
  readonly refusal: { readonly codes: readonly string[], /** null: any */ readonly field: string | null } | null
}

export interface ArgumentCases {
  /** Valid arguments to go on from; null where none could be derived, which the notes say. */
  readonly valid: JsonObject | null
  readonly cases: readonly ArgumentCase[]
  /** Every boundary that the schema declares. */
  readonly boundaries: readonly string[]
  /** What could not be derived, in words. */
  readonly notes: readonly string[]
}

const CASES_MAX = 3_000

export function argumentCasesOf (action: Action): ArgumentCases {
  const schema = action.inputSchema as JsonObject
  const gathering = new Gathering(action)
  const places = new SchemaPlaces(schema)
  gathering.base(places, 'the smallest valid call', false)
  gathering.base(places, 'the fullest valid call', true)
  for (const union of unionsOf(schema)) {
    for (let branch = 1; branch < union.branches; branch++) {
      gathering.base(choosing(places, union.at, branch), `branch ${branch + 1} of ${union.at}`, true)
    }
  }
  gathering.leftOut(places)
  gathering.examples(places)
  return { valid: gathering.valid, cases: gathering.cases, boundaries: boundariesOf(schema), notes: gathering.notes }
}

/** A branch within a branch is reached only where the outer one is taken. */
function choosing (places: SchemaPlaces, union: string, branch: number): SchemaPlaces {
  let chosen = places
  for (const outer of union.matchAll(/(?<=^(.*\/(?:oneOf|anyOf)))\/(\d+)(?=\/)/g)) chosen = chosen.choosing(outer[1]!, Number(outer[2]))
  return chosen.choosing(union, branch)
}

class Gathering {
  readonly cases: ArgumentCase[] = []
  readonly notes: string[] = []
  valid: JsonObject | null = null
  readonly #action: Action
  /** Arguments that some base has. */
  readonly #seen = new Set<string>()
  /** Where in `cases` a text stands. */
  readonly #places = new Map<string, number>()

  constructor (action: Action) {
    this.#action = action
  }

  base (places: SchemaPlaces, name: string, full: boolean): void {
    const value = smallest(places, places.top, { full, variant: 0 })
    if (!isObject(value)) {
      this.notes.push(`no value was found for ${name}`)
      return
    }
    const fault = this.#action.checkArguments(value)
    if (fault === null) this.#from(places, name, value)
    else this.notes.push(`${name} could not be derived: ${fault.pointer} ${fault.message}`)
  }

  /** Arguments that had no room beside the others are looked at beside what is required. */
  leftOut (places: SchemaPlaces): void {
    const least = smallest(places, places.top, { full: false, variant: 0 })
    if (!isObject(least)) return
    for (const name of propertiesOf(places.top)) {
      if (this.#seen.has(name)) continue
      const value = smallest(places, places.property(places.top, name), { full: true, variant: 0 })
      const made = value === undefined ? null : { ...least, [name]: value }
      if (made !== null && this.#action.checkArguments(made) === null) this.#from(places, `the smallest call with ${name}`, made)
    }
  }

  /** The calls that the sheet shows. Where the schema says more than is understood here, their neighbours are made too. */
  examples (places: SchemaPlaces): void {
    const nothingDerived = this.valid === null
    for (const [index, { arguments: args }] of this.#action.examples.entries()) {
      const name = `example ${index + 1}`
      if (nothingDerived) this.#from(places, name, args)
      else this.#add({ name, text: JSON.stringify(args), boundaries: [], refusal: null })
    }
  }

  #from (places: SchemaPlaces, name: string, value: JsonObject): void {
    this.valid ??= value
    for (const property of Object.keys(value)) this.#seen.add(property)
    this.#add({ name, text: JSON.stringify(value), boundaries: [], refusal: null })
    for (const neighbour of neighboursOf(places, places.top, value)) this.#neighbour(value, neighbour)
    this.#twoDefects(places, value)
  }

  #neighbour (value: JsonObject, neighbour: Neighbour): void {
    const { pointer, replacement, boundaries, allowed, field } = neighbour
    const text = textWith(value, pointer, replacement)
    // Of a union only what no branch takes is a neighbour; and what a bound alone allows, another rule may refuse.
    const meant = replacement instanceof UnsafeNumber || !(allowed || neighbour.inUnion) || (
      this.#action.checkArguments(JSON.parse(text) as Json) === null
    ) === allowed
    if (!meant) return
    const codes = replacement instanceof UnsafeNumber ? ['UNSAFE_NUMBER', 'INVALID_ARGUMENTS'] : ['INVALID_ARGUMENTS']
    const name = `${pointer === '' ? 'the arguments' : pointer}: ${neighbour.about}`
    this.#add({ name, text, boundaries, refusal: allowed ? null : { codes, field } })
  }

  #twoDefects (places: SchemaPlaces, value: JsonObject): void {
    const both = Object.entries(value)
    const [first] = both
    const broken = { ...Object.fromEntries(both.slice(1)), ...(first === undefined ? {} : { [first[0]]: [null] }), undeclared_field: true }
    if (places.top.inUnion || first === undefined) return
    this.#add({ name: 'two defects at once', text: JSON.stringify(broken), boundaries: [], refusal: { codes: ['INVALID_ARGUMENTS'], field: null } })
  }

  #add (made: ArgumentCase): void {
    const place = this.#places.get(made.text)
    if (place !== undefined) {
      // One call can cross boundaries of several branches.
      const known = this.cases[place]!
      this.cases[place] = { ...known, boundaries: [...new Set([...known.boundaries, ...made.boundaries])] }
      return
    }
    if (this.cases.length >= CASES_MAX) {
      if (this.notes.at(-1) !== TOO_MANY) this.notes.push(TOO_MANY)
      return
    }
    this.#places.set(made.text, this.cases.length)
    this.cases.push(made)
  }
}

/** Valid arguments that differ from these; null where none could be derived. */
export function otherArguments (action: Pick<Action, 'inputSchema' | 'checkArguments'>, args: JsonObject): JsonObject | null {
  const places = new SchemaPlaces(action.inputSchema as JsonObject)
  const other: Json | undefined = smallest(places, places.top, { full: false, variant: 1 })
  return isObject(other) && action.checkArguments(other) === null && JSON.stringify(other) !== JSON.stringify(args) ? other : null
}

const TOO_MANY = `more than ${CASES_MAX} cases; the rest was left out`

/** A marker that no schema and no author writes. */
const RAW = '\u0002raw\u0002'

function textWith (value: JsonObject, pointer: string, replacement: Replacement): string {
  const put = replacement instanceof UnsafeNumber ? { value: RAW } : replacement
  const made = replaced(value, pointer.split('/').slice(1).map(part => part.replaceAll('~1', '/').replaceAll('~0', '~')), put)
  const text = JSON.stringify(made)
  return replacement instanceof UnsafeNumber ? text.replace(JSON.stringify(RAW), replacement.text) : text
}

function replaced (value: Json, path: readonly string[], put: Exclude<Replacement, UnsafeNumber>): Json {
  const [name, ...rest] = path
  if (name === undefined) return 'value' in put ? put.value : value
  if (Array.isArray(value)) return value.map((item: Json, index) => String(index) === name ? replaced(item, rest, put) : item)
  const entries = Object.entries(isObject(value) ? value : {})
  if (rest.length > 0) return Object.fromEntries(entries.map(([key, item]) => [key, key === name ? replaced(item, rest, put) : item]))
  const others = entries.filter(([key]) => key !== name)
  if (!('value' in put)) return Object.fromEntries(others)
  return entries.length === others.length
    ? Object.fromEntries([...entries, [name, put.value]])
    : Object.fromEntries(entries.map(([key, item]) => [key, key === name ? put.value : item]))
}
