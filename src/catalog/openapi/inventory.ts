// Which operations a document has, and where they stand.
import { nearest } from '../../nearest.ts'
import { DocumentFault } from './fault.ts'
import { isObject, own } from './pointer.ts'
import { childOf, fault, rootOf } from './reference.ts'
import type { Place, References } from './reference.ts'
import type { Source } from './source.ts'
import type { Dialect } from './structure.ts'

export interface OperationEntry {
  /** null where the document gives none. */
  readonly id: string | null
  /** Upper case. */
  readonly method: string
  /** As in the document. */
  readonly path: string
}

export interface Located extends OperationEntry {
  readonly pathItem: Place
  readonly operation: Place
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const
const EXTRA: { readonly [dialect in Dialect]: readonly string[] } = { '2.0': [], '3.0': ['trace'], '3.1': ['trace'], '3.2': ['trace', 'query'] }

export interface Inventory {
  /** Every operation that can be found, in the document's order. */
  readonly all: readonly Located[]
  /** @throws DocumentFault where there is none, or more than one */
  find (selector: string): Located
}

function operationsOf (pathItem: Place, path: string, dialect: Dialect): readonly Located[] {
  if (!isObject(pathItem.node)) return []
  const at = [...METHODS, ...EXTRA[dialect]].map(method => [method.toUpperCase(), childOf(pathItem, method)] as const)
  const additional = dialect === '3.2' ? childOf(pathItem, 'additionalOperations') : undefined
  if (additional !== undefined && isObject(additional.node)) {
    // 3.2: the names there are methods as they are sent; those with a field of their own must not be there
    for (const method of Object.keys(additional.node)) {
      if (/^[A-Z][A-Z0-9-]{0,31}$/.test(method) && !at.some(([known]) => known === method)) at.push([method, childOf(additional, method)])
    }
  }
  const order = Object.keys(pathItem.node)
  return at.filter(([, operation]) => isObject(operation.node))
    .sort(([a], [b]) => order.indexOf(a.toLowerCase()) - order.indexOf(b.toLowerCase()))
    .map(([method, operation]) => {
      const id = isObject(operation.node) ? own(operation.node, 'operationId') : undefined
      return { id: typeof id === 'string' && id !== '' ? id : null, method, path, pathItem, operation }
    })
}

export function takeInventory (source: Source, dialect: Dialect, references: References): Inventory {
  const paths = childOf(rootOf(source), 'paths')
  const all: Located[] = []
  /** Path items whose own reference cannot be followed: a sheet that names one gets that fault. */
  const broken = new Map<string, DocumentFault>()
  for (const path of isObject(paths.node) ? Object.keys(paths.node) : []) {
    if (path.startsWith('x-')) continue
    try {
      all.push(...operationsOf(references.follow(childOf(paths, path)), path, dialect))
    } catch (error) {
      if (!(error instanceof DocumentFault)) throw error
      broken.set(path, error)
    }
  }
  const byId = Map.groupBy(all.filter(one => one.id !== null), one => one.id as string)
  const byRoute = new Map(all.map(one => [`${one.method} ${one.path}`, one]))
  return {
    all,
    find (selector) {
      const route = byRoute.get(selector)
      if (route !== undefined) return route
      const [first, ...others] = byId.get(selector) ?? []
      if (first !== undefined && others.length === 0) return first
      if (first !== undefined) {
        const routes = [first, ...others].map(one => `${one.method} ${one.path}`).join(', ')
        const second = childOf(others[0]?.operation ?? first.operation, 'operationId')
        throw fault(second, 'operation-ambiguous', `More than one operation is named so; name it as one of: ${routes}`)
      }
      const path = /^[A-Z][A-Z0-9-]* (\/.*)$/s.exec(selector)?.[1]
      const reason = path === undefined ? undefined : broken.get(path)
      if (reason !== undefined) throw reason
      const near = nearest(selector, [...byId.keys(), ...byRoute.keys()])
      const hint = near === null ? '' : ` Did you mean "${near}"?`
      throw fault(path === undefined ? paths : childOf(paths, path), 'operation-unknown', `The document has no such operation.${hint}`)
    },
  }
}
