// The two CEL environments of the process: one checks types on stand-in variables, one evaluates plain data. Neither is made per expression or call.
import { Environment } from '@marcbachmann/cel-js'
import { addDays, civilDate, civilDateAt, daysBetween, weekday } from './civil-date.ts'
import { formatMoney } from './money.ts'
import { compilePattern, type Pattern } from './pattern.ts'

/** A node of a parsed expression, as the library makes it. */
export interface Node {
  readonly op: string
  args: unknown
  readonly start: number
  readonly end: number
  readonly meta: { readonly alternate?: Node, readonly macro?: unknown }
  setMeta (key: 'alternate', value: Node): Node
}

export interface Parsed {
  (context: ReadonlyMap<string, unknown>): unknown
  readonly ast: Node
  check (): { readonly valid: boolean, readonly type?: string, readonly error?: Error }
}

/** Lists longer than this are not iterated. */
export const ITEMS_MAX = 1_000

const OPTIONS = {
  enableOptionalTypes: true,
  homogeneousAggregateLiterals: false,
  limits: { maxAstNodes: 500, maxDepth: 32, maxListElements: 100, maxMapEntries: 100, maxCallArguments: 8 },
}
const SYNC = { async: false }
const TIMESTAMP = 'google.protobuf.Timestamp'

function registerFunctions (environment: Environment): Environment {
  return environment
    .registerFunction('money(int, string): string', (minor: bigint, currency: string) => formatMoney(minor, currency), SYNC)
    .registerFunction('date(string): string', (date: string) => civilDate(date), SYNC)
    .registerFunction(`date(${TIMESTAMP}): string`, (instant: Date) => civilDateAt(instant), SYNC)
    .registerFunction(`date(${TIMESTAMP}, string): string`, (instant: Date, zone: string) => civilDateAt(instant, zone), SYNC)
    .registerFunction('addDays(string, int): string', (date: string, days: bigint) => addDays(date, days), SYNC)
    .registerFunction('daysBetween(string, string): int', (from: string, to: string) => daysBetween(from, to), SYNC)
    .registerFunction('weekday(string): int', (date: string) => weekday(date), SYNC)
    .registerFunction(`string(${TIMESTAMP}): string`, (instant: Date) => instant.toISOString(), SYNC)
}

// ─── Checking ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const ELEMENT_TYPES = ['dyn', 'string', 'bool', 'int', 'double', 'null', TIMESTAMP, 'map<string, dyn>'] as const
const PLAIN_TYPES: readonly string[] = [...ELEMENT_TYPES, ...ELEMENT_TYPES.map(type => `list<${type}>`)]
const CHECKED_TYPES: readonly string[] = [...PLAIN_TYPES, ...PLAIN_TYPES.map(type => `optional<${type}>`)]

const checking = registerFunctions(new Environment(OPTIONS))
for (const [index, type] of CHECKED_TYPES.entries()) checking.registerVariable(`v${index}`, type)

/** Parses for checking; what stands for known values is then replaced by `standIn`. @throws ParseError */
export const parseForCheck = (text: string): Parsed => checking.parse(text) as unknown as Parsed

/** A variable of this CEL type. */
export function standIn (type: string): Node {
  const index = CHECKED_TYPES.indexOf(type)
  return parseForCheck(`v${index === -1 ? 0 : index}`).ast
}

export const literalTrue = (): Node => parseForCheck('true').ast

// ─── Evaluating ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Every variable that a sheet may use. Which may be used where is decided before. */
export const VARIABLES = ['args', 'caller', 'reads', 'response', 'values', 'target', 'attempt', 'found', 'item', 'now'] as const
export type Variable = (typeof VARIABLES)[number]

const evaluating = registerFunctions(new Environment(OPTIONS))
  .registerFunction('bounded(dyn): dyn', (list: unknown) => bounded(list), SYNC)
  .registerFunction('boundedList(dyn): dyn', (list: unknown) => list instanceof Map ? list : bounded(list), SYNC)
  .registerFunction('string.linearMatches(string): bool', (text: string, source: string) => linear(source).test(text), SYNC)
for (const name of VARIABLES) evaluating.registerVariable(name, name === 'found' ? 'optional<dyn>' : 'dyn')
// What is not declared arrives as double. Beside an int literal, `claims.level + 1`, that must not fail; where both are declared the check
// refuses it.
evaluating
  .registerOperator('double + int: double', (a: number, b: bigint) => a + Number(b))
  .registerOperator('int + double: double', (a: bigint, b: number) => Number(a) + b)
  .registerOperator('double - int: double', (a: number, b: bigint) => a - Number(b))
  .registerOperator('int - double: double', (a: bigint, b: number) => Number(a) - b)
  .registerOperator('double * int: double', (a: number, b: bigint) => a * Number(b))
  .registerOperator('int * double: double', (a: bigint, b: number) => Number(a) * b)
  .registerOperator('double / int: double', (a: number, b: bigint) => a / Number(b))
  .registerOperator('int / double: double', (a: bigint, b: number) => Number(a) / b)

function bounded (list: unknown): unknown {
  const size = Array.isArray(list) ? list.length : list instanceof Map ? list.size : 0
  if (size > ITEMS_MAX) throw new RangeError(`a list of ${size} items is longer than ${ITEMS_MAX}`)
  return list
}

/** Patterns are literals of sheets, checked at load; compiled once. */
function linear (source: string): Pattern {
  const compiled = compilePattern(source)
  if (typeof compiled === 'string') throw new RangeError(compiled)
  return compiled
}

/** Parses for evaluating: `matches` runs in linear time, and what is iterated is bounded. @throws ParseError, TypeError of the library */
export function parseForRun (text: string): Parsed {
  const parsed = evaluating.parse(text) as unknown as Parsed
  harden(parsed.ast, false)
  const checked = parsed.check()
  if (!checked.valid) throw checked.error ?? new Error('the expression cannot be checked')
  return parsed
}

/** @param looped it is evaluated for every item of a list */
function harden (node: Node, looped: boolean): void {
  const expanded = node.meta.alternate
  const loops = expanded?.op === 'comprehension'
  for (const child of children(node)) harden(child, looped || loops)
  if (node.op === 'rcall') {
    const call = node.args as [string, Node, Node[]]
    if (call[0] === 'matches') call[0] = 'linearMatches'
  }
  if (loops) {
    const loop = expanded.args as { iterable: Node }
    loop.iterable = guarded('bounded', loop.iterable)
  }
  // Looking for something in a list goes through it, and in a loop does so every time.
  if (looped && node.op === 'in') {
    const sides = node.args as [Node, Node]
    sides[1] = guarded('boundedList', sides[1])
  }
}

function guarded (guard: 'bounded' | 'boundedList', list: Node): Node {
  const call = evaluating.parse(`${guard}(args)`).ast as unknown as Node
  ;(call.args as [string, Node[]])[1][0] = list
  return call
}

/** The nodes directly below, as they were written (not as macros expand them). */
export function children (node: Node): readonly Node[] {
  const { args } = node
  switch (node.op) {
    case 'value': case 'id': return []
    case '!_': case '-_': return [args as Node]
    case '.': case '.?': return [(args as [Node, string])[0]]
    case 'call': return (args as [string, Node[]])[1]
    case 'rcall': {
      const [, receiver, rest] = args as [string, Node, Node[]]
      return [receiver, ...rest]
    }
    case 'map': return (args as Array<[Node, Node]>).flat()
    default: return args as Node[]
  }
}
