// Two versions of an OpenAPI document: what has come, what has gone, and what of it breaks a sheet that names it.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Document } from '../../catalog/openapi/documents.ts'
import { DocumentFault } from '../../catalog/openapi/fault.ts'
import type { OperationEntry } from '../../catalog/openapi/inventory.ts'
import type { Operation } from '../../catalog/openapi/operation.ts'
import type { Finding, Impact } from './finding.ts'
import { compareOperations } from './operation.ts'
import { SchemaComparison, type SharedPart } from './schema.ts'

const routeOf = (entry: OperationEntry): string => `${entry.method} ${entry.path}`

export async function compareDocuments (
  before: Document, after: Document, progress: (done: number, all: number) => void
): Promise<readonly Finding[]> {
  const [olds, news] = [before.operations(), after.operations()]
  const findings: Finding[] = []
  const schemas = new SchemaComparison()
  const reached = new Map<string, Set<string>>()
  const matched = new Set<OperationEntry>()
  for (const [index, old] of olds.entries()) {
    if (index % 50 === 0) {
      progress(index, olds.length)
      await nextTurn()
    }
    const now = news.find(entry => routeOf(entry) === routeOf(old)) ?? (old.id === null ? undefined : news.find(entry => entry.id === old.id))
    if (now === undefined) {
      findings.push(drift(nameOf(old), '', 'breaking', `${routeOf(old)} is gone`))
      continue
    }
    matched.add(now)
    findings.push(...compareEntries(before, old, after, now, schemas, reached))
  }
  for (const entry of news) if (!matched.has(entry)) findings.push(drift(nameOf(entry), '', 'compatible', `${routeOf(entry)} is new`))
  progress(olds.length, olds.length)
  return [...findings, ...sharedFindings(schemas.shared, reached)]
}

function compareEntries (
  before: Document, old: OperationEntry, after: Document, now: OperationEntry, schemas: SchemaComparison, reached: Map<string, Set<string>>
): readonly Finding[] {
  const name = nameOf(old)
  const findings: Finding[] = []
  if (old.id !== null && now.id !== old.id) findings.push(drift(name, '', 'breaking', `${routeOf(now)} is named ${now.id ?? 'nothing'} now`))
  const [one, other] = [read(before, old), read(after, now)]
  if (typeof one === 'string' || typeof other === 'string') {
    if (typeof one !== typeof other) {
      findings.push(
        drift(
          name,
          '',
          typeof other === 'string' ? 'breaking' : 'compatible',
          typeof other === 'string' ? `cannot be used any more: ${other}` : 'can be used now'
        )
      )
    }
    return findings
  }
  if (one.digest === other.digest) return findings
  const { changes, uses } = compareOperations(one, other, schemas)
  for (const key of uses) {
    const names = reached.get(key) ?? new Set()
    reached.set(key, names.add(name))
  }
  return [...findings, ...changes.map(({ at, impact, message }) => drift(name, at, impact, message))]
}

/** The operation, or why it cannot be used. */
function read (document: Document, entry: OperationEntry): Operation | string {
  try {
    return document.operation(routeOf(entry))
  } catch (error) {
    if (error instanceof DocumentFault) return error.message
    throw error
  }
}

/** @param reached operations by the key of the part that they refer to themselves; what that refers to in turn is reached too */
export function sharedFindings (shared: ReadonlyMap<string, SharedPart>, reached: ReadonlyMap<string, ReadonlySet<string>>): readonly Finding[] {
  const all = new Map<string, Set<string>>()
  for (const [start, names] of reached) {
    const seen = new Set([start])
    for (const key of seen) {
      const known = all.get(key) ?? new Set()
      all.set(key, known)
      for (const name of names) known.add(name)
      for (const next of shared.get(key)?.uses ?? []) seen.add(next)
    }
  }
  return [...shared].flatMap(([key, part]) => part.changes.map(({ at, impact, message }): Finding => ({
    ...drift(`components/schemas/${part.name}`, at, impact, `${message} (${part.direction === 'request' ? 'in requests' : 'in answers'})`),
    reaches: [...all.get(key) ?? []].sort(),
  })))
}

const nameOf = (entry: OperationEntry): string => entry.id ?? routeOf(entry)

export const drift = (subject: string, at: string, impact: Impact, message: string): Finding => ({ class: 'drift', impact, subject, at, message })
