// What two versions of an operation mean to a sheet that names it.
import type { Json } from '../../catalog/catalog.ts'
import type { Operation, Parameter } from '../../catalog/openapi/operation.ts'
import type { Change, SchemaComparison } from './schema.ts'

export interface OperationChanges {
  readonly changes: readonly Change[]
  /** Keys of the parts that it shares with others, in the comparison. */
  readonly uses: ReadonlySet<string>
}

export function compareOperations (before: Operation, after: Operation, schemas: SchemaComparison): OperationChanges {
  const comparing = new Comparing(schemas)
  if (before.method !== after.method || before.path !== after.path) {
    comparing.put('', 'breaking', `is ${after.method} ${after.path} now, and was ${before.method} ${before.path}`)
  }
  comparing.parameters(before, after)
  comparing.bodies(before, after)
  comparing.answers(before, after)
  if (before.servers.join(' ') !== after.servers.join(' ')) comparing.put('', 'breaking', 'is served elsewhere now')
  return comparing
}

class Comparing implements OperationChanges {
  readonly changes: Change[] = []
  readonly uses = new Set<string>()
  readonly #schemas: SchemaComparison

  constructor (schemas: SchemaComparison) {
    this.#schemas = schemas
  }

  parameters (before: Operation, after: Operation): void {
    const [olds, news] = [byName(before), byName(after)]
    for (const [name, old] of olds) {
      const now = news.get(name)
      const at = `/parameters/${name}`
      if (now === undefined) {
        // A name of the path belongs to the path, which is told above.
        this.put(at, 'breaking', 'is not taken any more')
        continue
      }
      if (now.required !== old.required) {
        this.put(at, now.required ? 'breaking' : 'compatible', now.required ? 'is required now' : 'may be left out now')
      }
      if (now.style !== old.style || now.explode !== old.explode || now.mediaType !== old.mediaType) {
        this.put(at, 'breaking', 'is written in another way now')
      }
      this.#schema(old.schema, now.schema, 'request', at)
    }
    for (const [name, now] of news) {
      if (!olds.has(name)) this.put(`/parameters/${name}`, now.required ? 'breaking' : 'compatible', now.required ? 'is new and required' : 'is new')
    }
  }

  bodies (before: Operation, after: Operation): void {
    if (before.bodyRequired !== after.bodyRequired) {
      this.put('/body', after.bodyRequired ? 'breaking' : 'compatible', after.bodyRequired ? 'is required now' : 'may be left out now')
    }
    for (const [type, body] of before.bodies) {
      const now = after.bodies.get(type)
      if (now === undefined) this.put('/body', 'breaking', `is not taken as ${type} any more`)
      else this.#schema(body.schema, now.schema, 'request', '/body')
    }
    for (const type of after.bodies.keys()) if (!before.bodies.has(type)) this.put('/body', 'compatible', `is taken as ${type} now`)
  }

  answers (before: Operation, after: Operation): void {
    const news = new Map(after.responses.map(response => [response.status, response]))
    for (const { status, content } of before.responses) {
      const now = news.get(status)
      const at = `/responses/${status}`
      const success = status.startsWith('2')
      if (now === undefined) {
        this.put(at, success ? 'breaking' : 'compatible', 'is not answered any more')
        continue
      }
      for (const [type, schema] of content) {
        const other = now.content.get(type)
        if (other === undefined) this.put(at, success ? 'breaking' : 'compatible', `is not answered as ${type} any more`)
        else if (success) this.#schema(schema, other, 'answer', at)
      }
      if (success && content.size === 0 && now.content.size > 0) this.put(at, 'compatible', 'has a body now')
    }
    const olds = new Set(before.responses.map(response => response.status))
    for (const status of news.keys()) {
      if (!olds.has(status)) this.put(`/responses/${status}`, status.startsWith('2') ? 'risky' : 'compatible', 'may be answered now')
    }
  }

  put (at: string, impact: Change['impact'], message: string): void {
    this.changes.push({ at, impact, message })
  }

  #schema (before: unknown, after: unknown, direction: 'request' | 'answer', at: string): void {
    const { changes, uses } = this.#schemas.compare(before as Json, after as Json, direction)
    for (const change of changes) this.put(`${at}${change.at}`, change.impact, change.message)
    for (const key of uses) this.uses.add(key)
  }
}

const byName = (operation: Operation): ReadonlyMap<string, Parameter> =>
  new Map(
    operation.parameters.map(parameter => [`${parameter.in}:${parameter.in === 'header' ? parameter.name.toLowerCase() : parameter.name}`, parameter])
  )
