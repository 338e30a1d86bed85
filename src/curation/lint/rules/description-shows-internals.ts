import type { Contract } from '../contract.ts'
import { descriptionOf, parametersOf } from '../parameters.ts'
import { shown } from '../prose.ts'
import { any, type Found, type Rule } from '../rule.ts'

const INTERNALS: ReadonlyArray<readonly [what: string, form: RegExp]> = [
  ['an internal host', /\b[a-z0-9][a-z0-9-]{0,62}(\.[a-z0-9-]{1,63}){0,8}\.(internal|local|localdomain|corp|lan|intra|intranet|svc|cluster)\b(\.[a-z]+)*/i],
  ['an internal address', /\b(10\.\d{1,3}|192\.168|172\.(1[6-9]|2\d|3[01])|127\.0)\.\d{1,3}\.\d{1,3}\b|\blocalhost:\d+/],
  ['a URL', /\bhttps?:\/\/[^\s)]+/i],
  ['a table of a database', /\b(table|column|database|schema) [`"']?[a-z]+(_[a-z]+)+|\bselect .{1,80} from [a-z_]+\b|\binsert into [a-z_]+\b/i],
  ['a secret', /\b(sk|pk|rk|ghp|gho|xox[abp]|glpat|AKIA)[-_]?[A-Za-z0-9]{10,}\b|\beyJ[A-Za-z0-9_-]{10,}\./],
  ['a secret', /\b(password|passwd|api[_ -]?key|token|secret) ?[:=] ?\S{4,}/i],
  ['a private key', /-----BEGIN [A-Z ]*PRIVATE KEY/],
]

export const descriptionShowsInternals: Rule = {
  id: 'description-shows-internals',
  severity: 'error',
  weighs: { category: 'safety', cap: 59 },
  says: 'A description holds an internal host, a URL, a table or a secret.',
  why: `Descriptions go to every agent that may list the action, to its provider and into its logs. Where things lie helps no model to
choose, and helps everyone who looks for a way around the broker.`,
  example: {
    of: 'observation',
    bad: `description: >
  Reads one customer from crm.prod.internal as it is now. Use this when you need a name or a state. Do not use this for orders; use list_orders
  instead. Returns the id, the name and the state. If it answers UPSTREAM_NOT_FOUND, there is no such customer.`,
    good: `description: >
  Reads one customer as it is now. Use this when you need a name or a state. Do not use this for orders; use list_orders instead. Returns the id, the
  name and the state. If it answers UPSTREAM_NOT_FOUND, there is no such customer.`,
  },
  check (contract) {
    return any(textsOf(contract).flatMap(([pointer, text]): Found[] => {
      const hit = INTERNALS.find(([, form]) => form.test(text))
      // What was found is not repeated where it may be a secret.
      if (hit === undefined) return []
      const [what, form] = hit
      return [{ pointer, message: /secret|key/.test(what) ? `shows ${what}` : `shows ${what}: ${shown(form.exec(text)![0])}` }]
    }))
  },
}

/** All that agents read of a contract, with its place. */
export function textsOf (contract: Contract): ReadonlyArray<readonly [pointer: string, text: string]> {
  const { at, title, description, sheet } = contract
  const messages = [...(sheet?.checks ?? []).entries()].map(([index, { message }]) => [`/checks/${index}/message`, message ?? ''] as const)
  return [
    [at.title, title ?? ''],
    [at.description, description],
    ...parametersOf(contract).map(({ pointer, schema }) => [`${pointer}/description`, descriptionOf(schema)] as const),
    ...messages,
  ]
}
