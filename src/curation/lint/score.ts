// From judgements to a score, the same on every run and machine: sums and shares, no clock, no chance.
import type { Contract, Offer } from './contract.ts'
import { CATEGORIES, WEIGHTS, type Category, type Found, type Rule } from './rule.ts'

export type Grade = 'A' | 'B' | 'C' | 'D' | 'F'

export interface Score {
  /** 0 to 100, rounded down: whatever is lost can be seen. */
  readonly score: number
  readonly grade: Grade
  /** 0 to 100 each, not weighed. */
  readonly categories: Readonly<Record<Category, number>>
  /** Rules that keep the score from being higher. */
  readonly cappedBy: readonly string[]
}

export interface Judged {
  readonly found: ReadonlyArray<Found & { readonly rule: Rule }>
  readonly score: Score
}

/** A sheet that does not load can be called by nobody. */
export const UNLOADED: Score = Object.freeze({
  score: 0,
  grade: 'F',
  categories: Object.freeze({ description: 0, parameters: 0, practice: 0, naming: 0, examples: 0 }),
  cappedBy: ['does-not-load'],
})

/** @param accepted ids of rules whose findings count for nothing */
export function judge (contract: Contract, offer: Offer, rules: readonly Rule[], accepted: ReadonlySet<string>): Judged {
  const found: Array<Found & { readonly rule: Rule }> = []
  const lost = new Map<Category, number>()
  const caps: Array<{ readonly rule: string, readonly cap: number }> = []
  for (const rule of rules) {
    const judgement = rule.check(contract, offer)
    for (const one of judgement.found) found.push({ ...one, rule })
    if (judgement.found.length === 0 || accepted.has(rule.id)) continue
    const { weighs } = rule
    if (weighs.category === 'safety') caps.push({ rule: rule.id, cap: weighs.cap })
    else {
      const share = judgement.found.length / Math.max(judgement.asked, judgement.found.length)
      lost.set(weighs.category, (lost.get(weighs.category) ?? 0) + weighs.cost * share)
    }
  }
  return { found, score: scoreOf(lost, caps) }
}

function scoreOf (lost: ReadonlyMap<Category, number>, caps: ReadonlyArray<{ readonly rule: string, readonly cap: number }>): Score {
  const left = (category: Category): number => Math.max(0, 100 - (lost.get(category) ?? 0))
  const sum = CATEGORIES.reduce((total, category) => total + WEIGHTS[category] * left(category) / 100, 0)
  // 100 in parts may be 99.999…; what is really lost is more than that.
  const own = Math.floor(sum + 1e-6)
  const score = Math.min(own, ...caps.map(({ cap }) => cap))
  return {
    score,
    grade: gradeOf(score),
    categories: Object.fromEntries(CATEGORIES.map(category => [category, Math.floor(left(category) + 1e-6)])) as Record<Category, number>,
    cappedBy: caps.filter(({ cap }) => cap < own).sort((one, other) => one.cap - other.cap).map(({ rule }) => rule),
  }
}

export const gradeOf = (score: number): Grade => score >= 90 ? 'A' : score >= 80 ? 'B' : score >= 70 ? 'C' : score >= 60 ? 'D' : 'F'
