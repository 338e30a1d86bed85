// How an attempt whose outcome is open is looked up: what is asked, what the answer means, and when finding nothing proves that nothing happened.
import { ExpressionFault, isObject, type Absence, type Bindings, type Json, type Lookup } from './catalog.ts'
import { isName } from './paths.ts'
import { compileExpression, ExpressionError, type Condition, type Expression, type Extra } from './expression.ts'
import type { Reporter } from './faults.ts'
import type { Operation } from './openapi/operation.ts'
import { compileConditionAt, compileRules, expressionsOf, judgeLookup, type Judging, type OutcomeRule, type RuleContext } from './outcome.ts'
import type { CompiledRequest } from './request.ts'
import { alternatives, ANY, union, type Shape } from './shape.ts'
import type { LookupSheet } from './sheet.ts'
import { durationMs } from './units.ts'
import type { Known } from './variables.ts'

export interface CompiledLookup {
  readonly lookup: Lookup
  readonly expressions: readonly Expression[]
  /** Ids of this attempt alone that it asks by: `id`, `key`, `reference`. */
  readonly ids: ReadonlySet<string>
  readonly absentWhen: Condition | null
}

interface Find {
  readonly list: Expression
  readonly where: Condition
}

/** More items than this are not looked through: the answer is no evidence. */
const FIND_ITEMS_MAX = 1_000

export function compileLookup (
  sheet: LookupSheet, request: CompiledRequest, operation: Operation, known: Known, context: RuleContext, judging: Judging, report: Reporter
): CompiledLookup | null {
  const before = report.count
  const find = sheet.find === undefined ? null : compileFind(sheet.find, operation, known, report)
  const variables = known.looked(operation, sheet.find === undefined ? null : itemShape(find?.list.shape ?? ANY))
  const rules = compileRules(sheet.outcomes, '/lookup/outcomes', variables, context, report)
  const absentWhen = sheet.absent === undefined ? null : compileConditionAt(sheet.absent.when, '/lookup/absent/when', variables, report)
  if (report.count > before) return null
  const expressions = [
    ...request.expressions,
    ...find === null ? [] : [find.list, find.where.expression],
    ...expressionsOf(rules),
    ...absentWhen === null ? [] : [absentWhen.expression],
  ]
  const asking = [...request.expressions, ...find === null ? [] : [find.where.expression]]
  const ids = attemptNames(asking)
  const absent = sheet.absent === undefined || absentWhen === null ? null : makeAbsence(absentWhen, find, durationMs(sheet.absent.settles_after))
  const lookup: Lookup = Object.freeze({
    request: request.template,
    ownId: ids.size > 0,
    judge: (bindings: Bindings) => judge(rules, find, bindings, judging),
    absent,
  })
  return { lookup, expressions, ids, absentWhen }
}

/** Which names of `attempt` expressions read. */
export function attemptNames (expressions: readonly Expression[]): ReadonlySet<string> {
  return new Set(expressions.flatMap(expression => [...expression.uses.get('attempt')?.names.keys() ?? []]))
}

function compileFind (sheet: { readonly in: string, readonly where: string }, operation: Operation, known: Known, report: Reporter): Find | null {
  const variables = known.looked(operation, null)
  const list = compileAt(sheet.in, '/lookup/find/in', () => compileExpression(sheet.in, variables), report)
  if (list === null) return null
  const possible = alternatives(list.shape)
  if (possible.length > 0 && !possible.some(shape => shape.kind === 'list')) {
    report.fault('/lookup/find/in', 'find-not-a-list', 'must be a list')
    return null
  }
  const where = compileConditionAt(sheet.where, '/lookup/find/where', new Map([...variables, ['item', itemShape(list.shape)]]), report)
  return where === null ? null : { list, where }
}

function compileAt<T> (text: string, pointer: string, compile: () => T, report: Reporter): T | null {
  try {
    return compile()
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    report.fault(pointer, error.rule, error.message, error.offset)
    return null
  }
}

function itemShape (list: Shape): Shape {
  const items = alternatives(list).flatMap(shape => shape.kind === 'list' ? [shape.item()] : [])
  return items.length === 0 ? ANY : union(items)
}

function judge (rules: readonly OutcomeRule[], find: Find | null, bindings: Bindings, judging: Judging): ReturnType<typeof judgeLookup> {
  let extra: Extra
  try {
    extra = search(find, bindings)
  } catch {
    // What could not be searched through says nothing, found or not.
    return null
  }
  return judgeLookup(rules, bindings, extra, judging)
}

function makeAbsence (when: Condition, find: Find | null, settlesAfterMs: number): Absence {
  return Object.freeze({
    settlesAfterMs,
    holds (bindings: Bindings): boolean {
      try {
        return when.holds(bindings, search(find, bindings))
      } catch {
        return false
      }
    },
  })
}

/** @throws ExpressionFault where the list or one of its items cannot be read: the one that cannot may be the one that is looked for */
function search (find: Find | null, bindings: Bindings): Extra {
  if (find === null) return {}
  const list = listOf(find.list, bindings)
  if (list === undefined) return {}
  if (!Array.isArray(list)) throw new ExpressionFault(`${find.list.text}: not a list`)
  if (list.length > FIND_ITEMS_MAX) throw new ExpressionFault(`${find.list.text}: more than ${FIND_ITEMS_MAX} items`)
  for (const item of list as readonly Json[]) if (find.where.holds(bindings, { item })) return { found: item }
  return {}
}

/** As it came where it is a plain chain: what an item holds beside what is asked for cannot keep it from being found. */
function listOf (expression: Expression, bindings: Bindings): Json | undefined {
  const { path } = expression
  if (path === null || path.some(name => !isName(name))) return expression.evaluate(bindings)
  let value: Json | undefined = bindings as unknown as Json
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  if (value === undefined) throw new ExpressionFault(`${expression.text}: there is no list`)
  return value
}

/** Whether absence can prove anything. */
export function checkAbsence (
  compiled: CompiledLookup, request: CompiledRequest, natural: boolean, guarded: boolean, referenced: boolean, report: Reporter
): void {
  if (compiled.absentWhen === null) return
  const sent = new Set<string>([...attemptNames(request.expressions)].filter(name => name === 'id' || name === 'key'))
  // A reference that the upstream gave for this attempt is as much its own as an id that we sent.
  if (referenced) sent.add('reference')
  if ([...compiled.ids].some(name => sent.has(name))) return
  if (natural && guarded && comparesVersion(compiled.absentWhen.expression)) return
  const ids = 'the request and the look-up must both carry attempt.key, attempt.id or attempt.reference'
  const versions = 'the request must carry target.version, and this must compare the look-up\'s version with it; or '
  report.fault('/lookup/absent/when', 'absent-unprovable', `not finding proves nothing: ${natural ? versions : ''}${ids}`)
}

function comparesVersion (expression: Expression): boolean {
  const isVersion = (path: readonly string[]): boolean => path[0] === 'target' && path[1] === 'version'
  const isLookedUp = (path: readonly string[]): boolean => path[0] === 'response' || path[0] === 'found'
  return expression.equalities.some(([one, other]) => (isVersion(one) && isLookedUp(other)) || (isVersion(other) && isLookedUp(one)))
}

export const isLookup = (lookup: unknown): lookup is LookupSheet => isObject(lookup as Json)
