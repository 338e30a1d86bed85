import type { Contract } from '../contract.ts'
import { any, NOTHING, type Found, type Rule } from '../rule.ts'
import { BEGINNING, firstWord, verbOf, WRITING } from '../verbs.ts'

export const namePromisesMore: Rule = {
  id: 'name-promises-more',
  severity: 'warning',
  weighs: { category: 'naming', cost: 40 },
  says: 'A name or title promises what the operation only begins.',
  why: `An operation that answers 202 has queued a job. An agent that called "deploy" tells people that it is deployed. Names of such
actions begin with start, request, queue, submit or schedule, and the result tells the state.`,
  example: {
    of: 'write',
    bad: `action: deploy_address
title: Start a change of a customer's address
outcomes:
  - {when: response.status == 412, outcome: rejected, error: VERSION_CONFLICT}
  - {when: response.status == 202, outcome: pending}`,
    good: `action: start_address_change
title: Start a change of a customer's address
outcomes:
  - {when: response.status == 412, outcome: rejected, error: VERSION_CONFLICT}
  - {when: response.status == 202, outcome: pending}`,
  },
  check (contract) {
    if (contract.write !== true || contract.sheet === null || !onlyBegins(contract)) return NOTHING
    const { name, title, at } = contract
    const places = [[at.name, name.split('_')[0]!], [at.title, firstWord(title ?? '')]] as const
    return any(places.flatMap(([pointer, word]): Found[] => {
      const verb = verbOf(word)
      if (verb === null || !WRITING.has(verb) || BEGINNING.has(verb)) return []
      return [{ pointer, message: `"${verb}" promises the end of what is only begun; say start, request or queue` }]
    }))
  },
}

/** The document answers 202 alone, or a rule of the sheet makes an answer pending. */
function onlyBegins ({ sheet, operation }: Contract): boolean {
  if ((sheet!.outcomes ?? []).some(({ outcome }) => outcome === 'pending')) return true
  const successes = (operation?.responses ?? []).map(({ status }) => status).filter(status => /^2/.test(status))
  return successes.length > 0 && successes.every(status => status === '202')
}
