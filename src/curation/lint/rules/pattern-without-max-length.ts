import { longestMatch } from '../longest-match.ts'
import { isChosen, nodesOf } from '../parameters.ts'
import { any, NOTHING, type Found, type Rule } from '../rule.ts'

export const patternWithoutMaxLength: Rule = {
  id: 'pattern-without-max-length',
  severity: 'error',
  weighs: { category: 'safety', cap: 79 },
  says: 'A pattern has no maxLength beside it.',
  why: `A pattern is run over whatever is sent, also by clients whose engine backtracks. maxLength is checked in no time and bounds the
rest. A sheet with such a pattern does not load; where the pattern has a longest match, --fix adds its length.`,
  example: {
    of: 'tool',
    bad: `inputSchema:
  properties:
    account_id: {type: string, pattern: "^acc_[0-9]{1,12}$", maxLength: null, description: "Id of the account, from list_accounts"}`,
    good: `inputSchema:
  properties:
    account_id: {type: string, pattern: "^acc_[0-9]{1,12}$", maxLength: 16, description: "Id of the account, from list_accounts"}`,
  },
  check (contract) {
    const patterns = nodesOf(contract).filter(({ schema }) => typeof schema.pattern === 'string')
    if (patterns.length === 0) return NOTHING
    return any(patterns.flatMap(({ schema, pointer }): Found[] => {
      if (typeof schema.maxLength === 'number' || isChosen(schema)) return []
      const longest = longestMatch(schema.pattern as string)
      return [{
        pointer: `${pointer}/pattern`,
        message: 'a pattern without maxLength',
        ...(longest !== null && { fix: { kind: 'add', pointer, name: 'maxLength', value: longest } }),
      }]
    }))
  },
}
