// What differs between two states of sheets or documents, and what that means to whoever relies on them.

export const CLASSES = ['breaking', 'authority', 'view', 'consent', 'drift', 'evidence', 'wording', 'cosmetic'] as const
export type Class = (typeof CLASSES)[number]

export const MEANINGS: { readonly [name in Class]: string } = {
  breaking: 'breaks agents that call it: give the change a new version',
  authority: 'widens what agents may do',
  view: 'widens what agents see',
  consent: 'weakens what a person is asked',
  drift: 'the document of the upstream has changed under it',
  evidence: 'changes what an outcome is learned from',
  wording: 'changes what agents read: evaluate again',
  cosmetic: 'changes nothing that is done or said',
}

/** `breaking`: what was right may be refused or misread now. `risky`: only who counted on what was never promised. */
export type Impact = 'breaking' | 'risky' | 'compatible'

export interface Finding {
  readonly class: Class
  readonly impact: Impact
  /** `get_customer.v1`, `role shop_reader`, `getCustomer`, `components/schemas/Customer` */
  readonly subject: string
  /** JSON Pointer within it, or ''. */
  readonly at: string
  readonly message: string
  /** Operations that the change reaches, where it stands in a part that several share. */
  readonly reaches?: readonly string[]
}

/** What a run fails on: a class, or `breaking` for whatever breaks, drift included. */
export function fails (finding: Finding, on: ReadonlySet<Class>): boolean {
  return on.has(finding.class) || (on.has('breaking') && finding.impact === 'breaking')
}

export function inOrder (findings: readonly Finding[]): readonly Finding[] {
  const rank = ({ class: name, impact }: Finding): number => CLASSES.indexOf(name) * 3 + ['breaking', 'risky', 'compatible'].indexOf(impact)
  const text = ({ subject, at, message }: Finding): string => `${subject}\n${at}\n${message}`
  return [...findings].sort((one, other) => rank(one) - rank(other) || (text(one) < text(other) ? -1 : text(one) > text(other) ? 1 : 0))
}
