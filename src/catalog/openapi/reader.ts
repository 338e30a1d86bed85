// What the readers of 2.0 and 3.x have in common: places with their faults, and the parts of an Operation before it is put together.
import type { Closer, Closure } from './closure.ts'
import type { Direction } from './composition.ts'
import { childOf, fault, placeKey } from './reference.ts'
import type { Place, References } from './reference.ts'
import { isObject, own } from './pointer.ts'
import { checkStructure } from './structure.ts'
import type { Dialect, Kind } from './structure.ts'
import type { JsonSchema, Parameter, ParameterPlace } from './operation.ts'

/** What every reader is given. */
export interface Reading {
  readonly dialect: Dialect
  readonly root: Place
  readonly references: References
  readonly closer: Closer
  readonly warnings: Set<string>
  /** Digests of the closures read so far, in reading order. */
  readonly digests: string[]
}

/** @throws DocumentFault `structure`, where it lies */
export function checked (reading: Reading, place: Place, kind: Kind): Place {
  const found = reading.references.follow(place)
  const complaint = checkStructure(reading.dialect, kind, found.node)
  if (complaint !== undefined) throw fault({ ...found, pointer: `${found.pointer}${complaint.pointer}` }, 'structure', complaint.message)
  return found
}

export function warn (reading: Reading, place: Place, message: string): void {
  reading.warnings.add(`${placeKey(place)}: ${message}`)
}

/** The closed schema at a place; admits everything where there is none. */
export function schemaAt (reading: Reading, place: Place, direction: Direction): JsonSchema {
  if (place.node === undefined) return true
  const closure: Closure = reading.closer.close(place, direction)
  for (const warning of closure.warnings) reading.warnings.add(warning)
  reading.digests.push(closure.digest)
  return closure.schema
}

export interface RawParameter {
  readonly place: Place
  readonly name: string
  /** As the document says it: beside the four places of an Operation also `body`, `formData` (2.0) and `querystring` (3.2). */
  readonly in: string
}

function parametersIn (reading: Reading, list: Place): readonly RawParameter[] {
  if (list.node === undefined) return []
  if (!Array.isArray(list.node)) throw fault(list, 'structure', `By OpenAPI ${reading.dialect} parameters must be array.`)
  const found: RawParameter[] = []
  for (const index of list.node.keys()) {
    const place = checked(reading, childOf(list, index), 'parameter')
    const node = place.node as { readonly name: string, readonly in: string }
    if (found.some(other => other.name === node.name && other.in === node.in)) {
      throw fault(childOf(list, index), 'parameter-duplicate', 'The list holds two parameters of this name and place.')
    }
    found.push({ place, name: node.name, in: node.in })
  }
  return found
}

/** Those of the operation, and those of its path item that it does not override. */
export function parametersOf (reading: Reading, pathItem: Place, operation: Place): readonly RawParameter[] {
  const own = parametersIn(reading, childOf(operation, 'parameters'))
  const inherited = parametersIn(reading, childOf(pathItem, 'parameters'))
  return [...inherited.filter(one => !own.some(other => other.name === one.name && other.in === one.in)), ...own]
}

/** Headers that are no parameters even where a document lists them as such (OpenAPI 3.1 §4.8.12). */
const IGNORED_HEADERS: ReadonlySet<string> = new Set(['accept', 'content-type', 'authorization'])

export const isIgnoredHeader = (parameter: RawParameter): boolean => parameter.in === 'header' && IGNORED_HEADERS.has(parameter.name.toLowerCase())

export const PLACES: ReadonlySet<string> = new Set<ParameterPlace>(['path', 'query', 'header', 'cookie'])

/** The names in a path template; undefined where its braces do not pair. */
export function templateNames (path: string): readonly string[] | undefined {
  const rest = path.replace(/\{[^{}/]+\}/g, '')
  return /[{}]/.test(rest) ? undefined : [...path.matchAll(/\{([^{}/]+)\}/g)].map(([, name]) => name as string)
}

/** Path parameters exactly as the template names them. */
export function matchedToTemplate (reading: Reading, place: Place, path: string, parameters: readonly Parameter[]): readonly Parameter[] {
  const names = templateNames(path) ?? []
  const kept = parameters.filter(parameter => {
    if (parameter.in !== 'path' || names.includes(parameter.name)) return true
    warn(reading, place, `the path parameter ${parameter.name} has no place in the path and is left out`)
    return false
  })
  const missing = names.filter(name => !kept.some(parameter => parameter.in === 'path' && parameter.name === name))
  for (const name of missing) warn(reading, place, `the path names ${name}, which is no parameter; read as a string`)
  return [...kept, ...[...new Set(missing)].map((name): Parameter => ({
    name, in: 'path', required: true, style: 'simple', explode: false, allowReserved: false, mediaType: null, schema: { type: 'string' },
  }))]
}

/** `application/json; charset=utf-8` is `application/json`; undefined where it is no media type or range at all. */
export function bareMediaType (text: string): string | undefined {
  const bare = (text.split(';', 1)[0] ?? '').trim().toLowerCase()
  return /^[!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+$/.test(bare) ? bare : undefined
}

export interface RawResponse {
  /** `200`, `2XX` or `default`. */
  readonly status: string
  readonly place: Place
}

export function responsesOf (reading: Reading, operation: Place): readonly RawResponse[] {
  const responses = childOf(operation, 'responses')
  if (responses.node === undefined) return []
  if (!isObject(responses.node)) throw fault(responses, 'structure', `By OpenAPI ${reading.dialect} responses must be object.`)
  const found: RawResponse[] = []
  for (const key of Object.keys(responses.node)) {
    if (key.startsWith('x-')) continue
    const status = key === 'default' ? key : key.toUpperCase()
    if (status !== 'default' && !/^[1-5](?:\d\d|XX)$/.test(status)) {
      warn(reading, responses, `${JSON.stringify(key)} is no status and is left out`)
    } else if (found.some(other => other.status === status)) {
      warn(reading, responses, `${status} stands there twice; the first is read`)
    } else {
      found.push({ status, place: checked(reading, childOf(responses, key), 'response') })
    }
  }
  return found
}

/** The URLs of the operation's own `servers`, else of its path item's. */
export function serversOf (pathItem: Place, operation: Place): readonly string[] {
  for (const place of [operation, pathItem]) {
    const servers = isObject(place.node) ? own(place.node, 'servers') : undefined
    if (!Array.isArray(servers) || servers.length === 0) continue
    return servers.map(server => isObject(server) ? own(server, 'url') : undefined).filter(url => typeof url === 'string')
  }
  return []
}
