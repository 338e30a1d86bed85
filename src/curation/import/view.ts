// What a draft proposes to show of an answer: named fields of the first success that is described, without what looks secret. A person chooses.
import type { JsonSchema, Operation } from '../../catalog/openapi/operation.ts'
import { isJson } from '../../catalog/variables.ts'
import { Judged, type DraftedObject } from './drafted.ts'
import { looksSecret } from './names.ts'
import { listed } from './narrow.ts'
import { plainSchema } from '../plain-schema.ts'

const FIELDS_MAX = 16
const DEPTH_MAX = 3
const PLAIN_TYPES: ReadonlySet<string> = new Set(['string', 'integer', 'number', 'boolean'])
const TELLING = /^(id|name|key|state|status|version|type|title|created(_?at)?|updated(_?at)?|total|amount|currency|items|data|results?)$/i

export interface ProposedView {
  readonly result: DraftedObject
  readonly hidden: readonly string[]
}

/** null: the document describes no JSON that could be shown. */
export function proposeView (operation: Operation): ProposedView | null {
  for (const response of operation.responses) {
    if (!response.status.startsWith('2')) continue
    for (const [mediaType, root] of response.content) {
      if (!isJson(mediaType)) continue
      const proposing = new Proposing(root)
      const schema = proposing.value(root, 0)
      if (schema === null) continue
      const question = [
        'which of these does an agent need? Only what is named here reaches it',
        ...proposing.hidden.size > 0 ? [`left out because it looks secret: ${listed([...proposing.hidden])}`] : [],
        ...proposing.passedOver > 0 ? [`passed over: ${proposing.passedOver} more`] : [],
      ].join('; ')
      return { result: { schema: new Judged(schema, question), max_bytes: '16KiB', max_items: 20 }, hidden: [...proposing.hidden] }
    }
  }
  return null
}

class Proposing {
  readonly hidden = new Set<string>()
  passedOver = 0
  readonly #root: JsonSchema
  #fields = 0

  constructor (root: JsonSchema) {
    this.#root = root
  }

  value (schema: JsonSchema, depth: number): DraftedObject | null {
    const plain = plainSchema(schema, this.#root)
    if (plain === null || plain.type === null || plain.file || plain.otherForms > 0) return null
    const type = plain.nullable ? [plain.type, 'null'] : plain.type
    if (plain.type === 'array') {
      const items = plain.items === null || depth >= DEPTH_MAX ? null : this.value(plain.items, depth + 1)
      return items === null ? null : { type, items }
    }
    if (plain.type !== 'object') return { type }
    if (depth >= DEPTH_MAX) return null
    return this.#object(type, plain.properties, plain.required, depth)
  }

  #object (type: string | string[], properties: ReadonlyMap<string, JsonSchema>, required: ReadonlySet<string>, depth: number): DraftedObject | null {
    const shown = new Map<string, DraftedObject>()
    const isPlain = (name: string): boolean => PLAIN_TYPES.has(plainSchema(properties.get(name)!, this.#root)?.type ?? '')
    // What a list or an object holds comes after the object's own values, so that it cannot crowd them out.
    const names = [...properties.keys()].sort((one, other) =>
      Number(isPlain(other)) - Number(isPlain(one)) || rank(one, required) - rank(other, required))
    for (const name of names) {
      if (looksSecret(name)) this.hidden.add(name)
      else if (name.includes('${') || isAddress(name) || this.#fields >= FIELDS_MAX) this.passedOver++
      else {
        const value = this.value(properties.get(name)!, depth + 1)
        if (value === null) this.passedOver++
        else {
          shown.set(name, value)
          this.#fields++
        }
      }
    }
    if (shown.size === 0) return null
    const always = [...shown.keys()].filter(name => required.has(name))
    return { type, additionalProperties: false, ...always.length > 0 && { required: always }, properties: Object.fromEntries(shown) }
  }
}

/** What says which object it is and how it stands comes first. */
function rank (name: string, required: ReadonlySet<string>): number {
  return (TELLING.test(name) ? 0 : 2) + (required.has(name) ? 0 : 1)
}

const isAddress = (name: string): boolean => /(^|_)(url|uri|href|links?)s?$/i.test(name.replace(/([a-z])([A-Z])/g, '$1_$2'))
