// What a rule is: one file of rules/, one row of the table in rules.ts.
import type { Contract, Offer } from './contract.ts'
import type { Edit } from './edit.ts'
import type { YamlFile } from '../../catalog/yaml-file.ts'

export const CATEGORIES = ['description', 'parameters', 'practice', 'naming', 'examples'] as const
export type Category = (typeof CATEGORIES)[number]

/** Of 100 points of an action, by how tool calls fail. */
export const WEIGHTS: Readonly<Record<Category, number>> = { description: 25, parameters: 25, practice: 20, naming: 15, examples: 15 }

export type Severity = 'error' | 'warning' | 'note'

export interface Rule {
  /** Kebab-case; it says the fault. */
  readonly id: string
  readonly severity: Severity
  /** `cost`: points out of the 100 of its category, lost where all that the rule asked about is at fault. `cap`: no action with it scores more. */
  readonly weighs: { readonly category: Category, readonly cost: number } | { readonly category: 'safety', readonly cap: number }
  /** The fault in one sentence. */
  readonly says: string
  /** Why it matters and what to do, for the docs. */
  readonly why: string
  /**
   * A seeded fault and its repair, as YAML that replaces or adds (null: takes away) fields of an otherwise clean contract. A list of sheets stands
   * beside it as `beside`, a policy as `policy`.
   */
  readonly example: { readonly of: 'observation' | 'write' | 'tool', readonly bad: string, readonly good: string }
  check (contract: Contract, offer: Offer): Judgement
}

export interface Judgement {
  /** How many things the rule asked about; 0: it has nothing to say here. */
  readonly asked: number
  readonly found: readonly Found[]
}

export interface Found {
  /** JSON Pointer in the file. */
  readonly pointer: string
  readonly message: string
  /** The key is at fault and not the value. */
  readonly atKey?: true
  /** Where it is not the file of the contract. */
  readonly file?: YamlFile
  /** A repair that needs no judgement. */
  readonly fix?: Edit
}

export const NOTHING: Judgement = Object.freeze({ asked: 0, found: [] })

/** Of a rule that asks one question: null is a good answer. */
export const one = (found: Found | null): Judgement => ({ asked: 1, found: found === null ? [] : [found] })

/** Of a rule that asks the same of several things. */
export function each<Thing> (things: readonly Thing[], judge: (thing: Thing) => Found | null): Judgement {
  return { asked: things.length, found: things.map(judge).filter(found => found !== null) }
}

/** Of a rule whose every finding weighs in full. */
export const any = (found: readonly Found[]): Judgement => ({ asked: Math.max(1, found.length), found })
