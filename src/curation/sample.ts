// Values made up from a schema: the same ones every time.
import type { Json } from '../catalog/catalog.ts'
import type { JsonSchema } from '../catalog/openapi/operation.ts'
import { plainSchema, type PlainSchema } from './plain-schema.ts'
import { PatternText } from './test/pattern-text.ts'

const DEPTH_MAX = 4
const ITEMS_MAX = 20
const TEXT_LENGTH_MAX = 200

/** No value made up is larger: schemas that know each other branch without end. */
const PARTS_MAX = 500

/**
 * A value that the document allows, as far as it can be told; never one that means anything.
 * @param whole with what may be absent, too; otherwise the smallest
 */
export function sampleOf (plain: PlainSchema, root: JsonSchema, whole = false): Json {
  return new Sampling(root, whole).of(plain, 0)
}

class Sampling {
  readonly #root: JsonSchema
  readonly #whole: boolean
  #left = PARTS_MAX

  constructor (root: JsonSchema, whole: boolean) {
    this.#root = root
    this.#whole = whole
  }

  of (plain: PlainSchema, depth: number): Json {
    const { bounds } = plain
    if (plain.values !== null) return plain.values[0]!
    switch (plain.type) {
      case 'integer': case 'number': return sampleNumber(exactBounds(bounds))
      case 'boolean': return false
      case 'array': return this.#list(plain, depth)
      case 'object': return this.#object(plain, depth)
      default: return textOf(plain)
    }
  }

  #list (plain: PlainSchema, depth: number): Json {
    const count = Math.min(plain.bounds.minItems ?? (this.#whole ? 1 : 0), ITEMS_MAX)
    const items = Array.from({ length: count }, () => plain.items === null ? undefined : this.#within(plain.items, depth))
    return items.filter(item => item !== undefined)
  }

  #object (plain: PlainSchema, depth: number): Json {
    const names = [...plain.properties.keys()].filter(name => plain.required.has(name) || (this.#whole && depth <= DEPTH_MAX))
    const values = names.map(name => [name, this.#within(plain.properties.get(name)!, depth)] as const)
    // What describes only itself, or lies too deep, is left out where it may be.
    return Object.fromEntries(values.flatMap(([name, value]) => value === undefined && !plain.required.has(name) ? [] : [[name, value ?? {}]]))
  }

  #within (schema: JsonSchema, depth: number): Json | undefined {
    if (depth > DEPTH_MAX || this.#left-- <= 0) return undefined
    const plain = plainSchema(schema, this.#root)
    return plain === null ? undefined : this.of(plain, depth + 1)
  }
}

function textOf ({ pattern, format, bounds }: PlainSchema): string {
  const { minLength = 0, maxLength = TEXT_LENGTH_MAX } = bounds
  const matching = pattern === null ? null : PatternText.of(pattern)?.shortest(minLength, Math.min(maxLength, TEXT_LENGTH_MAX)) ?? null
  return matching ?? SAMPLE_TEXTS[format ?? ''] ?? 'x'.repeat(Math.min(minLength, TEXT_LENGTH_MAX) || 1)
}

function sampleNumber (bounds: PlainSchema['bounds']): number {
  const least = bounds.minimum ?? (bounds.exclusiveMinimum === undefined ? undefined : bounds.exclusiveMinimum + 1)
  if (least !== undefined) return bounds.multipleOf === undefined ? least : Math.ceil(least / bounds.multipleOf) * bounds.multipleOf
  const most = bounds.maximum ?? (bounds.exclusiveMaximum === undefined ? undefined : bounds.exclusiveMaximum - 1)
  return most !== undefined && most < 1 ? most : bounds.multipleOf ?? 1
}

const SAMPLE_TEXTS: { readonly [format: string]: string } = {
  date: '2000-01-01',
  'date-time': '2000-01-01T00:00:00Z',
  time: '00:00:00Z',
  duration: 'P1D',
  email: 'somebody@example.com',
  uuid: '00000000-0000-4000-8000-000000000000',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
}

/** Those of 64 bits are no bounds for JSON: no number beyond 2^53 is exact in it. */
export function exactBounds (bounds: PlainSchema['bounds']): PlainSchema['bounds'] {
  return Object.fromEntries(Object.entries(bounds).filter(([, bound]) => Math.abs(bound) <= Number.MAX_SAFE_INTEGER))
}
