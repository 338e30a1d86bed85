// Operations and upstreams for tests of the serializer, with everything that a test does not speak of filled in.
import { fileURLToPath } from 'node:url'
import type { Json, JsonObject, PlacedRequest, Upstream } from '../../src/catalog/catalog.ts'
import { openDocuments } from '../../src/catalog/openapi/documents.ts'
import type { BodyDefinition, Operation, Parameter } from '../../src/catalog/openapi/operation.ts'
import { Refusal } from '../../src/errors.ts'
import { buildRequest } from '../../src/upstream/request.ts'
import type { WireRequest } from '../../src/upstream/wire.ts'

export function upstreamOf (more: Partial<Upstream> = {}): Upstream {
  return {
    name: 'shop',
    origin: 'https://api.example.test',
    basePath: '/v1',
    networks: ['public'],
    headers: {},
    credentials: { read: null, write: null },
    timeouts: { connectMs: 1000, totalMs: 1000 },
    limits: { concurrency: 1, perSecond: null, tenantShare: 1 },
    ...more,
  }
}

export function parameterOf (more: Partial<Parameter> & Pick<Parameter, 'name' | 'in'>): Parameter {
  const style = more.style ?? (more.in === 'query' || more.in === 'cookie' ? 'form' : 'simple')
  return { required: more.in === 'path', style, explode: style === 'form', allowReserved: false, mediaType: null, schema: true, ...more }
}

export function operationWith (more: Partial<Operation> = {}): Operation {
  return {
    id: 'op', method: 'POST', path: '/x', parameters: [], bodies: new Map(), bodyRequired: false, responses: [], declaredHeaders: new Set(),
    servers: [], digest: '', warnings: [], ...more,
  }
}

export function bodiesOf (...bodies: ReadonlyArray<Partial<BodyDefinition> & Pick<BodyDefinition, 'mediaType'>>): Operation {
  return operationWith({ bodies: new Map(bodies.map(body => [body.mediaType, { schema: true, encoding: new Map(), ...body }])) })
}

export type Values = Partial<Omit<PlacedRequest, 'operation'>>

export function build (operation: Operation, values: Values, upstream: Upstream = upstreamOf()): WireRequest {
  return buildRequest(upstream, { operation, path: {}, query: {}, headers: {}, cookies: {}, body: undefined, mediaType: null, ...values })
}

/** One query parameter alone: what stands behind the `?`. */
export function queryOf (parameter: Partial<Parameter>, value: Json): string {
  const operation = operationWith({ parameters: [parameterOf({ name: 'c', in: 'query', ...parameter })] })
  return build(operation, { query: { [parameter.name ?? 'c']: value } }).path.replace(/^[^?]*\??/, '')
}

/** One path parameter alone: what stands behind `/v1/a/`. */
export function pathOf (parameter: Partial<Parameter>, value: Json): string {
  const operation = operationWith({ path: '/a/{c}', parameters: [parameterOf({ name: 'c', in: 'path', ...parameter })] })
  return build(operation, { path: { c: value } }).path.replace('/v1/a/', '')
}

export function headerOf (parameter: Partial<Parameter>, value: Json): string | undefined {
  const operation = operationWith({ parameters: [parameterOf({ name: 'X-C', in: 'header', ...parameter })] })
  return build(operation, { headers: { 'X-C': value } }).headers['x-c']
}

export function cookieOf (parameter: Partial<Parameter>, value: Json): string | undefined {
  const operation = operationWith({ parameters: [parameterOf({ name: 'c', in: 'cookie', ...parameter })] })
  return build(operation, { cookies: { c: value } }).headers['cookie']
}

/** The rule by which it is refused; fails the test where it is not, or where the refusal repeats one of `secrets`. */
export function ruleOf (act: () => unknown, ...secrets: readonly string[]): string | undefined {
  try {
    act()
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'INVALID_ARGUMENTS' || error.status !== 422) throw error
    const said = JSON.stringify([error.message, error.details])
    for (const secret of secrets) if (secret.length > 2 && said.includes(secret)) throw new Error('the refusal repeats the value')
    return error.details.rule
  }
  throw new Error('nothing was refused')
}

const documents = await openDocuments(fileURLToPath(new URL('../cases/openapi', import.meta.url)))

/** An operation of test/cases/openapi. */
export const caseOf = (name: string, operation: string): Operation => documents.open(`${name}.yaml`).operation(operation)

export type { Json, JsonObject }
