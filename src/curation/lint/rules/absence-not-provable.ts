import { NOTHING, one, type Rule } from '../rule.ts'

export const absenceNotProvable: Rule = {
  id: 'absence-not-provable',
  severity: 'warning',
  weighs: { category: 'safety', cap: 89 },
  says: 'A look-up can prove that a write happened and never that it did not.',
  why: `A write that never arrived is the common case of a lost answer. Without \`absent\` it stays unknown until a person decides.
Absence is proved by an own id that a complete list does not show, or by a version that has not moved.`,
  example: {
    of: 'write',
    bad: `lookup:
  absent: null`,
    good: `lookup:
  absent: {when: response.status == 200 && response.body.version == target.version, settles_after: 2s}`,
  },
  check ({ sheet, write }) {
    if (sheet === null || write !== true || sheet.lookup === undefined || sheet.lookup === 'none') return NOTHING
    return one(sheet.lookup.absent === undefined
      ? { pointer: '/lookup', atKey: true, message: 'no absent: a write that never arrived stays unknown' }
      : null)
  },
}
