import type { JsonObject } from '../../../catalog/catalog.ts'
import { NOTHING, one, type Rule } from '../rule.ts'
import { names } from '../slots.ts'

export const versionNotCarried: Rule = {
  id: 'version-not-carried',
  severity: 'warning',
  weighs: { category: 'safety', cap: 89 },
  says: 'A write knows the version of its target and does not send it.',
  why: `A version that was only read and compared leaves a gap until the write arrives. In the request, as If-Match or as a field, the
upstream itself closes it. Where the upstream takes no precondition, accept this finding and say so.`,
  example: {
    of: 'write',
    bad: 'request: {headers: null}\nlookup: {absent: null}',
    good: `request: {headers: {If-Match: '"\${target.version}"'}}`,
  },
  check ({ sheet, write }) {
    if (sheet === null || write !== true || sheet.target?.version === undefined) return NOTHING
    return one(names(sheet.request as JsonObject | undefined, 'target', 'version')
      ? null
      : { pointer: '/target/version', message: 'the request does not carry it: another write may come between' })
  },
}
