// policy.yaml: who may call what, how far, and for which consequences a person has to say yes.
import type { Consent, Effect, Involvement, Role } from './catalog.ts'
import type { Reporter } from './faults.ts'
import { suggestion } from './near.ts'
import type { JsonSchema } from './openapi/operation.ts'
import { ACTION_ID_PATTERN, CONSENTS, EFFECTS, INVOLVEMENTS } from './sheet.ts'
import { pointerTo } from './yaml-file.ts'

interface RoleSheet {
  readonly actions: readonly string[]
  readonly core?: readonly string[]
  readonly max_effect?: Effect
}

export interface PolicySheet {
  readonly roles: { readonly [role: string]: RoleSheet | readonly string[] }
  readonly consent?: { readonly [consequence: string]: { readonly level: Consent, readonly quorum?: number, readonly approvers?: readonly string[] } }
  readonly approvers?: { readonly [role: string]: readonly string[] }
}

const ROLE_PATTERN = '^[A-Za-z][A-Za-z0-9_.:-]{0,63}$'
const ACTIONS: JsonSchema = {
  description: 'Exact names with versions; nothing is granted by default.',
  type: 'array',
  uniqueItems: true,
  items: { type: 'string', pattern: ACTION_ID_PATTERN },
}

export const POLICY_SCHEMA: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Policy',
  description: 'Roles, consent by consequence, and approvers: actions/policy.yaml',
  type: 'object',
  additionalProperties: false,
  required: ['roles'],
  properties: {
    roles: {
      description: 'Roles of agents, as access tokens name them.',
      type: 'object',
      propertyNames: { pattern: ROLE_PATTERN },
      additionalProperties: {
        description: 'A list of actions, or an object with actions, core and max_effect.',
        oneOf: [
          ACTIONS,
          {
            type: 'object',
            additionalProperties: false,
            required: ['actions'],
            properties: {
              actions: ACTIONS,
              core: { ...ACTIONS, description: 'Those of them that are listed as tools where a caller has too many to list; the others are searched for.' },
              max_effect: { description: 'No granted action may have a graver effect.', enum: EFFECTS },
            },
          },
        ],
      },
    },
    consent: {
      description: 'By effect or by what is involved; the strictest of sheet and table wins.',
      type: 'object',
      propertyNames: { enum: [...EFFECTS, ...INVOLVEMENTS] },
      additionalProperties: {
        type: 'object',
        additionalProperties: false,
        required: ['level'],
        properties: {
          level: { description: 'The least that is asked for.', enum: CONSENTS },
          quorum: { description: 'How many people have to say yes.', type: 'integer', minimum: 1, maximum: 10 },
          approvers: {
            description: 'Roles of people that may decide.',
            type: 'array',
            minItems: 1,
            uniqueItems: true,
            items: { type: 'string', pattern: ROLE_PATTERN },
          },
        },
      },
    },
    approvers: {
      description: 'Roles of people, and the actions they may decide on.',
      type: 'object',
      propertyNames: { pattern: ROLE_PATTERN },
      additionalProperties: ACTIONS,
    },
  },
}

/** The graver one is later. */
export const effectRank = (effect: Effect): number => EFFECTS.indexOf(effect)

/** The strictest of the sheet's own consent and the table's. */
export function effectiveConsent (own: Consent, effect: Effect, involves: readonly Involvement[], policy: PolicySheet | null): Consent {
  const levels = [own, ...[effect, ...involves].map(consequence => policy?.consent?.[consequence]?.level ?? 'none')]
  return CONSENTS[Math.max(...levels.map(level => CONSENTS.indexOf(level)))]!
}

/** @param effects of all actions that could be read, by id; `broken` ids are there but have faults of their own */
export function compileRoles (
  policy: PolicySheet, effects: ReadonlyMap<string, Effect>, broken: ReadonlySet<string>, report: Reporter
): ReadonlyMap<string, Role> {
  const roles = new Map<string, Role>()
  const requireKnown = (id: string, pointer: string): void => {
    if (!effects.has(id) && !broken.has(id)) {
      report.fault(pointer, 'action-unknown', `there is no action "${id}"${suggestion(id, [...effects.keys(), ...broken])}`)
    }
  }
  for (const [name, declared] of Object.entries(policy.roles)) {
    const at = pointerTo('/roles', name)
    const { actions, core, maxEffect, within } = isList(declared)
      ? { actions: declared, core: declared, maxEffect: null, within: at }
      : { actions: declared.actions, core: declared.core ?? declared.actions, maxEffect: declared.max_effect ?? null, within: `${at}/actions` }
    for (const [index, id] of actions.entries()) {
      const pointer = pointerTo(within, index)
      requireKnown(id, pointer)
      const effect = effects.get(id)
      if (effect !== undefined && maxEffect !== null && effectRank(effect) > effectRank(maxEffect)) {
        report.fault(pointer, 'role-exceeds-max-effect', `${id} is ${effect}, graver than the ${maxEffect} that the role "${name}" allows`)
      }
    }
    for (const [index, id] of core.entries()) {
      if (!actions.includes(id)) report.fault(pointerTo(`${at}/core`, index), 'core-not-granted', `${id} is no action of the role "${name}"`)
    }
    roles.set(name, Object.freeze({ name, actions: new Set(actions), core: new Set(core) }))
  }
  for (const [role, actions] of Object.entries(policy.approvers ?? {})) {
    for (const [index, id] of actions.entries()) requireKnown(id, pointerTo(pointerTo('/approvers', role), index))
  }
  return roles
}

const isList = (declared: RoleSheet | readonly string[]): declared is readonly string[] => Array.isArray(declared)
