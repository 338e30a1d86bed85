import { isObject, type Json, type JsonObject } from '../../../catalog/catalog.ts'
import { pointerTo } from '../../../catalog/yaml-file.ts'
import type { Contract } from '../contract.ts'
import { any, NOTHING, type Found, type Rule } from '../rule.ts'
import { freeTextsIn } from '../slots.ts'

export const freeTextReachesPath: Rule = {
  id: 'free-text-reaches-path',
  severity: 'error',
  weighs: { category: 'safety', cap: 69 },
  says: 'Free text of the agent reaches a path, a header or a cookie.',
  why: `The broker escapes what it places, so that no text leaves its slot. What the upstream, a gateway or a cache makes of it there is
another matter. An id has a pattern: give it, and what cannot be an id is refused before anything is sent.`,
  example: {
    of: 'observation',
    bad: `input:
  properties:
    customer_id: {type: string, pattern: null, maxLength: 16, description: "Id of the customer, from list_orders"}
    limit: {type: integer, minimum: 1, maximum: 50, description: "How many rows; without it 20"}
examples:
  - {arguments: {customer_id: cus_1001, limit: 5}, result: {customer_id: cus_1001, name: Ada, state: active}}`,
    good: `input:
  properties:
    customer_id: {type: string, pattern: "^cus_[0-9]{1,12}$", maxLength: 16, description: "Id of the customer, from list_orders"}`,
  },
  check (contract) {
    const { sheet } = contract
    if (sheet === null) return NOTHING
    const requests: Array<readonly [string, JsonObject]> = [['/request', (sheet.request ?? {}) as JsonObject]]
    for (const [name, read] of Object.entries(sheet.reads ?? {})) requests.push([pointerTo('/reads', name), read as unknown as JsonObject])
    if (sheet.lookup !== undefined && sheet.lookup !== 'none') requests.push(['/lookup', sheet.lookup as unknown as JsonObject])
    return any(requests.flatMap(([at, request]) => ['path', 'headers', 'cookies'].flatMap(part => inPart(request[part], `${at}/${part}`, contract))))
  },
}

function inPart (values: Json | undefined, at: string, contract: Contract): readonly Found[] {
  if (!isObject(values)) return []
  return Object.entries(values).flatMap(([name, value]) => freeTextsIn(value, contract)
    .map(text => ({ pointer: pointerTo(at, name), message: `"${text}" is free text; give it a pattern, an enum or a format` })))
}
