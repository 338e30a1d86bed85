import { any, NOTHING, type Rule } from '../rule.ts'
import { overlapOf, separationOf } from '../overlap.ts'

/** The nearest; whoever has more has to begin with these. */
const TOLD_MAX = 3

export const overlappingActions: Rule = {
  id: 'overlapping-actions',
  severity: 'warning',
  weighs: { category: 'safety', cap: 79 },
  says: 'Two actions are so alike that a model cannot tell which is meant.',
  why: `Where two contracts share the object, the words and the arguments, choosing between them is guessing. Merge them; or make them
differ where a model looks: another verb and object, "use … instead" in both descriptions, an argument that only one of them has. The
likeness is computed from names, descriptions and schemas, the same every time: no model is asked.`,
  example: {
    of: 'observation',
    bad: `action: find_gifts
title: Find gifts
beside:
  - action: search_gifts
    title: Search gifts`,
    good: `action: find_gifts
title: Find gifts
description: >
  Finds gifts by words as they are now. Use this when someone describes what they look for. Do not use this for a list of a category; use search_gifts
  instead. Returns the id, the name and the state. If it answers UPSTREAM_NOT_FOUND, there is none.
beside:
  - action: search_gifts
    title: Search gifts
    description: >
      Searches one category of gifts as it is now. Use this when the category is known. Do not use this for free words; use find_gifts instead.
      Returns the id, the name and the state. If it answers UPSTREAM_NOT_FOUND, there is none.`,
  },
  check (contract, { contracts }) {
    if (contracts.length < 2) return NOTHING
    const alike = contracts.flatMap(other => {
      const percent = overlapOf(contract, other)
      return percent === null ? [] : [{ other, percent }]
    }).sort((one, next) => next.percent - one.percent)
    return any(alike.slice(0, TOLD_MAX).map(({ other, percent }, index) => {
      const rest = index === TOLD_MAX - 1 && alike.length > TOLD_MAX ? `; and ${alike.length - TOLD_MAX} more are like it` : ''
      return { pointer: contract.at.name, message: `${percent} % like ${other.id}; ${separationOf(contract, other)}${rest}` }
    }))
  },
}
