// What two versions of a JSON Schema mean to each other. In a request a schema that takes less breaks who sends; in an answer one that promises
// less breaks who reads. What both sides refer to by one name is compared once, under that name.
import { isDeepStrictEqual } from 'node:util'
import { isObject, type Json, type JsonObject } from '../../catalog/catalog.ts'
import type { Impact } from './finding.ts'
import {
  bare, choicesOf, definition, listed, listOf, mapOf, mentionsReferences, merged, mostLike, nameOfBranch, namedAs, namesOf, partsOf, referenceOf,
  together, told, typesOf, valuesOf,
} from './schema-parts.ts'

export type Direction = 'request' | 'answer'

export interface Change {
  /** JSON Pointer into the value that the schema describes; `*` is any item. */
  readonly at: string
  readonly impact: Impact
  readonly message: string
  /** Something stands in an answer that did not stand there before. */
  readonly shows?: true
}

/** A part that both sides have by the same name. */
export interface SharedPart {
  readonly name: string
  readonly direction: Direction
  readonly changes: readonly Change[]
  /** Keys of other shared parts that it refers to. */
  readonly uses: ReadonlySet<string>
}

export interface Compared {
  readonly changes: readonly Change[]
  readonly uses: ReadonlySet<string>
}

const DEPTH_MAX = 40

/** Compares the schemas of one pair of documents; what they share is remembered. */
export class SchemaComparison {
  /** By direction and name, `answer simple-user`. */
  readonly shared = new Map<string, SharedPart>()

  compare (before: Json, after: Json, direction: Direction): Compared {
    const comparing = new Comparing(this.shared, rootOf(before), rootOf(after), direction)
    comparing.pair(before, after, '', 0)
    return comparing
  }
}

const rootOf = (schema: Json): JsonObject => isObject(schema) ? schema : {}

class Comparing implements Compared {
  readonly changes: Change[] = []
  readonly uses = new Set<string>()
  readonly #shared: Map<string, SharedPart>
  readonly #before: JsonObject
  readonly #after: JsonObject
  readonly #direction: Direction

  constructor (shared: Map<string, SharedPart>, before: JsonObject, after: JsonObject, direction: Direction) {
    this.#shared = shared
    this.#before = before
    this.#after = after
    this.#direction = direction
  }

  pair (before: Json, after: Json, at: string, depth: number): void {
    if (depth > DEPTH_MAX) return
    const [one, other] = [bare(before, this.#before), bare(after, this.#after)]
    const common = one.names.find(({ name }) => other.names.some(also => also.name === name))
    if (common !== undefined) {
      const also = other.names.find(({ name }) => name === common.name)!
      if (common.nullable !== also.nullable) this.#widened(at, also.nullable, 'null')
      return this.#byName(common.name)
    }
    if (one.names.length + other.names.length === 0 && isDeepStrictEqual(before, after) && !mentionsReferences(before)) return
    if (one.nullable !== other.nullable) this.#widened(at, other.nullable, 'null')
    const [was, is] = [one.schema, other.schema]
    if (!isObject(was) || !isObject(is)) {
      if (!isDeepStrictEqual(was, is)) {
        this.#change(at, is === false || isObject(is) ? 'narrower' : 'wider', 'what is taken here has changed as a whole')
      }
      return
    }
    const [left, right] = [namedAs(one), namedAs(other)]
    if (this.#composed(left, right, was, is, at, depth) || this.#chosen(left, right, was, is, at, depth)) return
    this.#plainly(was, is, at, depth)
  }

  #plainly (was: JsonObject, is: JsonObject, at: string, depth: number): void {
    this.#types(was, is, at)
    this.#values(was, is, at)
    this.#bounds(was, is, at)
    this.#properties(was, is, at, depth)
    this.#branches(was, is, at, depth)
    const items = [was.items, is.items] as const
    if (items[0] !== undefined && items[1] !== undefined) this.pair(items[0], items[1], `${at}/*`, depth + 1)
    else if (items[0] === undefined && items[1] !== undefined) this.#change(at, 'narrower', 'what its items are is said now')
    else if (items[0] !== undefined) this.#change(at, 'wider', 'what its items are is said no more')
  }

  /** What is put together of parts: parts of the same name belong together, and what is left is one object on each side. */
  #composed (before: Json, after: Json, was: JsonObject, is: JsonObject, at: string, depth: number): boolean {
    if (was.allOf === undefined && is.allOf === undefined) return false
    const [olds, news] = [partsOf(before, was), partsOf(after, is)]
    const alone: JsonObject[] = []
    for (const part of olds) {
      const name = referenceOf(part)
      const index = name === null ? -1 : news.findIndex(other => referenceOf(other) === name)
      if (index < 0) {
        alone.push(merged(part, this.#before))
      } else {
        news.splice(index, 1)
        this.#byName(name!)
      }
    }
    const [left, right] = [together(alone), together(news.map(part => merged(part, this.#after)))]
    // A part that comes or goes beside others says nothing of its own about the type.
    if (alone.length === 0 || news.length === 0) this.#properties(left, right, at, depth)
    else this.#plainly(left, right, at, depth)
    return true
  }

  /** One form on one side and a choice of forms on the other: the form is compared with the one that is most like it. */
  #chosen (before: Json, after: Json, was: JsonObject, is: JsonObject, at: string, depth: number): boolean {
    const [olds, news] = [choicesOf(was), choicesOf(is)]
    if ((olds === null) === (news === null)) return false
    if (olds === null) {
      this.#change(at, 'wider', `is one of ${news!.map(nameOfBranch).join(', ')} now`)
      this.pair(before, mostLike(before, was, news!, this.#after), at, depth + 1)
    } else {
      this.#change(at, 'narrower', `is no more one of ${olds.map(nameOfBranch).join(', ')}`)
      this.pair(mostLike(after, is, olds, this.#before), after, at, depth + 1)
    }
    return true
  }

  #byName (name: string): void {
    const key = `${this.#direction} ${name}`
    this.uses.add(key)
    if (this.#shared.has(key)) return
    const inner = new Comparing(this.#shared, this.#before, this.#after, this.#direction)
    // Known before it is compared, so that what refers to itself ends here.
    this.#shared.set(key, { name, direction: this.#direction, changes: inner.changes, uses: inner.uses })
    const [before, after] = [definition(this.#before, name), definition(this.#after, name)]
    if (before !== undefined && after !== undefined && !(isDeepStrictEqual(before, after) && !mentionsReferences(before))) {
      inner.pair(before, after, '', 0)
    }
  }

  #types (was: JsonObject, is: JsonObject, at: string): void {
    const [before, after] = [typesOf(was), typesOf(is)]
    if (before === null && after === null) return
    if (before === null || after === null) {
      const allowed = [...(before ?? after)!].join(' or ')
      return this.#change(
        at,
        before === null ? 'narrower' : 'wider',
        before === null ? `must be of the type ${allowed} now` : `may be of any type now, not only ${allowed}`
      )
    }
    const gone = [...before].filter(type => !after.has(type) && !(type === 'integer' && after.has('number')))
    const come = [...after].filter(type => !before.has(type) && !(type === 'integer' && before.has('number')))
    for (const type of gone) this.#change(at, 'narrower', `is of the type ${type} no more`)
    for (const type of come) this.#change(at, 'wider', `may be of the type ${type} now`)
  }

  #values (was: JsonObject, is: JsonObject, at: string): void {
    const [before, after] = [valuesOf(was), valuesOf(is)]
    if (before === null && after === null) return
    // A list that comes or goes says less about an answer than a value that does: readers know the values that they know.
    if (before === null) return this.#change(at, 'narrower', `is one of ${listed(after!)} now`)
    if (after === null) return this.#change(at, 'looser', `is no more only one of ${listed(before)}`)
    const gone = before.filter(value => !after.some(other => isDeepStrictEqual(value, other)))
    const come = after.filter(value => !before.some(other => isDeepStrictEqual(value, other)))
    if (gone.length > 0) this.#change(at, 'narrower', `is ${listed(gone)} no more`)
    if (come.length > 0) this.#change(at, 'looser', `may be ${listed(come)} now`)
  }

  #bounds (was: JsonObject, is: JsonObject, at: string): void {
    for (const [keyword, tighter] of BOUNDS) {
      const [before, after] = [was[keyword], is[keyword]]
      if (before === after || (typeof before !== 'number' && typeof after !== 'number')) continue
      const narrower = typeof before !== 'number' || (typeof after === 'number' && (tighter === 'up' ? after > before : after < before))
      this.#change(at, narrower ? 'narrower' : 'looser', `${keyword} ${told(before)} → ${told(after)}`)
    }
    this.#format(was, is, at)
    for (const keyword of ['pattern', 'multipleOf', 'uniqueItems', 'not', 'contains'] as const) {
      const [before, after] = [was[keyword], is[keyword]]
      if (isDeepStrictEqual(before, after)) continue
      this.#change(at, after === undefined || after === false ? 'looser' : 'narrower', `${keyword} ${told(before)} → ${told(after)}`)
    }
  }

  #format (was: JsonObject, is: JsonObject, at: string): void {
    if (was.format === is.format) return
    const message = `format ${told(was.format)} → ${told(is.format)}`
    // Of a number it says how it is kept, and only a smaller one takes less.
    if (NUMBER_FORMATS.has(String(was.format ?? is.format))) {
      this.#change(at, is.format === 'int32' && was.format === 'int64' ? 'narrower' : 'wider', message, 'risky')
    }
    else this.#change(at, is.format === undefined ? 'looser' : 'narrower', message)
  }

  #properties (was: JsonObject, is: JsonObject, at: string, depth: number): void {
    const [before, after] = [mapOf(was.properties), mapOf(is.properties)]
    const [neededBefore, neededAfter] = [namesOf(was.required), namesOf(is.required)]
    for (const [name, schema] of Object.entries(before)) {
      const pointer = `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
      const other = Object.hasOwn(after, name) ? after[name] : undefined
      if (other === undefined) {
        this.#put(pointer, 'breaking', this.#direction === 'request' ? 'is not described any more' : 'is not in the answer any more')
        continue
      }
      if (neededBefore.has(name) !== neededAfter.has(name)) this.#need(pointer, neededAfter.has(name))
      this.pair(schema, other, pointer, depth + 1)
    }
    for (const name of Object.keys(after)) {
      if (Object.hasOwn(before, name)) continue
      const pointer = `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
      const needed = neededAfter.has(name)
      if (this.#direction === 'request') this.#put(pointer, needed ? 'breaking' : 'compatible', needed ? 'is new and required' : 'is new')
      else this.#put(pointer, 'compatible', 'is new in the answer', { shows: true })
    }
    this.#others(was.additionalProperties, is.additionalProperties, at, depth)
  }

  #need (pointer: string, needed: boolean): void {
    if (this.#direction === 'request') this.#put(pointer, needed ? 'breaking' : 'compatible', needed ? 'is required now' : 'may be left out now')
    else this.#put(pointer, needed ? 'compatible' : 'breaking', needed ? 'is always there now' : 'may be missing now')
  }

  #others (before: Json | undefined, after: Json | undefined, at: string, depth: number): void {
    if (isDeepStrictEqual(before, after)) return
    if (isObject(before) && isObject(after)) this.pair(before, after, `${at}/*`, depth + 1)
    else if (after === false) this.#change(at, 'narrower', 'takes no other properties any more')
    else if (before === false) this.#change(at, 'looser', 'may have other properties now')
    else if (isObject(after)) this.#change(at, 'narrower', 'what its other properties are is said now')
    else if (isObject(before)) this.#change(at, 'looser', 'what its other properties are is said no more')
  }

  #branches (was: JsonObject, is: JsonObject, at: string, depth: number): void {
    for (const keyword of ['oneOf', 'anyOf', 'allOf'] as const) {
      const [before, after] = [listOf(was[keyword]), listOf(is[keyword])]
      if (before.length === 0 && after.length === 0) continue
      const [onlyBefore, onlyAfter] = this.#matched(before, after, at, depth)
      // What stays alone on both sides at the same place is one branch that has changed.
      while (onlyBefore.length > 0 && onlyAfter.length > 0 && before.length === after.length) {
        this.pair(onlyBefore.shift()!, onlyAfter.shift()!, at, depth + 1)
      }
      const more = keyword === 'allOf' ? 'narrower' : 'wider'
      if (onlyAfter.length > 0) {
        this.#change(
          at, before.length === 0 && keyword !== 'allOf' ? 'narrower' : more, `${keyword} has ${onlyAfter.map(nameOfBranch).join(', ')} now`
        )
      }
      if (onlyBefore.length > 0) {
        this.#change(
          at,
          (after.length === 0 && keyword !== 'allOf') || more === 'narrower' ? 'wider' : 'narrower',
          `${keyword} has ${onlyBefore.map(nameOfBranch).join(', ')} no more`
        )
      }
    }
  }

  /** Branches of the same name or the same text belong together. What is left of each side. */
  #matched (before: readonly Json[], after: readonly Json[], at: string, depth: number): readonly [Json[], Json[]] {
    const left = [...after]
    const alone: Json[] = []
    for (const branch of before) {
      const name = referenceOf(branch)
      const index = left.findIndex(other => name === null ? isDeepStrictEqual(other, branch) : referenceOf(other) === name)
      if (index < 0) alone.push(branch)
      else this.pair(branch, left.splice(index, 1)[0]!, at, depth + 1)
    }
    return [alone, left]
  }

  #widened (at: string, wider: boolean, what: string): void {
    this.#change(at, wider ? 'wider' : 'narrower', wider ? `may be ${what} now` : `is ${what} no more`)
  }

  /** `looser`: as wider, but readers of an answer were never promised that it stays so. */
  #change (at: string, how: 'narrower' | 'wider' | 'looser', message: string, gravest: Impact = 'breaking'): void {
    const breaks = this.#direction === 'request' ? how === 'narrower' : how !== 'narrower'
    this.#put(at, !breaks ? 'compatible' : how === 'looser' ? 'risky' : gravest, message)
  }

  #put (at: string, impact: Impact, message: string, more: { readonly shows?: true } = {}): void {
    if (!this.changes.some(change => change.at === at && change.message === message)) this.changes.push({ at, impact, message, ...more })
  }
}

const NUMBER_FORMATS: ReadonlySet<string> = new Set(['int32', 'int64', 'float', 'double'])

/** Which way a bound gets tighter. */
const BOUNDS = [
  ['minLength', 'up'], ['minItems', 'up'], ['minProperties', 'up'], ['minimum', 'up'], ['exclusiveMinimum', 'up'],
  ['maxLength', 'down'], ['maxItems', 'down'], ['maxProperties', 'down'], ['maximum', 'down'], ['exclusiveMaximum', 'down'],
] as const
