import { one, type Rule } from '../rule.ts'
import { shown } from '../prose.ts'

const CAUTION = new RegExp([
  '(be |very )careful(ly)?', '(with|use|exercise) (great |extreme )?caution', 'sparingly', 'do not overuse', 'make sure (that )?(you|to)',
  'be sure to', 'double[- ]check', 'think (twice|carefully)', 'only if (you are )?(absolutely|really) (sure|necessary)', 'please', 'at your own risk',
  'dangerous', 'not too (often|many)',
].map(words => `\\b${words}\\b`).join('|'), 'i')

export const cautionInPlaceOfLimit: Rule = {
  id: 'caution-in-place-of-limit',
  severity: 'warning',
  weighs: { category: 'description', cost: 15 },
  says: 'A description asks for caution where a limit could hold.',
  why: `"Be careful", "use sparingly" and "make sure that" bind nobody: a model that has decided to call calls. Put the bound where the
broker holds it (calls_per_run, a maximum, a check, consent) and say in the description what happens beyond it.`,
  example: {
    of: 'write',
    bad: `description: >
  Replaces the address of one customer; use it sparingly. Use this when the customer has moved. Do not use this for the address of one order; use
  add_order_note instead. Returns the id and the new version. If it answers VERSION_CONFLICT, read the customer again.`,
    good: `description: >
  Replaces the address of one customer. Use this when the customer has moved. Do not use this for the address of one order; use add_order_note
  instead. Returns the id and the new version. If it answers VERSION_CONFLICT, read the customer again.
limits: {calls_per_run: 3}`,
  },
  check ({ description, at }) {
    const words = CAUTION.exec(description)?.[0]
    if (words === undefined) return one(null)
    return one({ pointer: at.description, message: `${shown(words)} binds nobody; a limit, a check or consent does` })
  },
}
