import type { Contract } from '../contract.ts'
import { any, type Found, type Rule } from '../rule.ts'
import { verbOf, WRITING } from '../verbs.ts'

export const annotationsNotDerivable: Rule = {
  id: 'annotations-not-derivable',
  severity: 'warning',
  weighs: { category: 'practice', cost: 30 },
  says: 'What a client is told about reading, destroying and repeating is missing or contradicts itself.',
  why: `Clients decide by the annotations of MCP whether to ask a person and whether to repeat a call. Of a sheet they follow from
effect and retry, so those two must agree; of a tool they must be there, all of them, and be true.`,
  example: {
    of: 'tool',
    bad: 'annotations: {readOnlyHint: null, openWorldHint: null}',
    good: 'annotations: {readOnlyHint: true, openWorldHint: false}',
  },
  check (contract) {
    const say = (message: string): Found => ({ pointer: contract.at.annotations, message })
    return any((contract.sheet === null ? faultsOfTool(contract) : faultsOfSheet(contract)).map(say))
  },
}

function faultsOfSheet ({ sheet }: Contract): readonly string[] {
  const { effect, retry, repeatable } = sheet!
  if (effect === 'observation' && retry === 'never') return ['an observation that may not be repeated: readOnlyHint and idempotentHint contradict']
  if (repeatable === true && retry === 'natural') return ['a repeat changes nothing (natural), and equal calls are all meant (repeatable)']
  return []
}

function faultsOfTool ({ name, annotations, at }: Contract): readonly string[] {
  const hints = annotations ?? {}
  const says = (hint: string): boolean => typeof hints[hint] === 'boolean'
  const wanted = hints.readOnlyHint === true
    ? ['readOnlyHint', 'openWorldHint']
    : ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']
  const missing = wanted.filter(hint => !says(hint))
  const verb = verbOf(name.split(/[_.-]/)[0]!)
  return [
    ...(missing.length > 0 ? [`${at.annotations.split('/').at(-1)!} lacks ${missing.join(', ')}`] : []),
    ...(hints.readOnlyHint === true && hints.destructiveHint === true ? ['readOnlyHint and destructiveHint cannot both be so'] : []),
    ...(hints.readOnlyHint === true && verb !== null && WRITING.has(verb) ? [`readOnlyHint of something that is named "${verb}"`] : []),
  ]
}
