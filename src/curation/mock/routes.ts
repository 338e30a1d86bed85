// Which operation of a document a request is for.
import type { Document } from '../../catalog/openapi/documents.ts'
import { DocumentFault } from '../../catalog/openapi/fault.ts'
import type { Operation } from '../../catalog/openapi/operation.ts'

export interface Route {
  /** operationId, or `METHOD /path`. */
  readonly id: string
  readonly method: string
  readonly path: string
  /** null where the document describes it in a way that cannot be used. */
  operation (): Operation | null
}

export interface Routed {
  readonly route: Route
  /** As they were sent, decoded. */
  readonly path: { readonly [name: string]: string }
}

export interface Routes {
  find (method: string, path: string): Routed | null
  /** Whether any operation has this path, whatever its method. */
  knows (path: string): boolean
  isNamed (route: Route, selector: string): boolean
  has (selector: string): boolean
}

interface Compiled extends Route {
  readonly pattern: RegExp
  readonly names: readonly string[]
  /** Fixed segments first: `/orders/mine` is more exact than `/orders/{id}`. */
  readonly slots: number
}

export function routesOf (document: Document): Routes {
  const all: readonly Compiled[] = document.operations().map(({ id, method, path }) => {
    const names = [...path.matchAll(/\{([^{}/]+)\}/g)].map(([, name]) => name!)
    const fixed = path.split(/\{[^{}/]+\}/).map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    const selector = `${method} ${path}`
    const pattern = new RegExp(`^${fixed.join('([^/]+)')}$`)
    return { id: id ?? selector, method, path, operation: () => operationOf(document, selector), names, pattern, slots: names.length }
  })
  const byExactness = all.toSorted((one, other) => one.slots - other.slots)
  const isNamed = (route: Route, selector: string): boolean => route.id === selector || `${route.method} ${route.path}` === selector
  return {
    isNamed,
    has: selector => all.some(route => isNamed(route, selector)),
    knows: path => all.some(({ pattern }) => pattern.test(path)),
    find (method, path) {
      for (const route of byExactness) {
        const match = route.method === method ? route.pattern.exec(path) : null
        if (match === null) continue
        const values = route.names.map((name, index) => [name, decoded(match[index + 1]!)] as const)
        return { route, path: Object.fromEntries(values) }
      }
      return null
    },
  }
}

function operationOf (document: Document, selector: string): Operation | null {
  try {
    return document.operation(selector)
  } catch (error) {
    if (error instanceof DocumentFault) return null
    throw error
  }
}

function decoded (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
