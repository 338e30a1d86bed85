// Answers of the upstream under which the business rules of an action let a call pass: made from what the document says that the reads answer, with
// the agent's own values put where names are the same, and tried on the rules themselves. Where none is found, a scenario has to say what the
// upstream knows.
import { ExpressionFault, isObject, type Action, type Answer, type Bindings, type Json, type JsonObject, type Target } from '../../catalog/catalog.ts'
import { contentFor, responseFor, type JsonSchema, type Operation } from '../../catalog/openapi/operation.ts'
import type { ScriptedReaction } from '../rehearsal/script.ts'
import { SchemaPlaces } from './place.ts'
import { smallest } from './smallest.ts'

const TRIES = 8
const PROPERTIES_MAX = 400

/** By the name of the read; null where none was found. */
export function factsFor (action: Action, args: JsonObject, claims: JsonObject): ReadonlyMap<string, Answer> | null {
  for (let variant = 0; variant < TRIES; variant++) {
    for (const echoed of [args, {}]) {
      const answers = new Map(action.reads.map(read => [read.name, answerOf(read.request.operation, variant, echoed)]))
      if (passes(action, args, claims, answers)) return answers
    }
  }
  return null
}

/** For each rule that refuses, answers under which it is the first that does not hold. */
export function refusingFacts (
  action: Action, args: JsonObject, claims: JsonObject
): ReadonlyArray<{ readonly index: number, readonly code: string, readonly answers: ReadonlyMap<string, Answer> }> {
  const found = new Map<number, { readonly index: number, readonly code: string, readonly answers: ReadonlyMap<string, Answer> }>()
  for (let variant = 0; variant < TRIES; variant++) {
    for (const echoed of [args, {}]) {
      for (const status of [null, ...action.reads.flatMap(read => [...read.allow])]) {
        const answers = new Map(action.reads.map(read => {
          const answer = answerOf(read.request.operation, variant, echoed)
          return [read.name, status !== null && read.allow.has(status) ? { status, headers: answer.headers, body: {} } : answer]
        }))
        const index = firstFailing(action, args, claims, answers)
        const otherwise = index === null ? null : action.checks[index]!.otherwise
        if (index !== null && otherwise?.kind === 'refuse' && !found.has(index)) found.set(index, { index, code: otherwise.code, answers })
      }
    }
  }
  return [...found.values()]
}

/** The reads of an action, answered so. */
export function scriptedReads (action: Action, answers: ReadonlyMap<string, Answer>): readonly ScriptedReaction[] {
  return action.reads.map(read => {
    const { status, headers, body } = answers.get(read.name) ?? answerOf(read.request.operation, 0, {})
    return { operation: read.request.operation.id, react: () => ({ kind: 'answer', status, headers, body: body ?? undefined }) }
  })
}

/** The same object at another version, with everything else as it was; null: it has none, or none was found that its checks let pass. */
export function changedFacts (
  action: Action, args: JsonObject, claims: JsonObject, answers: ReadonlyMap<string, Answer>
): ReadonlyMap<string, Answer> | null {
  const was = targetUnder(action, args, claims, answers)
  if (was === null || was.version === null) return null
  for (const [name, answer] of answers) {
    for (const changed of variations(answer)) {
      const others = new Map(answers).set(name, changed)
      if (!passes(action, args, claims, others)) continue
      const is = targetUnder(action, args, claims, others)
      if (is !== null && is.id === was.id && is.version !== was.version) return others
    }
  }
  return null
}

/** The target that these answers give; null: none. */
export function targetUnder (action: Action, args: JsonObject, claims: JsonObject, answers: ReadonlyMap<string, Answer>): Target | null {
  try {
    return action.target?.(factsOf(action, args, claims, answers)) ?? null
  } catch (error) {
    if (error instanceof ExpressionFault) return null
    throw error
  }
}

/** With one number or text of the body, or its entity tag, changed. */
function * variations (answer: Answer): Generator<Answer> {
  for (const body of changedOnce(answer.body)) yield { ...answer, body }
  yield { ...answer, headers: { ...answer.headers, etag: '"changed"' } }
}

function * changedOnce (value: Json): Generator<Json> {
  if (typeof value === 'number') yield value + 1
  else if (typeof value === 'string') yield `${value}1`
  else if (isObject(value)) {
    for (const [name, member] of Object.entries(value)) for (const changed of changedOnce(member)) yield { ...value, [name]: changed }
  }
}

/** null: all hold, or something could not be evaluated. */
function firstFailing (action: Action, args: JsonObject, claims: JsonObject, answers: ReadonlyMap<string, Answer>): number | null {
  try {
    const bindings = factsOf(action, args, claims, answers)
    const index = action.checks.findIndex(check => !check.holds(bindings))
    return index < 0 ? null : index
  } catch (error) {
    if (error instanceof ExpressionFault) return null
    throw error
  }
}

function passes (action: Action, args: JsonObject, claims: JsonObject, answers: ReadonlyMap<string, Answer>): boolean {
  try {
    const bindings = factsOf(action, args, claims, answers)
    if (!action.checks.every(check => check.holds(bindings))) return false
    action.target?.(bindings)
    return true
  } catch (error) {
    if (error instanceof ExpressionFault) return false
    throw error
  }
}

/** @throws ExpressionFault */
function factsOf (action: Action, args: JsonObject, claims: JsonObject, answers: ReadonlyMap<string, Answer>): Bindings {
  const caller = { sub: 'agent-rehearsal', tenant: 'default', run: 'run', claims }
  const reads = Object.fromEntries(answers)
  let bindings: Bindings = { args, caller, reads, values: {}, target: null, attempt: null, response: null, now: new Date().toISOString() }
  for (const value of action.values) bindings = { ...bindings, values: { ...bindings.values, [value.name]: value.evaluate(bindings) } }
  return bindings
}

/** The first JSON success that the document describes, as full as it is small. */
export function answerOf (operation: Operation, variant: number, echoed: JsonObject): Answer {
  const response = operation.responses.find(({ status }) => /^2/.test(status)) ?? responseFor(operation, 200)
  const status = response === undefined || !/^\d{3}$/.test(response.status) ? 200 : Number(response.status)
  const schema = response === undefined ? undefined : contentFor(response, 'application/json')
  const body = schema === undefined ? null : echoing(valueOf(schema, variant), echoed)
  return { status, headers: body === null ? {} : { 'content-type': 'application/json' }, body }
}

function valueOf (schema: JsonSchema, variant: number): Json {
  if (typeof schema === 'boolean') return {}
  const places = new SchemaPlaces(schema as JsonObject)
  return smallest(places, places.top, { full: true, variant, budget: { left: PROPERTIES_MAX } }) ?? {}
}

function echoing (value: Json, echoed: JsonObject): Json {
  if (Array.isArray(value)) return value.map((item: Json) => echoing(item, echoed))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, Object.hasOwn(echoed, name) ? echoed[name]! : echoing(item, echoed)]))
}
