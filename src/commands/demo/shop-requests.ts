// One request to the shop as its handlers see it, and the problems they answer with.
import type { ShopAnswer } from './shop-state.ts'

export interface ShopRequest {
  readonly method: string
  /** Without the base path. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  readonly body: Buffer
  /** What stood at the places of the route's template. */
  readonly ids: readonly string[]
}

/** The shop refuses; what it says is for its own developers and must not reach an agent. */
export class ShopProblem extends Error {
  override readonly name = 'ShopProblem'
  readonly status: number
  constructor (status: number, detail: string) {
    super(detail)
    this.status = status
  }
}

export function problemAnswer (status: number, detail: string): ShopAnswer {
  return { status, headers: { 'content-type': 'application/problem+json' }, body: { title: 'The shop says no', status, detail } }
}

export function headerOf (request: ShopRequest, name: string): string | null {
  const value = request.headers[name]
  return typeof value === 'string' ? value : null
}

export interface FieldRule {
  readonly type: 'string' | 'integer' | 'object'
  readonly optional?: true
}

/** The body as an object of exactly these fields. @throws ShopProblem 400, 415 or 422 */
export function fieldsOf (request: ShopRequest, rules: { readonly [name: string]: FieldRule }): { readonly [name: string]: unknown } {
  const fields = decode(request)
  for (const [name, rule] of Object.entries(rules)) {
    const value = fields[name]
    if (value === undefined && rule.optional === true) continue
    const fits = rule.type === 'integer' ? Number.isSafeInteger(value) : typeof value === rule.type && value !== null
    if (!fits) throw new ShopProblem(422, `${name} must be a ${rule.type}`)
  }
  const unknown = Object.keys(fields).find(name => !Object.hasOwn(rules, name))
  if (unknown !== undefined) throw new ShopProblem(422, 'there is a field that the shop does not know')
  return fields
}

function decode (request: ShopRequest): { readonly [name: string]: unknown } {
  const type = headerOf(request, 'content-type')?.split(';')[0]?.trim().toLowerCase()
  const text = request.body.toString('utf8')
  if (type === 'application/x-www-form-urlencoded') return Object.fromEntries(new URLSearchParams(text))
  if (type !== 'application/json') throw new ShopProblem(415, 'send application/json')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new ShopProblem(400, 'the body is not JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new ShopProblem(422, 'the body must be an object')
  return value as { readonly [name: string]: unknown }
}
