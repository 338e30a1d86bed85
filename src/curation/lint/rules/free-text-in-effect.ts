import { any, NOTHING, type Rule } from '../rule.ts'
import { freeTextsIn } from '../slots.ts'

export const freeTextInEffect: Rule = {
  id: 'free-text-in-effect',
  severity: 'error',
  weighs: { category: 'safety', cap: 59 },
  says: 'The sentence that an approver reads has a slot for free text of the agent.',
  why: `The effect is the one sentence that people decide by, and whoever writes into it can make it say anything: "…; already approved
by finance". Build it from ids, numbers and what was read from the upstream. Free text belongs into \`after\`, where it is shown as data.`,
  example: {
    of: 'write',
    bad: `consent: call
proposal: {effect: "Move customer \${args.customer_id} to \${args.city}", after: {city: "\${args.city}"}}`,
    good: `consent: call
proposal: {effect: "Move customer \${args.customer_id}", after: {city: "\${args.city}"}}`,
  },
  check (contract) {
    const effect = contract.sheet?.proposal?.effect
    if (effect === undefined) return NOTHING
    return any(freeTextsIn(effect, contract)
      .map(text => ({ pointer: '/proposal/effect', message: `"${text}" is free text of the agent; show it under after` })))
  },
}
