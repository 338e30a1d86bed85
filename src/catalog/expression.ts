// One CEL expression of a sheet: checked where it is loaded, then a pure function of the bindings of a call.
import { Optional } from '@marcbachmann/cel-js'
import { parseForCheck, parseForRun, type Node } from './cel.ts'
import { ExpressionFault, type Bindings, type Json } from './catalog.ts'
import { fromCel, pick, type Use } from './convert.ts'
import { compileDirectRead } from './direct-read.ts'
import { ExpressionError, readPaths, shapeOfType, type Path } from './paths.ts'
import { alternatives, ANY, type Shape } from './shape.ts'

export { ExpressionError } from './paths.ts'

/** The variables that a place in a sheet may use, with what is known of them. */
export type Variables = ReadonlyMap<string, Shape>

/** What exists only while an answer is looked through. */
export interface Extra {
  readonly found?: Json | undefined
  readonly item?: Json
}

export interface Expression {
  readonly text: string
  readonly shape: Shape
  /** The value may be absent (`.?`). */
  readonly optional: boolean
  readonly path: Path | null
  readonly uses: ReadonlyMap<string, Use>
  readonly equalities: ReadonlyArray<readonly [Path, Path]>
  /** undefined where an optional value is absent. @throws ExpressionFault */
  evaluate (bindings: Bindings, extra?: Extra): Json | undefined
}

/** A rule: must be a bool. */
export interface Condition {
  readonly expression: Expression
  /** @throws ExpressionFault, also where it is no bool */
  holds (bindings: Bindings, extra?: Extra): boolean
}

const SCALARS = new Set(['string', 'int', 'double', 'bool', 'dyn', 'null', 'google.protobuf.Timestamp'])

/** @throws ExpressionError */
export function compileExpression (text: string, variables: Variables): Expression {
  const { reading, type } = check(text, variables)
  const run = parse(text, parseForRun)
  const optional = type.startsWith('optional<')
  const plainType = optional ? type.slice(9, -1) : type
  requireJson(plainType, text)
  const inferred = shapeOfType(plainType)
  const shape = inferred.kind === 'dyn' || isVague(inferred) || reading.shape.kind === 'object' ? reading.shape : inferred
  const roots = [...reading.uses].map(([name, use]): Root => ({ name: name as Root['name'], use, shape: variables.get(name) ?? ANY, picked: new WeakMap() }))
  const direct = compileDirectRead(reading.path, reading.shape)
  const evaluate = (bindings: Bindings, extra: Extra = {}): Json | undefined => {
    const found = direct?.(bindings)
    if (found !== undefined) return found
    try {
      const value = run(contextOf(roots, bindings, extra))
      if (value instanceof Optional) return value.hasValue() ? fromCel(value.value()) : undefined
      return fromCel(value)
    } catch (error) {
      throw new ExpressionFault(`${text}: ${whatFailed(error)}`)
    }
  }
  return Object.freeze({ text, shape, optional, path: reading.path, uses: reading.uses, equalities: reading.equalities, evaluate })
}

/** For the log, so without the value that it failed on: behind a colon the library and the runtime name keys, texts and zones that others wrote. */
function whatFailed (error: unknown): string {
  if (!(error instanceof Error)) return 'failed'
  return ((error as { readonly summary?: string }).summary ?? error.message).split(':', 1)[0]!
}

/** @throws ExpressionError, also where it cannot be a bool */
export function compileCondition (text: string, variables: Variables): Condition {
  const expression = compileExpression(text, variables)
  const possible = alternatives(expression.shape)
  if (expression.optional || (possible.length > 0 && !possible.some(shape => shape.kind === 'bool'))) {
    throw new ExpressionError('expression-not-bool', 'the expression must be true or false', 0)
  }
  return Object.freeze({
    expression,
    holds (bindings: Bindings, extra?: Extra): boolean {
      const value = expression.evaluate(bindings, extra)
      if (typeof value !== 'boolean') throw new ExpressionFault(`${text}: not true or false`)
      return value
    },
  })
}

/** Whether the type can be written inside a text. */
export const isTextual = (expression: Expression): boolean => !expression.optional && SCALARS.has(typeName(expression.shape))

function typeName (shape: Shape): string {
  return shape.kind === 'timestamp' ? 'google.protobuf.Timestamp' : shape.kind
}

interface Root {
  readonly name: keyof Bindings | 'found' | 'item'
  readonly use: Use
  readonly shape: Shape
  /** By whose it is, what was picked before: a caller is the same object for as long as its token is good, and may have many claims. */
  readonly picked: WeakMap<object, unknown>
}

function contextOf (roots: readonly Root[], bindings: Bindings, extra: Extra): ReadonlyMap<string, unknown> {
  const context = new Map<string, unknown>()
  for (const { name, use, shape, picked } of roots) {
    if (name === 'caller') {
      let caller = picked.get(bindings.caller)
      if (caller === undefined) picked.set(bindings.caller, caller = pick(bindings.caller as unknown as Json, shape, use))
      context.set(name, caller)
      continue
    }
    if (name === 'found') {
      const found = pick(extra.found, shape, use)
      context.set(name, found === undefined ? Optional.none() : Optional.of(found))
      continue
    }
    const bound = name === 'item' ? extra.item : name === 'attempt' ? attemptOf(bindings) : bindings[name] as unknown as Json
    // null: not known here (no target, no attempt yet). The expression then meets an unknown variable and fails.
    const value = bound === null && name !== 'item' ? undefined : pick(bound, shape, use)
    if (value !== undefined) context.set(name, value)
  }
  return context
}

/** A reference that is not known yet is not there: nothing may be asked with null in its place. */
function attemptOf ({ attempt }: Bindings): Json {
  if (attempt === null) return null
  const { id, key, reference } = attempt
  return reference === null ? { id, key } : { id, key, reference }
}

function check (text: string, variables: Variables): { readonly reading: ReturnType<typeof readPaths>, readonly type: string } {
  const parsed = parse(text, parseForCheck)
  const reading = readPaths(parsed.ast, variables)
  const checked = parsed.check()
  if (!checked.valid) throw asExpressionError(checked.error, 'expression-type')
  return { reading, type: normalType(checked.type ?? 'dyn') }
}

/** The library shortens what it knows nothing about. */
function normalType (type: string): string {
  return type === 'list' || type === 'list<T>' ? 'list<dyn>' : type === 'map' || type === 'map<K, V>' ? 'map<string, dyn>' : type
}

const JSON_TYPE = /^(?:list<|map<|dyn|string$|bool$|int$|double$|null$|google\.protobuf\.Timestamp$|T$|A$)/
const OTHER_TYPE = /optional<|bytes|uint|Duration/

function requireJson (type: string, text: string): void {
  if (JSON_TYPE.test(type) && !OTHER_TYPE.test(type)) return
  throw new ExpressionError('expression-type', `the value is a ${type}, which has no JSON: ${text}`, 0)
}

const isVague = (shape: Shape): boolean => shape.kind === 'list' && alternatives(shape.item()).length === 0

function parse<T> (text: string, with_: (text: string) => T): T {
  try {
    return with_(text)
  } catch (error) {
    throw asExpressionError(error, 'expression-syntax')
  }
}

function asExpressionError (error: unknown, rule: string): ExpressionError {
  if (error instanceof ExpressionError) return error
  const known = error as { readonly summary?: string, readonly message?: string, readonly range?: { readonly start: number }, readonly node?: Node }
  return new ExpressionError(rule, known.summary ?? known.message ?? 'cannot be read', known.range?.start ?? 0)
}
