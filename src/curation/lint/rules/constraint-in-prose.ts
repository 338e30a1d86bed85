import type { JsonObject } from '../../../catalog/catalog.ts'
import { descriptionOf, hasType, isChosen, parametersOf } from '../parameters.ts'
import { shown } from '../prose.ts'
import { each, type Rule } from '../rule.ts'

interface Claim {
  readonly words: RegExp
  /** The keyword that would hold it. */
  readonly keyword: string
  holds (schema: JsonObject): boolean
}

const has = (...keywords: readonly string[]) => (schema: JsonObject): boolean => keywords.some(keyword => schema[keyword] !== undefined)
const upper = has('maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'pattern', 'enum', 'const')
const lower = has('minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'pattern', 'enum', 'const')
const formed = has('pattern', 'format', 'enum', 'const')

const CLAIMS: readonly Claim[] = [
  { words: /\bbetween \d[\d.,]* and \d[\d.,]*/i, keyword: 'minimum and maximum', holds: schema => upper(schema) && lower(schema) },
  { words: /\b(at most|no more than|not more than|up to|max(imum|\.)?( of)?|cannot exceed) \d[\d.,]*/i, keyword: 'a maximum', holds: upper },
  { words: /\b(at least|no less than|not less than|min(imum|\.)?( of)?) \d[\d.,]*/i, keyword: 'a minimum', holds: lower },
  {
    words: /\b(must be )?(one|any) of:? ["'`]?\w+["'`]?(,| or |\|)/i,
    keyword: 'enum',
    holds: schema => isChosen(schema) || schema.items !== undefined,
  },
  { words: /\b(YYYY-MM(-DD)?|DD\.MM\.YYYY|MM\/DD\/YYYY|HH:MM|ISO ?8601|RFC ?3339)\b/i, keyword: 'format or pattern', holds: formed },
  { words: /\bISO ?(4217|3166|639)\b|\b(two|three)-letter\b|\b\d+ (digits|letters|hex)\b/i, keyword: 'pattern or enum', holds: formed },
  { words: /\b(must|has to) (start|begin|end) with\b/i, keyword: 'pattern', holds: has('pattern', 'enum', 'const', 'format') },
  { words: /\b(positive|non-negative|greater than (zero|0))\b/i, keyword: 'minimum', holds: lower },
]

export const constraintInProse: Rule = {
  id: 'constraint-in-prose',
  severity: 'warning',
  weighs: { category: 'parameters', cost: 15 },
  says: 'A constraint is told in prose that the schema could hold.',
  why: `A sentence asks, a schema holds: providers steer the model by the schema, and the broker refuses by it before anything is sent.
Keep the sentence if it helps, and put the bound, the enum or the format beside it.`,
  example: {
    of: 'observation',
    bad: `input:
  required: [customer_id, day]
  properties:
    day: {type: string, maxLength: 10, description: "The day, YYYY-MM-DD"}
examples:
  - {arguments: {customer_id: cus_1, day: "2027-01-31"}, result: {customer_id: cus_1, name: Ada, state: active}}`,
    good: `input:
  required: [customer_id, day]
  properties:
    day: {type: string, format: date, description: "The day, YYYY-MM-DD"}
examples:
  - {arguments: {customer_id: cus_1, day: "2027-01-31"}, result: {customer_id: cus_1, name: Ada, state: active}}`,
  },
  check (contract) {
    return each(parametersOf(contract), ({ schema, pointer }) => {
      const description = descriptionOf(schema)
      // Of a number in text the schema holds the form alone.
      const claim = CLAIMS.find(({ words, holds }) => words.test(description) && !holds(schema) && !hasType(schema, 'boolean'))
      if (claim === undefined) return null
      const told = shown(claim.words.exec(description)![0])
      return { pointer: `${pointer}/description`, message: `${told} is only told; ${claim.keyword} would hold it` }
    })
  },
}
