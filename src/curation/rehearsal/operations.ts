// Which operation of an action a recorded request was: by its method and by the template of its path.
import type { Action } from '../../catalog/catalog.ts'
import type { Operation } from '../../catalog/openapi/operation.ts'
import type { Recorded } from './recorder.ts'

/** All that an action may ask its upstream: its own request first, then its reads, then its look-up. */
export function operationsOf (action: Action): readonly Operation[] {
  const all = [action.request, ...action.reads.map(read => read.request), ...action.lookup === null ? [] : [action.lookup.request]]
  return [...new Map(all.map(({ operation }) => [`${operation.method} ${operation.path}`, operation])).values()]
}

/** null where the action has no such operation. */
export function operationOf (action: Action, recorded: Recorded): Operation | null {
  if (recorded.upstream !== action.upstream.name) return null
  // The base path of the upstream stands before the path, as it does in what was sent.
  const base = action.upstream.basePath.slice(`/${action.upstream.name}`.length)
  const path = recorded.path.startsWith(base) ? recorded.path.slice(base.length) : null
  if (path === null) return null
  const fitting = operationsOf(action).filter(operation => operation.method === recorded.method && templateOf(operation.path).test(path))
  // `/orders/mine` is more exact than `/orders/{id}`.
  return fitting.sort((one, other) => one.path.split('{').length - other.path.split('{').length)[0] ?? null
}

export const nameOf = (operation: Operation): string => operation.id

/** `operationId`, or `METHOD /path`. */
export const isNamed = (operation: Operation, name: string): boolean => operation.id === name || `${operation.method} ${operation.path}` === name

const templates = new Map<string, RegExp>()

function templateOf (path: string): RegExp {
  let template = templates.get(path)
  if (template === undefined) {
    const parts = path.split(/\{[^}]*\}/).map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    templates.set(path, template = new RegExp(`^${parts.join('[^/]*')}$`))
  }
  return template
}
