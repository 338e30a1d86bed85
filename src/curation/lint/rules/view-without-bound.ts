import { hasShortFormat, hasType, isChosen, nodesOfSchema } from '../parameters.ts'
import { any, NOTHING, type Found, type Rule } from '../rule.ts'

export const viewWithoutBound: Rule = {
  id: 'view-without-bound',
  severity: 'note',
  weighs: { category: 'practice', cost: 30 },
  says: 'A view has a list or a text whose size nobody decided.',
  why: `What comes back is read by a model, token by token. The broker cuts lists at 50 and refuses results over 32 KiB, which is eight
thousand tokens of one answer; that is a fuse and not a decision. Say max_items where there is a list, and maxLength or max_bytes where
there is text. --fix writes down the bounds that hold anyway, so that a reviewer sees them.`,
  example: {
    of: 'observation',
    bad: `result:
  max_bytes: null
  schema:
    properties:
      name: {type: string, maxLength: null}`,
    good: `result:
  max_bytes: 4KiB
  schema:
    properties:
      name: {type: string, maxLength: null}`,
  },
  check ({ sheet, result, at }) {
    const declared = sheet?.result
    if (declared === undefined || result === null) return NOTHING
    const nodes = nodesOfSchema(result, at.result)
    const found: Found[] = []
    const lists = nodes.filter(({ schema }) => hasType(schema, 'array') && schema.maxItems === undefined)
    if (lists.length > 0 && declared.max_items === undefined) {
      found.push({
        pointer: lists[0]!.pointer,
        message: 'a list, and no max_items: it is cut at 50',
        fix: { kind: 'add', pointer: '/result', name: 'max_items', value: 50 },
      })
    }
    const texts = nodes.filter(({ schema }) => hasType(schema, 'string'))
      .filter(({ schema }) => schema.maxLength === undefined && !isChosen(schema) && !hasShortFormat(schema))
    if (texts.length > 0 && declared.max_bytes === undefined) {
      found.push({
        pointer: texts[0]!.pointer,
        message: 'a text of any length, and no max_bytes: 32 KiB may come back',
        fix: { kind: 'add', pointer: '/result', name: 'max_bytes', value: '32KiB' },
      })
    }
    return any(found)
  },
}
