// What a mock answers: by the wish of the request, else by the script, else a sample of what the document declares.
import type { Json } from '../../catalog/catalog.ts'
import { responseFor, type Operation } from '../../catalog/openapi/operation.ts'
import { durationMs, DURATION_PATTERN } from '../../catalog/units.ts'
import { isJson } from '../../catalog/variables.ts'
import { plainSchema } from '../plain-schema.ts'
import { sampleOf } from '../sample.ts'
import type { Route, Routes } from './routes.ts'
import { FAULTS, type MockFault, type MockScenario, type ScriptedAnswer } from './scenario.ts'

export interface PlannedAnswer {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  /** undefined: none. */
  readonly body: Json | undefined
  readonly fault: MockFault | null
  readonly delayMs: number
}

/** The header by which a request asks for a fault: `lost`, `status=503`, `delay=2s`, several with commas between. */
export const FAULT_HEADER = 'x-aval-fault'

export interface Script {
  /** What stands in the script for this request, which is used up by asking. */
  take (route: Route): ScriptedAnswer
}

export function openScript (scenario: MockScenario | null, routes: Routes): Script {
  const left = (scenario?.answers ?? []).map(answer => ({ answer, left: answer.times ?? Infinity }))
  return {
    take (route) {
      const next = left.find(one => one.left > 0 && (one.answer.operation === undefined || routes.isNamed(route, one.answer.operation)))
      if (next === undefined) return {}
      next.left -= 1
      return next.answer
    },
  }
}

/** What a request asks for by its header, or what is wrong with that. */
export function readWish (text: string): Pick<ScriptedAnswer, 'status' | 'fault' | 'delay'> | string {
  const wish: { status?: number, fault?: MockFault, delay?: string } = {}
  for (const part of text.split(',').map(word => word.trim()).filter(word => word !== '')) {
    const [name, value] = part.split('=') as [string, string | undefined]
    if (Object.hasOwn(FAULTS, part)) wish.fault = part as MockFault
    else if (name === 'status' && /^[2-5]\d\d$/.test(value ?? '')) wish.status = Number(value)
    else if (name === 'delay' && new RegExp(DURATION_PATTERN).test(value ?? '')) wish.delay = value!
    else return `${FAULT_HEADER} takes ${Object.keys(FAULTS).join(', ')}, status=503 or delay=2s`
  }
  return wish
}

export function planAnswer (scripted: ScriptedAnswer, operation: Operation | null): PlannedAnswer {
  const status = scripted.status ?? firstSuccess(operation)
  const body = scripted.body !== undefined ? scripted.body : sampleFor(operation, status)
  return {
    status,
    headers: scripted.headers ?? {},
    body,
    fault: scripted.fault ?? null,
    delayMs: scripted.delay === undefined ? 0 : durationMs(scripted.delay),
  }
}

function firstSuccess (operation: Operation | null): number {
  const declared = operation?.responses.map(response => response.status).filter(status => /^2(\d\d|XX)$/.test(status)).sort()[0]
  return declared === undefined || declared === '2XX' ? 200 : Number(declared)
}

function sampleFor (operation: Operation | null, status: number): Json | undefined {
  if (status === 204 || status === 205 || status === 304) return undefined
  const response = operation === null ? undefined : responseFor(operation, status)
  const schema = [...response?.content ?? []].find(([mediaType]) => isJson(mediaType))?.[1]
  if (schema === undefined) return status >= 400 ? { error: `status ${status}` } : undefined
  const plain = plainSchema(schema, schema)
  return plain === null ? {} : sampleOf(plain, schema, true)
}
