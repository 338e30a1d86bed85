// Two states of a whole catalog: actions, upstreams, policy, and the operations of the documents that they rest on.
import { isDeepStrictEqual } from 'node:util'
import { isObject, type Json, type JsonObject } from '../../catalog/catalog.ts'
import { CONSENTS, EFFECTS } from '../../catalog/sheet.ts'
import { drift, sharedFindings } from './documents.ts'
import type { Class, Finding } from './finding.ts'
import { compareOperations } from './operation.ts'
import { SchemaComparison } from './schema.ts'
import { compareSheets } from './sheet.ts'
import { operationsOf, type Snapshot } from './snapshot.ts'

export function compareSnapshots (before: Snapshot, after: Snapshot): readonly Finding[] {
  return [
    ...compareActions(before, after),
    ...compareUpstreams(before, after),
    ...comparePolicies(before, after),
    ...compareUnderneath(before, after),
  ]
}

const finding = (name: Class, subject: string, at: string, message: string): Finding =>
  ({ class: name, impact: name === 'breaking' ? 'breaking' : 'compatible', subject, at, message })

function compareActions (before: Snapshot, after: Snapshot): readonly Finding[] {
  const findings: Finding[] = []
  for (const [id, text] of before.sheets) {
    const now = after.sheets.get(id)
    if (now === undefined) findings.push(finding('breaking', id, '', 'is gone'))
    else findings.push(...compareSheets(id, { action: before.catalog.actions.get(id)!, text }, { action: after.catalog.actions.get(id)!, text: now }))
  }
  for (const id of after.sheets.keys()) {
    // Whom it is granted to is told by the policy.
    if (!before.sheets.has(id)) findings.push(finding('wording', id, '', 'is new'))
  }
  return findings
}

function compareUpstreams (before: Snapshot, after: Snapshot): readonly Finding[] {
  return [...before.upstreams].flatMap(([name, { value: was, bytes }]) => {
    const now = after.upstreams.get(name)
    if (now === undefined) return []
    const subject = `upstream ${name}`
    const differing = [...new Set([...Object.keys(was), ...Object.keys(now.value)])].filter(field => !isDeepStrictEqual(was[field], now.value[field]))
    if (differing.length === 0) {
      return bytes === now.bytes ? [] : [finding('cosmetic', subject, '', 'only comments, spaces or the order of fields have changed')]
    }
    return differing.map(field => finding(...upstreamField(field, was[field], now.value[field], subject)))
  })
}

function upstreamField (field: string, was: Json | undefined, is: Json | undefined, subject: string): readonly [Class, string, string, string] {
  const at = `/${field}`
  switch (field) {
    case 'server': return ['authority', subject, at, `requests go to ${String(is)} now, and went to ${String(was)}`]
    case 'networks': return ['authority', subject, at, 'other addresses may be dialled now']
    case 'credential':
    case 'credentials': return ['authority', subject, at, 'another credential is sent: what it may do is known to the upstream alone']
    case 'openapi': return ['drift', subject, at, `it rests on the document ${String(is)} now, and did on ${String(was)}`]
    case 'headers': return ['breaking', subject, at, 'other headers are sent with every request']
    default: return ['cosmetic', subject, at, 'time-outs or limits of the process have changed']
  }
}

// ─── Policy ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function comparePolicies (before: Snapshot, after: Snapshot): readonly Finding[] {
  const [was, is] = [before.policy.value, after.policy.value]
  const findings = [
    ...compareGrants(roles(was), roles(is), 'role', ['authority', 'breaking']),
    ...compareCeilings(was, is),
    ...compareConsents(part(was, 'consent'), part(is, 'consent')),
    ...compareGrants(roles({ roles: part(was, 'approvers') }), roles({ roles: part(is, 'approvers') }), 'approver', ['consent', 'wording']),
  ]
  if (findings.length > 0 || before.policy.bytes === after.policy.bytes) return findings
  return [isDeepStrictEqual(was, is)
    ? finding('cosmetic', 'policy', '', 'only comments, spaces or the order of fields have changed')
    : finding('wording', 'policy', '', 'what is listed first has changed')]
}

type Grants = ReadonlyMap<string, readonly string[]>

function roles (policy: JsonObject): Grants {
  return new Map(
    Object.entries(part(policy, 'roles')).map(([name, declared]) => [name, listOf(isObject(declared) ? declared.actions : declared).map(String)])
  )
}

/** @param classes of a grant that comes, and of one that goes */
function compareGrants (was: Grants, is: Grants, kind: string, [more, less]: readonly [Class, Class]): readonly Finding[] {
  return [...new Set([...was.keys(), ...is.keys()])].flatMap(name => {
    const [before, after] = [was.get(name) ?? [], is.get(name) ?? []]
    const subject = `${kind} ${name}`
    return [
      ...after.filter(id => !before.includes(id)).map(
        id => finding(more, subject, '', kind === 'role' ? `may call ${id} now` : `decides on ${id} now`)
      ),
      ...before.filter(id => !after.includes(id)).map(
        id => finding(less, subject, '', kind === 'role' ? `may not call ${id} any more` : `does not decide on ${id} any more`)
      ),
    ]
  })
}

function compareCeilings (was: JsonObject, is: JsonObject): readonly Finding[] {
  const ceiling = (policy: JsonObject, name: string): number => {
    const declared = part(policy, 'roles')[name]
    const effect = isObject(declared) ? declared.max_effect : undefined
    return effect === undefined ? EFFECTS.length : EFFECTS.indexOf(effect as typeof EFFECTS[number])
  }
  return Object.keys(part(was, 'roles')).filter(name => part(is, 'roles')[name] !== undefined).flatMap(name => {
    const [before, after] = [ceiling(was, name), ceiling(is, name)]
    if (before === after) return []
    const message = `max_effect ${EFFECTS[before] ?? 'none'} → ${EFFECTS[after] ?? 'none'}`
    return [finding(after > before ? 'authority' : 'wording', `role ${name}`, '/max_effect', message)]
  })
}

function compareConsents (was: JsonObject, is: JsonObject): readonly Finding[] {
  return [...new Set([...Object.keys(was), ...Object.keys(is)])].flatMap(name => {
    const [before, after] = [demandOf(was[name]), demandOf(is[name])]
    const subject = `consent ${name}`
    const findings: Finding[] = []
    // A stricter level is told of every action that it changes.
    if (after.level < before.level) findings.push(finding('consent', subject, '/level', `${CONSENTS[before.level]} → ${CONSENTS[after.level]}`))
    if (after.quorum !== before.quorum) {
      findings.push(finding(after.quorum < before.quorum ? 'consent' : 'breaking', subject, '/quorum', `${before.quorum} → ${after.quorum}`))
    }
    if (!isDeepStrictEqual(before.approvers, after.approvers)) {
      findings.push(
        finding('consent', subject, '/approvers', `${before.approvers.join(', ') || 'anyone'} → ${after.approvers.join(', ') || 'anyone'}`)
      )
    }
    return findings
  })
}

function demandOf (declared: Json | undefined): { readonly level: number, readonly quorum: number, readonly approvers: readonly string[] } {
  const { level = 'none', quorum = 1, approvers } = isObject(declared) ? declared : {}
  return { level: CONSENTS.indexOf(level as typeof CONSENTS[number]), quorum: Number(quorum), approvers: listOf(approvers).map(String).sort() }
}

const part = (value: JsonObject, name: string): JsonObject => isObject(value[name]) ? value[name] : {}
const listOf = (value: Json | undefined): readonly Json[] => Array.isArray(value) ? value as readonly Json[] : []

// ─── Documents ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Of what has changed in the documents, only what actions rest on. */
function compareUnderneath (before: Snapshot, after: Snapshot): readonly Finding[] {
  const schemas = new SchemaComparison()
  const reached = new Map<string, Set<string>>()
  const findings: Finding[] = []
  for (const id of before.sheets.keys()) {
    const now = operationsOf(after, id)
    for (const [use, operation] of operationsOf(before, id)) {
      const other = now.get(use)
      // Another operation under the same name is a change of the sheet.
      if (other === undefined || other.digest === operation.digest || (other.id !== operation.id && other.path !== operation.path)) continue
      const { changes, uses } = compareOperations(operation, other, schemas)
      const subject = `${id} ${use} ${other.id}`
      if (changes.length + uses.size === 0) findings.push(drift(subject, '', 'compatible', 'its words have changed'))
      findings.push(...changes.map(({ at, impact, message }) => drift(subject, at, impact, message)))
      for (const key of uses) reached.set(key, (reached.get(key) ?? new Set()).add(subject))
    }
  }
  return [...findings, ...sharedFindings(schemas.shared, reached)]
}
