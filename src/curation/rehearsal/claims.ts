// Claims under which the scope of an action holds for given arguments. Scope rules are expressions, so this reads the forms that scopes commonly
// have; where they have another one, the claims have to be given.
import { isObject, type Action, type Bindings, type Json, type JsonObject } from '../../catalog/catalog.ts'

const PATH = '[A-Za-z_][A-Za-z0-9_]*(?:\\.[A-Za-z_][A-Za-z0-9_]*)*'
const LITERAL = `'[^']*'|"[^"]*"`
const VALUE = `(args\\.${PATH}|${LITERAL})`
const CLAIM = `caller\\.claims\\.(${PATH})`

/** The claims are a list that has the value. */
const MEMBER = new RegExp(`${VALUE} in ${CLAIM}`, 'g')
const EQUAL = new RegExp(`${VALUE} == ${CLAIM}`, 'g')
const EQUAL_TURNED = new RegExp(`${CLAIM} == ${VALUE}`, 'g')

/** What these claims would have to be; whether they do is asked with `unmetScope`. */
export function claimsFor (action: Pick<Action, 'scope'>, args: JsonObject): JsonObject {
  let claims: JsonObject = {}
  for (const { text } of action.scope) {
    for (const [, value, claim] of text.matchAll(MEMBER)) claims = withClaim(claims, claim!.split('.'), [valueOf(value!, args)])
    for (const [, value, claim] of text.matchAll(EQUAL)) claims = withClaim(claims, claim!.split('.'), valueOf(value!, args))
    for (const [, claim, value] of text.matchAll(EQUAL_TURNED)) claims = withClaim(claims, claim!.split('.'), valueOf(value!, args))
  }
  return claims
}

/** Indexes of the rules that do not hold. */
export function unmetScope (action: Pick<Action, 'scope'>, args: JsonObject, claims: JsonObject, tenant: string): readonly number[] {
  const caller = { sub: 'agent-rehearsal', tenant, run: 'run', claims }
  const bindings: Bindings = { args, caller, reads: {}, values: {}, target: null, attempt: null, response: null, now: new Date().toISOString() }
  return action.scope.flatMap((rule, index) => rule.holds(bindings) ? [] : [index])
}

/** Claims that hold for two calls. */
export function claimsOfBoth (one: JsonObject, other: JsonObject): JsonObject {
  const both: { [name: string]: Json } = { ...one }
  for (const [name, value] of Object.entries(other)) {
    const before = both[name]
    both[name] = Array.isArray(before) && Array.isArray(value)
      ? [...before as Json[], ...value as Json[]]
      : isObject(before) && isObject(value) ? claimsOfBoth(before, value) : value
  }
  return both
}

function valueOf (text: string, args: JsonObject): Json {
  if (!text.startsWith('args.')) return text.slice(1, -1)
  let value: Json | undefined = args
  for (const name of text.slice('args.'.length).split('.')) value = isObject(value) ? value[name] : undefined
  return value ?? null
}

function withClaim (claims: JsonObject, path: readonly string[], value: Json): JsonObject {
  const [name, ...rest] = path
  if (name === undefined) return claims
  const before = claims[name]
  if (rest.length > 0) return { ...claims, [name]: withClaim(isObject(before) ? before : {}, rest, value) }
  return { ...claims, [name]: Array.isArray(before) && Array.isArray(value) ? [...before as Json[], ...value as Json[]] : value }
}
