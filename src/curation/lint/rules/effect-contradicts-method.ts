import { NOTHING, one, type Found, type Rule } from '../rule.ts'

export const effectContradictsMethod: Rule = {
  id: 'effect-contradicts-method',
  severity: 'error',
  weighs: { category: 'safety', cap: 59 },
  says: 'The effect is not what the method of the operation is for.',
  why: `An observation that is sent as POST, PUT, PATCH or DELETE needs no key, no consent and no record, and is asked again when its
answer is lost; if it changes anything, all of that was wrong. A DELETE that is called reversible needs an action that undoes it. Some
upstreams do read with POST: then accept this finding with the sentence of their documentation that says so.`,
  example: {
    of: 'write',
    bad: `operation: deleteCustomer
effect: reversible_change
request: {body: null}`,
    good: `operation: deleteCustomer
effect: reversible_change
request: {body: null}
compensate_with: restore_customer.v1`,
  },
  check ({ sheet, operation }) {
    if (sheet === null || operation === null) return NOTHING
    const { method } = operation
    const say = (message: string): Found => ({ pointer: '/effect', message })
    const reads = method === 'GET' || method === 'HEAD'
    if (sheet.effect === 'observation') return one(reads ? null : say(`an observation, and ${method} may change something`))
    if (reads) return one(say(`a write, and ${method} changes nothing`))
    const undone = sheet.compensate_with !== undefined
    return one(method === 'DELETE' && sheet.effect === 'reversible_change' && !undone
      ? say('DELETE is called reversible, and no compensate_with says how it is undone')
      : null)
  },
}
