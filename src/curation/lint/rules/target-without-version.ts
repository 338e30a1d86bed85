import { NOTHING, one, type Rule } from '../rule.ts'

export const targetWithoutVersion: Rule = {
  id: 'target-without-version',
  severity: 'warning',
  weighs: { category: 'safety', cap: 89 },
  says: 'A write replaces, changes or deletes an object whatever its version.',
  why: `Between the agent's reading and its write someone else may have changed the object; without a version the write undoes that
unseen, and what a person approved is not what is overwritten. Read the version, name it as target.version, and send it as a
precondition. Where the upstream has none, accept this finding and say so.`,
  example: {
    of: 'write',
    bad: `target: {version: null}
request: {headers: {If-Match: "*"}}
lookup: {outcomes: [{when: response.body.city == args.city, outcome: completed}], absent: null}`,
    good: `target: {type: customer, id: "\${args.customer_id}", version: "\${reads.customer.body.version}"}`,
  },
  check ({ sheet, operation, write }) {
    if (sheet === null || write !== true || operation === null || operation.method === 'POST') return NOTHING
    if (sheet.target === undefined) {
      return one({ pointer: '', atKey: true, message: `${operation.method} without a target: nothing says which object and version` })
    }
    const message = 'no version: a change of someone else is overwritten unseen'
    return one(sheet.target.version === undefined ? { pointer: '/target', message } : null)
  },
}
