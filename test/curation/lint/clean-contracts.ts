// One clean contract of each kind, in which the examples of the rules seed their faults: an observation, a write and a tool of an MCP server.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { parse, stringify } from 'yaml'
import { lintFolder, lintTools } from '../../../src/curation/lint/lint.ts'
import type { Report } from '../../../src/curation/lint/report.ts'

type Tree = any

const text = { type: 'string' }
const parameter = (place: string, name: string, schema: Tree, required = false): Tree => ({ in: place, name, schema, required })
const customer = {
  type: 'object',
  required: ['id', 'name', 'state', 'version', 'city'],
  properties: { id: text, name: text, state: { type: 'string', enum: ['active', 'deleted'] }, version: { type: 'integer' }, city: text },
}
const answers = { 200: { description: 'it', content: { 'application/json': { schema: customer } } }, 202: { description: 'later' } }
const found = { 200: answers[200], 404: { description: 'none' } }

export const DOCUMENT: Tree = {
  openapi: '3.1.0',
  info: { title: 'Shop', version: '1' },
  components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
  paths: {
    '/customers/{id}': {
      parameters: [parameter('path', 'id', text, true)],
      get: {
        operationId: 'getCustomer',
        parameters: ['limit', 'day', 'states'].map(name => parameter('query', name, {})),
        responses: found,
      },
      patch: {
        operationId: 'updateCustomer',
        parameters: [parameter('header', 'If-Match', text), parameter('header', 'Idempotency-Key', text)],
        requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
        responses: answers,
      },
      delete: { operationId: 'deleteCustomer', parameters: [parameter('header', 'If-Match', text)], responses: answers },
    },
    '/customers/{id}/restore': {
      parameters: [parameter('path', 'id', text, true)],
      post: { operationId: 'restoreCustomer', parameters: [parameter('header', 'If-Match', text)], responses: answers },
    },
  },
}

const ID = { type: 'string', pattern: '^cus_[0-9]{1,12}$', maxLength: 16, description: 'Id of the customer, from list_orders' }

const OBSERVATION = `
action: get_customer
version: 1
upstream: shop
operation: getCustomer
title: Read a customer
description: >
  Reads one customer of the shop as it is now. Use this when you need a name or a state. Do not use this for orders; use list_orders instead. Returns
  the id, the name and the state. If it answers UPSTREAM_NOT_FOUND, there is no such customer.
effect: observation
sensitivity: internal
consent: none
retry: safe
request:
  path: {id: "\${args.customer_id}"}
result:
  max_bytes: 4KiB
  schema:
    type: object
    additionalProperties: false
    required: [customer_id, name, state]
    properties: {customer_id: {type: string}, name: {type: string, maxLength: 100}, state: {type: string, enum: [active, deleted]}}
  view: {customer_id: "\${response.body.id}", name: "\${response.body.name}", state: "\${response.body.state}"}
examples:
  - {arguments: {customer_id: cus_1001}, result: {customer_id: cus_1001, name: Ada, state: active}}
`

const WRITE = `
action: change_customer_city
version: 1
upstream: shop
operation: updateCustomer
title: Change the city of a customer
description: >
  Replaces the address of one customer. Use this when the customer has moved. Do not use this for the address of one order; use add_order_note
  instead. Returns the id and the new version. If it answers VERSION_CONFLICT, read the customer again.
effect: reversible_change
sensitivity: internal
consent: none
retry: natural
reads:
  customer: {operation: getCustomer, path: {id: "\${args.customer_id}"}}
target: {type: customer, id: "\${args.customer_id}", version: "\${reads.customer.body.version}"}
request:
  path: {id: "\${args.customer_id}"}
  headers: {If-Match: '"\${target.version}"'}
  body: {city: "\${args.city}"}
outcomes:
  - {when: response.status == 412, outcome: rejected, error: VERSION_CONFLICT}
result:
  max_bytes: 4KiB
  schema:
    type: object
    additionalProperties: false
    required: [customer_id, new_version]
    properties: {customer_id: {type: string}, new_version: {type: integer}}
  view: {customer_id: "\${response.body.id}", new_version: "\${response.body.version}"}
lookup:
  operation: getCustomer
  path: {id: "\${target.id}"}
  outcomes:
    - {when: response.body.version == target.version + 1 && response.body.city == args.city, outcome: completed}
  absent: {when: response.status == 200 && response.body.version == target.version, settles_after: 2s}
examples:
  - {arguments: {customer_id: cus_1001, city: Cork}, result: {customer_id: cus_1001, new_version: 4}}
`

const TOOL = `
name: get_monthly_statement
title: Read a monthly statement
description: >
  Reads the statement of one account for one whole month, as it was closed at the end of the month. Use this when someone asks what an account did in
  a month that is over. Do not use this for single payments; use list_payments instead. Returns the id of the statement and the closing balance in
  minor units. If it fails with STATEMENT_NOT_FOUND, the month is not closed yet: name another one.
inputSchema:
  type: object
  additionalProperties: false
  required: [account_id, month]
  properties:
    account_id: {type: string, pattern: "^acc_[0-9]{1,12}$", maxLength: 16, description: "Id of the account, from list_accounts"}
    month: {type: string, pattern: "^[0-9]{4}-(0[1-9]|1[0-2])$", maxLength: 7, description: "The month, YYYY-MM"}
  examples:
    - {account_id: acc_1001, month: "2027-01"}
outputSchema:
  type: object
  required: [statement_id, closing_balance_minor]
  properties: {statement_id: {type: string, maxLength: 40}, closing_balance_minor: {type: integer}}
annotations: {readOnlyHint: true, openWorldHint: false}
`

const withInput = (sheet: Tree, properties: Tree): Tree =>
  ({ ...sheet, input: { type: 'object', additionalProperties: false, required: Object.keys(properties), properties } })

const CITY = { type: 'string', minLength: 1, maxLength: 100, description: 'The city' }

export function clean (of: 'observation' | 'write' | 'tool'): Tree {
  if (of === 'tool') return parse(TOOL)
  return of === 'write' ? withInput(parse(WRITE), { customer_id: ID, city: CITY }) : withInput(parse(OBSERVATION), { customer_id: ID })
}

/** RFC 7396. */
export function patched (value: Tree, patch: Tree): Tree {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const made: Tree = typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
  for (const [name, part] of Object.entries(patch)) {
    if (part === null) delete made[name]
    else made[name] = patched(made[name], part)
  }
  return made
}

/** Arguments that an example adds are sent: one that nothing uses does not load. */
function wired (sheet: Tree): Tree {
  const place = sheet.effect === 'observation' ? 'query' : 'body'
  const used = JSON.stringify({ ...sheet, input: undefined })
  const added = Object.keys(sheet.input.properties).filter(name => !new RegExp(`args\\.(\\?)?${name}\\b`).test(used))
  if (added.length === 0) return sheet
  const slot = (name: string): string => `\${args.${sheet.input.required.includes(name) ? '' : '?'}${name}}`
  return patched(sheet, { request: { [place]: Object.fromEntries(added.map(name => [name, slot(name)])) } })
}

/** A folder as a platform team has it. @returns the place of the actions and of the documents */
export function folderOf (
  t: TestContext, sheets: readonly Tree[], policy: Tree = { roles: {} }
): { readonly actionsFolder: string, readonly openapiFolder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'aval-lint-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [actionsFolder, openapiFolder] = [join(folder, 'actions'), join(folder, 'openapi')]
  mkdirSync(join(actionsFolder, 'shop'), { recursive: true })
  mkdirSync(openapiFolder)
  writeFileSync(join(openapiFolder, 'shop.json'), JSON.stringify(DOCUMENT))
  writeFileSync(join(actionsFolder, 'policy.yaml'), stringify(policy))
  writeFileSync(join(actionsFolder, 'shop', 'upstream.yaml'), stringify({
    upstream: 'shop', openapi: 'shop.json', server: 'https://api.shop.example/v1', credential: { scheme: 'key', secret: 'env:SHOP_KEY' },
  }))
  for (const sheet of sheets) {
    const content = typeof sheet === 'string' ? sheet : stringify(sheet)
    const { action, version } = parse(content)
    writeFileSync(join(actionsFolder, 'shop', `${action}.v${version}.yaml`), content)
  }
  return { actionsFolder, openapiFolder }
}

/** What is found of the contract that an example makes. */
export async function judged (t: TestContext, of: 'observation' | 'write' | 'tool', example: string): Promise<Report & { readonly id: string }> {
  const { beside = [], policy, ...patch } = parse(example)
  const made = patched(clean(of), patch)
  if (of === 'tool') return { ...lintTools('tools.json', Buffer.from(JSON.stringify({ tools: [made] }))), id: made.name }
  const sheets = [wired(made), ...beside.map((other: Tree) => wired(patched(clean(of), other)))]
  const roles: Tree = {}
  for (const [role, { repeat }] of Object.entries<Tree>(policy?.roles ?? {})) {
    for (let version = 2; version <= repeat; version++) sheets.push({ ...sheets[0], version })
    roles[role] = sheets.map(sheet => `${sheet.action}.v${sheet.version}`)
  }
  if (patch.compensate_with !== undefined) sheets.push(restoring())
  const report = await lintFolder({ ...folderOf(t, sheets, { roles }), shownAs: 'actions', within: '' })
  return { ...report, id: `${made.action}.v1` }
}

/** Something that undoes. */
function restoring (): Tree {
  return patched(clean('write'), {
    action: 'restore_customer',
    operation: 'restoreCustomer',
    title: 'Restore a customer',
    description: clean('write').description.replace('Replaces the address of', 'Restores'),
    input: { required: ['customer_id'], properties: { city: null } },
    request: { body: null },
    lookup: { outcomes: [{ when: 'response.body.version == target.version + 1', outcome: 'completed' }] },
    examples: [{ arguments: { customer_id: 'cus_1001' }, result: { customer_id: 'cus_1001', new_version: 4 } }],
  })
}
