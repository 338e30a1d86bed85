// Which variables a place in a sheet may use, and what is known of them. A variable that does not exist yet at a place cannot be named there.
import { ANY, INT, mapOf, NULL, objectOf, shapeOfSchema, STRING, TIMESTAMP, union, type Shape } from './shape.ts'
import type { Variables } from './expression.ts'
import type { JsonSchema, Operation, ResponseDefinition } from './openapi/operation.ts'

/** What a body that is not JSON is seen as. */
const OPAQUE: Shape = objectOf({ type: STRING, size: INT, sha256: STRING })

const CALLER: Shape = objectOf({ sub: STRING, tenant: STRING, run: union([STRING, NULL]), claims: mapOf(ANY) })
const ATTEMPT: Shape = objectOf({ id: STRING, key: STRING, reference: ANY })

/** What is known so far while a sheet is compiled from top to bottom. */
export class Known {
  readonly #write: boolean
  readonly #args: Shape
  readonly #reads: { [name: string]: Shape } = {}
  readonly #values: { [name: string]: Shape } = {}
  #target: Shape | null = null

  constructor (write: boolean, input: JsonSchema) {
    this.#write = write
    this.#args = shapeOfSchema(input)
  }

  addRead (name: string, operation: Operation, allowed: readonly number[]): void {
    this.#reads[name] = answerShape(operation, status => isSuccess(status) || allowed.some(code => covers(status, code)))
  }

  /** Its operation has a fault of its own. */
  addUnknownRead (name: string): void {
    this.#reads[name] = ANY
  }

  addValue (name: string, shape: Shape): void {
    this.#values[name] = shape
  }

  setTarget (version: Shape): void {
    this.#target = objectOf({ type: STRING, id: STRING, version })
  }

  /** scope: before anything is read. */
  beforeReading (): Variables {
    return new Map([['args', this.#args], ['caller', CALLER], ['now', TIMESTAMP]])
  }

  /** reads, values, checks, target, proposal, serialize: what is known by then. */
  facts (): Variables {
    const variables = new Map(this.beforeReading())
    variables.set('reads', objectOf(this.#reads))
    variables.set('values', objectOf(this.#values))
    if (this.#target !== null) variables.set('target', this.#target)
    return variables
  }

  request (): Variables {
    const variables = new Map(this.facts())
    if (this.#write) variables.set('attempt', ATTEMPT)
    return variables
  }

  /** Rules see every answer that is declared; a view sees those of success. */
  answered (operation: Operation, what: 'any' | 'success'): Variables {
    return new Map([...this.request(), ['response', answerShape(operation, status => what === 'any' || isSuccess(status))]])
  }

  /** A look-up may come when nothing but the attempt is left: without reads. */
  lookup (): Variables {
    const variables = new Map(this.request())
    variables.delete('reads')
    return variables
  }

  looked (operation: Operation, found: Shape | null): Variables {
    const variables = new Map([...this.lookup(), ['response', answerShape(operation, () => true)] as const])
    if (found !== null) variables.set('found', found)
    return variables
  }
}

/** `200`, `2XX`; `default` stands for failures where a success is declared. */
const isSuccess = (status: string): boolean => status.startsWith('2')

const covers = (declared: string, code: number): boolean =>
  declared === 'default' || declared === String(code) || (declared.endsWith('XX') && declared.charAt(0) === String(code).charAt(0))

function answerShape (operation: Operation, wanted: (status: string) => boolean): Shape {
  const chosen = operation.responses.filter(response => wanted(response.status))
  const responses = chosen.length > 0 ? chosen : operation.responses.filter(response => response.status === 'default')
  return objectOf({ status: INT, headers: mapOf(STRING), body: bodyShape(responses) })
}

function bodyShape (responses: readonly ResponseDefinition[]): Shape {
  const contents = responses.flatMap(response => [...response.content])
  if (contents.length === 0) return ANY
  const shapes = contents.map(([mediaType, schema]) => isJson(mediaType) ? shapeOfSchema(schema) : mediaType.endsWith('/*') ? ANY : OPAQUE)
  return union(responses.some(response => response.content.size === 0) ? [...shapes, NULL] : shapes)
}

/** @param mediaType in lower case, without parameters */
export const isJson = (mediaType: string): boolean => mediaType === 'application/json' || mediaType === 'text/json' || mediaType.endsWith('+json')
