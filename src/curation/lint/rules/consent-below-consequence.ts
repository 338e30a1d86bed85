import type { Involvement } from '../../../catalog/catalog.ts'
import type { Contract } from '../contract.ts'
import { hasType, nodesOf, parametersOf, parametersOfSchema } from '../parameters.ts'
import { any, NOTHING, type Found, type Rule } from '../rule.ts'

const words = (text: string): RegExp => new RegExp(`(^|_)(${text})(_|$)`)

interface Sign {
  readonly involves: Involvement
  /** In the name of the action. */
  readonly action: RegExp
  /** In the name of an argument. */
  readonly argument: RegExp
}

const SIGNS: readonly Sign[] = [
  {
    involves: 'money',
    action: words('pay|payout|payment|charge|refund|transfer|bill|invoice|credit|debit|withdraw'),
    argument: words('amount|payee|iban|price_override|discount'),
  },
  {
    involves: 'access',
    action: words('grant|revoke|invite|permission|permissions|role|member|access|password|api_key'),
    argument: words('permission|permissions|role|roles|access_level|member_id'),
  },
  { involves: 'public', action: words('publish|tweet|announce|post'), argument: words('hashtag|audience') },
]

const PERSONAL = words('email|phone|phone_number|birth_date|date_of_birth|birthday|passport|iban|ssn|home_address|shipping_address|postal_code')
const RECIPIENTS = words('to|cc|bcc|recipient|recipients|email|emails|phone|payee|iban|address_to')
const BULK_MIN = 20

export const consentBelowConsequence: Rule = {
  id: 'consent-below-consequence',
  severity: 'error',
  weighs: { category: 'safety', cap: 59 },
  says: 'A consequence that people must consent to is not declared, or is consented to for too long.',
  why: `The policy asks for consent by what is involved: money, access, personal data, bulk, public. What a sheet does not declare
nobody is asked about. A commitment to others whose recipient the agent chooses needs a yes for each call and not for a run.`,
  example: {
    of: 'write',
    bad: `input:
  required: [customer_id, city, amount_minor]
  properties:
    amount_minor: {type: integer, minimum: 1, maximum: 5000, description: How much; in minor units}
involves: null
examples:
  - {arguments: {customer_id: cus_1, city: Cork, amount_minor: 5}, result: {customer_id: cus_1, new_version: 4}}`,
    good: `input:
  required: [customer_id, city, amount_minor]
  properties:
    amount_minor: {type: integer, minimum: 1, maximum: 5000, description: How much; in minor units}
involves: [money]
consent: call
proposal: {effect: "Move customer \${args.customer_id}"}
examples:
  - {arguments: {customer_id: cus_1, city: Cork, amount_minor: 5}, result: {customer_id: cus_1, new_version: 4}}`,
  },
  check (contract) {
    if (contract.sheet === null) return NOTHING
    return any([...undeclared(contract), ...tooLong(contract), ...exposed(contract)])
  },
}

function undeclared (contract: Contract): readonly Found[] {
  const { name, sheet, write } = contract
  if (write !== true) return []
  const involves = sheet!.involves ?? []
  const found = SIGNS.flatMap(({ involves: what, action, argument }): Found[] => {
    if (involves.includes(what)) return []
    const sign = action.test(name) ? `"${name}"` : parametersOf(contract).map(one => one.name).find(one => argument.test(one))
    return sign === undefined ? [] : [{ pointer: '/consent', message: `${sign} looks like ${what}, and involves does not name it` }]
  })
  const many = nodesOf(contract).find(({ schema }) => hasType(schema, 'array') && typeof schema.maxItems === 'number' && schema.maxItems > BULK_MIN)
  if (many === undefined || involves.includes('bulk')) return found
  return [...found, { pointer: many.pointer, message: `one call for up to ${String(many.schema.maxItems)}, and involves does not name bulk` }]
}

function tooLong (contract: Contract): readonly Found[] {
  const { effect, consent } = contract.sheet!
  if (effect !== 'external_commitment' || consent !== 'session') return []
  const chosen = parametersOf(contract).find(({ name, schema }) => RECIPIENTS.test(name) && schema.enum === undefined && schema.const === undefined)
  if (chosen === undefined) return []
  return [{ pointer: '/consent', message: `one yes for a run, and the agent chooses "${chosen.name}": ask for each call` }]
}

function exposed ({ result, sheet, at }: Contract): readonly Found[] {
  const sensitivity = sheet!.sensitivity ?? 'internal'
  if (result === null || sensitivity === 'personal' || sensitivity === 'secret') return []
  const personal = parametersOfSchema(result, at.result).find(({ name }) => PERSONAL.test(name))
  if (personal === undefined) return []
  return [{ pointer: personal.pointer, atKey: true, message: `"${personal.name}" is shown, and sensitivity is ${sensitivity}` }]
}
