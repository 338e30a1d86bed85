import { NOTHING, one, type Rule } from '../rule.ts'

export const writeWithoutLookUp: Rule = {
  id: 'write-without-look-up',
  severity: 'warning',
  weighs: { category: 'safety', cap: 79 },
  says: 'Nothing can find out what became of a write whose answer was lost.',
  why: `Without a look-up every lost answer waits for a person, and so does every later write on the same object. Most upstreams can be
asked: for the object and its version, or for a list that shows a key or an own id. Where there is really nothing to ask, accept this
finding and say why.`,
  example: {
    of: 'write',
    bad: 'lookup: none',
    good: `lookup:
  operation: getCustomer
  path: {id: "\${target.id}"}
  outcomes:
    - {when: response.body.version == target.version + 1 && response.body.city == args.city, outcome: completed}
  absent: {when: response.status == 200 && response.body.version == target.version, settles_after: 2s}`,
  },
  check ({ sheet, write }) {
    if (sheet === null || write !== true) return NOTHING
    return one(sheet.lookup === 'none' ? { pointer: '/lookup', message: 'a lost answer waits for a person: nothing looks it up' } : null)
  },
}
