import { any, type Found, type Rule } from '../rule.ts'
import { textsOf } from './description-shows-internals.ts'

/** Zero width, joiners, direction marks, tags, soft hyphen: nobody sees them. */
const HIDDEN = new RegExp(`[${[
  '\\u00ad\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufe00-\\ufe0f\\ufeff\\ufff9-\\ufffb',
  '\\u{e0000}-\\u{e01ef}',
].join('')}]`, 'gu')

export const hiddenCharacters: Rule = {
  id: 'hidden-characters',
  severity: 'error',
  weighs: { category: 'safety', cap: 59 },
  says: 'A text holds characters that people do not see and models read.',
  why: `Zero-width characters, direction marks and tags carry sentences past a review. No description needs them. --fix takes them out.`,
  example: {
    of: 'observation',
    bad: 'title: "Read a custo\\u200bmer"',
    good: 'title: Read a customer',
  },
  check (contract) {
    return any(textsOf(contract).flatMap(([pointer, text]): Found[] => {
      const hidden = text.match(HIDDEN)
      if (hidden === null) return []
      const code = hidden[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
      return [{ pointer, message: `holds U+${code}, which nobody sees`, fix: { kind: 'strip', pointer, characters: HIDDEN } }]
    }))
  },
}
