// An expression that is one chain of names, `response.body.id`, which most of a view is: the value is fetched as it stands. CEL would give the same
// value; converting an answer to its types and back is what most of a view would cost.
import { isObject, type Bindings, type Json } from './catalog.ts'
import { survivesCel } from './convert.ts'
import { isName, type Path } from './paths.ts'
import type { Shape } from './shape.ts'

/** undefined: the value is not there, or CEL would refuse or change it; the expression itself then says what is to be said. */
export type DirectRead = (bindings: Bindings) => Json | undefined

/** Variables that are in the bindings as the expression sees them. */
const ROOTS: ReadonlySet<string> = new Set(['args', 'caller', 'reads', 'response', 'values', 'target'])

/** null where the expression is more than such a chain. @param shape of what the chain ends in */
export function compileDirectRead (path: Path | null, shape: Shape): DirectRead | null {
  if (path === null || path.length < 2 || !ROOTS.has(path[0]!) || !path.every(isName)) return null
  const [root, ...names] = path
  return bindings => {
    let value = bindings[root as keyof Bindings] as unknown as Json
    for (const name of names) {
      if (!isObject(value) || !Object.hasOwn(value, name)) return undefined
      value = value[name]!
    }
    return survivesCel(value, shape) ? value : undefined
  }
}
