// What Aval keeps of an OpenAPI Operation Object, whatever version of OpenAPI it was written in: 2.0, 3.0, 3.1 and 3.2 read into this.

/** A JSON Schema of the 2020-12 dialect, self-contained: every `$ref` in it points into its own `$defs`. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown }

export type ParameterPlace = 'path' | 'query' | 'header' | 'cookie'
export type ParameterStyle = 'simple' | 'label' | 'matrix' | 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject' | 'tabDelimited' |
  'brackets' | 'cookie'

export interface Parameter {
  readonly name: string
  readonly in: ParameterPlace
  readonly required: boolean
  readonly style: ParameterStyle
  readonly explode: boolean
  readonly allowReserved: boolean
  /** A parameter described by `content`: its value is serialised as this media type first. */
  readonly mediaType: string | null
  readonly schema: JsonSchema
}

/** How one property of a form or one part of a multipart body is written (Encoding Object). */
export interface Encoding {
  readonly contentType: string | null
  readonly style: ParameterStyle
  readonly explode: boolean
  readonly allowReserved: boolean
}

export interface BodyDefinition {
  /** Without parameters and in lower case, `application/json`. */
  readonly mediaType: string
  readonly schema: JsonSchema
  readonly encoding: ReadonlyMap<string, Encoding>
}

export interface ResponseDefinition {
  /** `200`, `2XX` or `default`. */
  readonly status: string
  /** By media type without parameters; empty where the response has no body. */
  readonly content: ReadonlyMap<string, JsonSchema>
}

export type SecurityScheme =
  | { readonly kind: 'apiKey', readonly in: 'header' | 'query' | 'cookie', readonly name: string }
  | { readonly kind: 'http', readonly scheme: string }
  | { readonly kind: 'oauth2' | 'openIdConnect' | 'mutualTLS' }

export interface Operation {
  /** The `operationId`, or `METHOD /path` where the document has none. */
  readonly id: string
  /** Upper case. */
  readonly method: string
  /** The path template as in the document, `/customers/{id}`. */
  readonly path: string
  readonly parameters: readonly Parameter[]
  /** By media type without parameters, in the document's order. */
  readonly bodies: ReadonlyMap<string, BodyDefinition>
  readonly bodyRequired: boolean
  readonly responses: readonly ResponseDefinition[]
  /** Names of header parameters that the specification tells to ignore (Accept, Content-Type, Authorization), and others, in lower case. */
  readonly declaredHeaders: ReadonlySet<string>
  /** URLs of the operation's own `servers`, else of its path item's, as the document writes them; the document's root servers are not here. */
  readonly servers: readonly string[]
  /** SHA-256 over the operation and everything it refers to, in canonical JSON. */
  readonly digest: string
  /** What a reader of the document should know: ignored siblings, tolerated spellings. */
  readonly warnings: readonly string[]
}

/** The response definition that answers for a status: the exact key first, then `2XX`, then `default`. */
export function responseFor (operation: Operation, status: number): ResponseDefinition | undefined {
  const exact = String(status)
  const range = `${exact.charAt(0)}XX`
  return operation.responses.find(response => response.status === exact) ??
    operation.responses.find(response => response.status === range) ??
    operation.responses.find(response => response.status === 'default')
}

/** False where the document declares successes, and each of them with a body. */
export function mayBeBodiless (operation: Operation): boolean {
  const successes = operation.responses.filter(({ status }) => status.startsWith('2'))
  return successes.length === 0 || successes.some(({ content }) => content.size === 0)
}

/** The schema that a response declares for a media type: the exact type first, then `type/*`, then `any type`. */
export function contentFor (response: ResponseDefinition, mediaType: string): JsonSchema | undefined {
  const exact = response.content.get(mediaType)
  if (exact !== undefined) return exact
  return response.content.get(`${mediaType.slice(0, mediaType.indexOf('/'))}/*`) ?? response.content.get('*/*')
}
