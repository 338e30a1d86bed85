// Writes the lock of a catalog, and compares a lock with a catalog by what a difference means.
import { digestOf } from '../../catalog/compile.ts'
import { LOCK_FORMAT, type Lock, type LockedAction } from '../../catalog/lock.ts'
import type { Json, JsonObject } from '../../catalog/catalog.ts'
import { CONSENTS, EFFECTS } from '../../catalog/sheet.ts'
import type { Class, Finding, Impact } from '../diff/finding.ts'
import { operationsOf, type Snapshot } from '../diff/snapshot.ts'
import { judges } from '../judges.ts'

/** Fields of a sheet that mean the same where they change. */
export const PARTS: { readonly [part: string]: { readonly fields: readonly string[], readonly class: Class, readonly impact: Impact } } = {
  input: { fields: ['input'], class: 'breaking', impact: 'breaking' },
  rules: { fields: ['scope', 'checks'], class: 'authority', impact: 'breaking' },
  result: { fields: ['result', 'sensitivity'], class: 'view', impact: 'breaking' },
  request: {
    fields: ['operation', 'request', 'reads', 'values', 'target', 'outcomes', 'idempotency', 'retry', 'repeatable', 'durability'],
    class: 'breaking',
    impact: 'breaking',
  },
  proposal: { fields: ['proposal', 'involves'], class: 'consent', impact: 'compatible' },
  lookup: { fields: ['lookup'], class: 'evidence', impact: 'compatible' },
  limits: { fields: ['limits'], class: 'authority', impact: 'compatible' },
  wording: { fields: ['title', 'description', 'examples', 'sunset', 'compensate_with'], class: 'wording', impact: 'compatible' },
}

export function lockOf (snapshot: Snapshot): Lock {
  const { catalog, sheets } = snapshot
  const actions = [...catalog.actions.values()].map((action): [string, LockedAction] => {
    const sheet = sheets.get(action.id)!.value
    const parts = Object.entries(PARTS).map(([name, { fields }]): [string, string] => [name, digestOf(someOf(sheet, fields))])
    return [action.id, {
      version: action.version,
      upstream: action.upstream.name,
      effect: action.effect,
      consent: action.consent,
      digest: action.digest,
      sheet: digestOf(sheet),
      operations: Object.fromEntries([...operationsOf(snapshot, action.id)].map(([use, operation]) => [`${use} ${operation.id}`, operation.digest])),
      parts: Object.fromEntries(parts),
    }]
  })
  return {
    format: LOCK_FORMAT,
    judges: judges(),
    catalog: catalog.digest,
    roles: Object.fromEntries([...catalog.roles.values()].map(role => [role.name, [...role.actions].sort()])),
    actions: Object.fromEntries(actions),
  }
}

const someOf = (sheet: JsonObject, fields: readonly string[]): JsonObject =>
  Object.fromEntries(fields.flatMap((field): Array<[string, Json]> => Object.hasOwn(sheet, field) ? [[field, sheet[field]!]] : []))

/** Two spaces and a line end, so that a change is a line in a review. */
export const lockText = (lock: Lock): string => `${JSON.stringify(lock, null, 2)}\n`

/** A lock holds digests alone: that a part has changed is known, and not how. */
export function compareLocks (before: Lock, after: Lock): readonly Finding[] {
  const findings: Finding[] = []
  for (const [id, was] of Object.entries(before.actions)) {
    const is = after.actions[id]
    findings.push(...is === undefined ? [finding('breaking', id, '', 'is gone')] : compareLocked(id, was, is))
  }
  for (const id of Object.keys(after.actions)) if (before.actions[id] === undefined) findings.push(finding('wording', id, '', 'is new'))
  for (const role of new Set([...Object.keys(before.roles), ...Object.keys(after.roles)])) {
    const [was, is] = [before.roles[role] ?? [], after.roles[role] ?? []]
    findings.push(...is.filter(id => !was.includes(id)).map(id => finding('authority', `role ${role}`, '', `may call ${id} now`)))
    findings.push(...was.filter(id => !is.includes(id)).map(id => finding('breaking', `role ${role}`, '', `may not call ${id} any more`)))
  }
  if (findings.length === 0 && before.catalog !== after.catalog) {
    findings.push(finding('consent', 'policy', '', 'the policy or an upstream.yaml has changed'))
  }
  for (const [name, version] of Object.entries(after.judges)) {
    const was = before.judges[name]
    if (was !== version) findings.push(finding('cosmetic', `judge ${name}`, '', `${was ?? 'none'} → ${version}: run aval test again`))
  }
  return findings
}

function compareLocked (id: string, was: LockedAction, is: LockedAction): readonly Finding[] {
  const findings: Finding[] = []
  if (was.effect !== is.effect) {
    findings.push(
      finding(EFFECTS.indexOf(is.effect) > EFFECTS.indexOf(was.effect) ? 'authority' : 'consent', id, '/effect', `${was.effect} → ${is.effect}`)
    )
  }
  if (was.consent !== is.consent) {
    findings.push(
      finding(CONSENTS.indexOf(is.consent) < CONSENTS.indexOf(was.consent) ? 'consent' : 'breaking', id, '/consent', `${was.consent} → ${is.consent}`)
    )
  }
  for (const [name, { class: kind, impact }] of Object.entries(PARTS)) {
    if (was.parts[name] !== is.parts[name]) {
      findings.push({ ...finding(kind, id, `/${name}`, 'has changed; compare with a git revision to see how'), impact })
    }
  }
  for (const [use, digest] of Object.entries(was.operations)) {
    const now = is.operations[use]
    if (now !== undefined && now !== digest) findings.push({ ...finding('drift', id, '', `${use} has changed in the document`), impact: 'risky' })
  }
  // What no part accounts for stands in upstream.yaml.
  if (findings.length === 0 && was.digest !== is.digest) findings.push(finding('authority', id, '', `upstream.yaml of ${is.upstream} has changed`))
  return findings
}

const finding = (name: Class, subject: string, at: string, message: string): Finding =>
  ({ class: name, impact: name === 'breaking' ? 'breaking' : 'compatible', subject, at, message })
