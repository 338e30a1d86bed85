// The view: what an agent gets of an answer. Made by allow-list, pruned to the schema of the result, cut, checked and bounded: a field that the
// schema does not name cannot get out, whatever the upstream or the sheet put there.
import { ExpressionFault, isObject, ProjectionFault, type Bindings, type Json, type JsonObject, type View } from './catalog.ts'
import { compilePlainPrune, exact, PRUNE_DEPTH_MAX, type Cut, type Prune } from './plain-prune.ts'
import type { Checker, SchemaCompiler } from './schema.ts'
import { resolvePointer } from './shape.ts'
import type { Template } from './template.ts'

interface Pruned {
  readonly result: Json
  readonly truncated: boolean
}

export interface Finished extends Pruned {
  /** The result as JSON. */
  readonly text: string
}

/** Makes a value fit the schema of the result. @throws ProjectionFault */
export type Finish = (value: Json) => Finished

interface Limits { readonly maxBytes: number, readonly maxItems: number }

/** @param schema closed, and checked before. @throws Error where it cannot be compiled */
export function compileFinish (schema: JsonObject, limits: Limits, compiler: SchemaCompiler): Finish {
  const checker: Checker = compiler.compile(schema)
  const names = namesIn(schema)
  const prune = compilePlainPrune(schema, limits.maxItems) ?? compilePrune(schema, limits.maxItems, compiler)
  return value => {
    const cut: Cut = { truncated: false }
    const result = prune(value, cut)
    const fault = checker.check(result)
    if (fault !== null) throw new ProjectionFault('RESULT_INVALID', `the result at ${declared(fault.pointer, names)} breaks ${fault.rule}`)
    const text = JSON.stringify(result)
    const bytes = Buffer.byteLength(text)
    if (bytes > limits.maxBytes) throw new ProjectionFault('RESULT_TOO_LARGE', `${bytes} bytes, ${limits.maxBytes} allowed`)
    return { result, truncated: cut.truncated, text }
  }
}

/** Every name that the schema gives to a property, wherever. */
function namesIn (schema: Json, names = new Set<string>()): ReadonlySet<string> {
  if (Array.isArray(schema)) {
    for (const part of schema as readonly Json[]) namesIn(part, names)
  } else if (isObject(schema)) {
    if (isObject(schema.properties)) for (const name of Object.keys(schema.properties)) names.add(name)
    for (const part of Object.values(schema)) namesIn(part, names)
  }
  return names
}

/** A pointer without the names that an upstream made up, which may be as private as a value. */
function declared (pointer: string, names: ReadonlySet<string>): string {
  const tokens = pointer.split('/').slice(1)
  return `/${tokens.map(token => names.has(unescape(token)) || /^\d{1,6}$/.test(token) ? token : '*').join('/')}`
}

const unescape = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~')

/** To any schema. @throws Error where a branch of it cannot be compiled */
export function compilePrune (schema: JsonObject, maxItems: number, compiler: SchemaCompiler): Prune {
  const branches = new BranchMatchers(schema, compiler)
  return (value, cut) => {
    const pruner = new Pruner(schema, branches, maxItems)
    const pruned = pruner.prune(value, [schema])
    cut.truncated ||= pruner.truncated
    return pruned
  }
}

/** @param template null: the body as it came */
export function compileView (schema: JsonObject, template: Template | null, finish: Finish, maxBytes: number): View {
  return Object.freeze({
    schema,
    maxBytes,
    project (bindings: Bindings): Finished {
      return finish(source(template, bindings))
    },
  })
}

function source (template: Template | null, bindings: Bindings): Json {
  if (template === null) {
    if (bindings.response === null) throw new ProjectionFault('RESULT_INVALID', 'there is no answer to look at')
    return bindings.response.body
  }
  try {
    return template.evaluate(bindings) ?? null
  } catch (error) {
    if (!(error instanceof ExpressionFault)) throw error
    throw new ProjectionFault('RESULT_INVALID', error.message)
  }
}

/** Tells which branch of a union a value is of. Every branch is compiled at load. */
class BranchMatchers {
  readonly #matchers = new Map<JsonObject, (value: Json) => boolean>()

  constructor (root: JsonObject, compiler: SchemaCompiler) {
    const definitions: JsonObject = root.$defs === undefined ? {} : { $defs: root.$defs }
    const collect = (schema: Json): void => {
      if (Array.isArray(schema)) return schema.forEach(item => collect(item as Json))
      if (!isObject(schema)) return
      for (const branch of branchesOf(schema)) this.#matchers.set(branch, compiler.matcher({ ...branch, ...definitions }))
      for (const part of Object.values(schema)) collect(part)
    }
    collect(root)
  }

  /** There is no union at all. */
  get none (): boolean {
    return this.#matchers.size === 0
  }

  matches (branch: JsonObject, value: Json): boolean {
    return this.#matchers.get(branch)?.(value) ?? false
  }
}

const branchesOf = (schema: JsonObject): readonly JsonObject[] =>
  ['oneOf', 'anyOf'].flatMap(keyword => Array.isArray(schema[keyword]) ? (schema[keyword] as Json[]).filter(isObject) : [])

class Pruner {
  truncated = false
  readonly #root: JsonObject
  readonly #branches: BranchMatchers
  readonly #maxItems: number
  /** In a union a value is pruned to each branch, and then to those that it is of: in a tree of unions it must not be done anew at every level. */
  readonly #known = new WeakMap<object, Map<string, Pruned>>()
  readonly #numbers = new Map<JsonObject, number>()

  constructor (root: JsonObject, branches: BranchMatchers, maxItems: number) {
    this.#root = root
    this.#branches = branches
    this.#maxItems = maxItems
  }

  /** @param schemas all that describe this value at once */
  prune (value: Json, schemas: readonly JsonObject[], depth = 0): Json {
    if (depth > PRUNE_DEPTH_MAX) throw new ProjectionFault('RESULT_INVALID', 'the result is nested too deeply')
    if (typeof value === 'number') return exact(value)
    if (typeof value !== 'object' || value === null) return value
    if (this.#branches.none) return this.#pruneWithin(value, schemas, depth)
    const known = this.#knownOf(value)
    const name = this.#nameOf(schemas)
    let pruned = known.get(name)
    if (pruned === undefined) {
      const before = this.truncated
      this.truncated = false
      pruned = { result: this.#pruneWithin(value, schemas, depth), truncated: this.truncated }
      this.truncated = before
      known.set(name, pruned)
    }
    this.truncated ||= pruned.truncated
    return pruned.result
  }

  #pruneWithin (value: JsonObject | readonly Json[], schemas: readonly JsonObject[], depth: number): Json {
    const all = this.#expand(schemas, value as Json, depth)
    return Array.isArray(value) ? this.#pruneList(value as readonly Json[], all, depth) : this.#pruneObject(value as JsonObject, all, depth)
  }

  #knownOf (value: object): Map<string, Pruned> {
    let known = this.#known.get(value)
    if (known === undefined) this.#known.set(value, known = new Map())
    return known
  }

  #nameOf (schemas: readonly JsonObject[]): string {
    return schemas.map(schema => {
      let number = this.#numbers.get(schema)
      if (number === undefined) this.#numbers.set(schema, number = this.#numbers.size)
      return number
    }).join()
  }

  #pruneList (items: readonly Json[], schemas: readonly JsonObject[], depth: number): Json {
    const kept = items.length > this.#maxItems ? items.slice(0, this.#maxItems) : items
    if (kept !== items) this.truncated = true
    return kept.map((item, index) => {
      const within = schemas.flatMap(schema => {
        const fixed = Array.isArray(schema.prefixItems) ? schema.prefixItems[index] as Json | undefined : undefined
        const part = fixed ?? schema.items
        return isObject(part) ? [part] : []
      })
      return this.prune(item, within.length > 1 ? [...new Set(within)] : within, depth + 1)
    })
  }

  #pruneObject (object: JsonObject, schemas: readonly JsonObject[], depth: number): Json {
    const kept: Array<readonly [string, Json]> = []
    for (const name of Object.keys(object)) {
      const within = schemas.flatMap(schema => {
        const properties = schema.properties
        if (isObject(properties) && Object.hasOwn(properties, name)) return isObject(properties[name]) ? [properties[name]] : []
        return isObject(schema.additionalProperties) ? [schema.additionalProperties] : []
      })
      if (within.length > 0) kept.push([name, this.prune(object[name]!, within.length > 1 ? [...new Set(within)] : within, depth + 1)])
    }
    return Object.fromEntries(kept)
  }

  /** With what the schemas refer to or are composed of. Of a union, only the branches that the value is of, once pruned to them. */
  #expand (schemas: readonly JsonObject[], value: Json, depth: number): readonly JsonObject[] {
    const all: JsonObject[] = []
    const add = (schema: Json | undefined): void => {
      if (!isObject(schema) || all.includes(schema)) return
      all.push(schema)
      if (typeof schema.$ref === 'string') add(resolvePointer(this.#root, schema.$ref) as Json)
      if (Array.isArray(schema.allOf)) schema.allOf.forEach(part => add(part as Json))
      const branches = branchesOf(schema)
      if (branches.length === 0) return
      const before = this.truncated
      const matching = branches.filter(branch => this.#branches.matches(branch, this.prune(value, [branch], depth + 1)))
      this.truncated = before
      ;(matching.length > 0 ? matching : branches).forEach(add)
    }
    schemas.forEach(add)
    return all
  }
}
