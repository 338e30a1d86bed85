import { NOTHING, one, type Found, type Rule } from '../rule.ts'
import { claimsOf, shown } from '../prose.ts'
import { COMMITTING, firstWord, READING, verbOf, WRITING } from '../verbs.ts'

const FOR_GOOD = /\b(cannot be (undone|reversed|taken back|called back|recalled)|irreversibl[ey]|permanent(ly)?|for good|for ?ever|no way back)\b/i
const UNDONE = /(?<!(cannot|can not|can't|never) be )\b(can be (undone|reversed|taken back)|is reversible|undoes it)\b/i

export const effectContradictsDescription: Rule = {
  id: 'effect-contradicts-description',
  severity: 'error',
  weighs: { category: 'safety', cap: 59 },
  says: 'The effect is not what the description says.',
  why: `Consent, quorum and the ceiling of a role hang on \`effect\`. Where the description says "permanently" and the effect says
reversible, people are not asked for what they would be asked for; where it begins with "Sends" or "Pays", others have already seen it.`,
  example: {
    of: 'write',
    bad: `description: >
  Replaces the address of one customer permanently. Use this when the customer has moved. Do not use this for the address of one order; use
  add_order_note instead. Returns the id and the new version. If it answers VERSION_CONFLICT, read the customer again.`,
    good: `description: >
  Replaces the address of one customer. Use this when the customer has moved. Do not use this for the address of one order; use add_order_note
  instead. Returns the id and the new version. If it answers VERSION_CONFLICT, read the customer again.`,
  },
  check ({ sheet, description, at }) {
    if (sheet === null) return NOTHING
    const say = (message: string): Found => ({ pointer: at.description, message })
    const claims = claimsOf(description)
    const verb = verbOf(firstWord(claims))
    const forGood = FOR_GOOD.exec(claims)?.[0]
    switch (sheet.effect) {
      case 'observation':
        return one(verb !== null && WRITING.has(verb) && !READING.has(verb)
          ? say(`an observation whose description begins with ${shown(firstWord(claims))}`)
          : null)
      case 'reversible_change':
        if (forGood !== undefined) return one(say(`a reversible change, and the description says ${shown(forGood)}`))
        return one(verb !== null && COMMITTING.has(verb)
          ? say(`a reversible change whose description begins with ${shown(firstWord(claims))}: what others have received is an external_commitment`)
          : null)
      case 'irreversible_change': {
        const undone = UNDONE.exec(claims)?.[0]
        return one(undone === undefined ? null : say(`an irreversible change, and the description says ${shown(undone)}`))
      }
      default: return one(null)
    }
  },
}
