// Whether a value of the arguments was there before: in what people, documents and answers said. What an agent sends and nobody has said, it has
// made up.
import { isObject, type Json, type JsonObject } from '../../catalog/catalog.ts'
import { all, listOf, propertiesOf, SchemaPlaces, type Place } from '../test/place.ts'

export interface Invented {
  /** JSON Pointer within the arguments. */
  readonly pointer: string
  readonly value: string | number
}

/** @param said everything that stood in the transcript before, but the agent's own words. @param schema of the input; null where it is not known */
export function inventedIn (args: JsonObject, said: string, schema: JsonObject | null): readonly Invented[] {
  const looking = new Looking(said.toLowerCase(), schema === null ? null : new SchemaPlaces(schema))
  looking.at(args, '', schema === null ? null : looking.places!.top)
  return looking.found
}

class Looking {
  readonly found: Invented[] = []
  readonly places: SchemaPlaces | null
  readonly #said: string

  constructor (said: string, places: SchemaPlaces | null) {
    this.#said = said
    this.places = places
  }

  at (value: Json, pointer: string, place: Place | null): void {
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) {
        this.at(item as Json, `${pointer}/${index}`, place === null ? null : this.places!.item(place, index))
      }
    } else if (isObject(value)) {
      for (const [name, member] of Object.entries(value)) {
        const known = place !== null && propertiesOf(place).includes(name)
        this.at(member, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, known ? this.places!.property(place, name) : null)
      }
    } else if (!this.#isGiven(value, place)) {
      this.found.push({ pointer, value: value as string | number })
    }
  }

  #isGiven (value: Json, place: Place | null): boolean {
    if (typeof value === 'number') return this.#mentions(value)
    if (typeof value !== 'string' || value === '') return true
    // What the schema itself offers needs no other source.
    if (place !== null && [...all(place, 'enum').flatMap(one => listOf(one.value)), ...all(place, 'const').map(one => one.value)].includes(value)) {
      return true
    }
    return this.#said.includes(value.toLowerCase()) || isComposed(value, place)
  }

  /** The number itself, also as an amount in major units, 25.00 for 2500, and a small one as an English word. */
  #mentions (value: number): boolean {
    const word = WORDS[value]
    if (word !== undefined && new RegExp(`\\b${word}\\b`).test(this.#said)) return true
    const forms = [String(value), value.toFixed(2), (value / 100).toFixed(2), String(value / 100)]
    return forms.some(
      form => new RegExp(`(?<![\\d.])${form.replaceAll('.', '\\.')}(?!\\d|\\.\\d)`).test(this.#said.replaceAll(/(?<=\d),(?=\d{3})/g, ''))
    )
  }
}

const WORDS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve']

/** Free text is for the agent to write: several words in a place that no pattern, format or list narrows. */
function isComposed (value: string, place: Place | null): boolean {
  const narrowed = place !== null && ['pattern', 'format', 'enum', 'const'].some(keyword => all(place, keyword).length > 0)
  return !narrowed && value.trim().split(/\s+/).length >= 3
}
