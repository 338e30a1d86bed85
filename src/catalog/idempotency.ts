// Where the upstream takes an idempotency key. The key stands in the request like anything else that a sheet places.
import { isObject, type Action, type Json, type JsonObject } from './catalog.ts'
import type { Reporter } from './faults.ts'
import type { PartsSheet, Sheet } from './sheet.ts'
import { durationMs } from './units.ts'

export function idempotencyOf (sheet: Sheet): Action['idempotency'] {
  const declared = sheet.idempotency
  if (declared === undefined) return null
  const retentionMs = durationMs(declared.retention)
  if (declared.header !== undefined) return Object.freeze({ place: 'header', name: declared.header, retentionMs })
  if (declared.query !== undefined) return Object.freeze({ place: 'query', name: declared.query, retentionMs })
  return Object.freeze({ place: 'body', name: declared.body ?? '', retentionMs })
}

const KEY = '${attempt.key}'

/** The parts of the request, with the key in its place. */
export function withKey (parts: PartsSheet, sheet: Sheet, report: Reporter): PartsSheet {
  const declared = sheet.idempotency
  if (declared === undefined) return parts
  const places = [declared.header, declared.query, declared.body].filter(place => place !== undefined)
  if (places.length !== 1) {
    report.faultAtKey('/idempotency', 'idempotency-place', 'the key goes to one place: header, query or body')
    return parts
  }
  const placed = (values: JsonObject | undefined, name: string): JsonObject => {
    const isSame = (other: string): boolean => declared.header === undefined ? other === name : other.toLowerCase() === name.toLowerCase()
    const taken = Object.entries(values ?? {}).find(([other]) => isSame(other))
    if (taken !== undefined && taken[1] !== KEY) {
      report.faultAtKey('/idempotency', 'idempotency-place', `the request already puts something else into "${name}"`)
    }
    return taken !== undefined ? values! : { ...values, [name]: KEY }
  }
  if (declared.header !== undefined) return { ...parts, headers: placed(parts.headers, declared.header) }
  if (declared.query !== undefined) return { ...parts, query: placed(parts.query, declared.query) }
  const body = putAt(parts.body ?? {}, declared.body!.slice(1).split('/').map(token => token.replaceAll('~1', '/').replaceAll('~0', '~')))
  if (body === undefined) {
    report.faultAtKey('/idempotency/body', 'idempotency-place', 'the body of the request has no object there, or something else stands there')
  }
  return body === undefined ? parts : { ...parts, body }
}

/** A copy with the key at the end of the path; undefined where the way leads through something that is no object of the sheet. */
function putAt (value: Json, path: readonly string[]): Json | undefined {
  const [name, ...rest] = path as readonly [string, ...string[]]
  if (!isObject(value)) return undefined
  if (rest.length === 0) return value[name] === undefined || value[name] === KEY ? { ...value, [name]: KEY } : undefined
  const within = putAt(value[name] ?? {}, rest)
  return within === undefined ? undefined : { ...value, [name]: within }
}
