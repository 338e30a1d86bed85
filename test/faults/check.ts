// `node test/faults/check.ts FOLDER`: joins what a run left behind and says where it contradicts itself. Exit code 1 where it does.
import { pathToFileURL } from 'node:url'
import { readEvidence, type Evidence } from './evidence.ts'
import { figuresOf, type Figures } from './figures.ts'
import { endsStand, everyAskEnds, servesAgain } from './invariants/answers.ts'
import { alreadyWasSo, completedIsDone, oneEffect, oneEffectAVersion, rejectedIsNotDone } from './invariants/effects.ts'
import { carriedOutAsApproved } from './invariants/consents.ts'
import { noAttemptIsLost, oneLineEach } from './invariants/records.ts'
import { repeatsGetWhatTheyRepeat } from './invariants/repeats.ts'
import { secretsStay } from './invariants/secrets.ts'
import { markedBeforeSent, nothingWithoutStore, sentOnce, unsentLeftNothing } from './invariants/sends.ts'
import { pendingEnds, unknownSaysWhy, unknownSettles } from './invariants/unknowns.ts'
import type { Violation } from './violation.ts'

interface Invariant {
  readonly name: string
  readonly says: string
  /** Or why there is nothing to check. */
  readonly check: ((evidence: Evidence) => readonly Violation[]) | string
}

export const INVARIANTS: readonly Invariant[] = [
  { name: 'I1', says: 'at most one effect for each attempt and each intention', check: oneEffect },
  { name: 'I2', says: 'what is completed was done once, and as it was asked', check: completedIsDone },
  { name: 'I3', says: 'what is rejected was not done, then or later', check: rejectedIsNotDone },
  { name: 'I4', says: 'what is already so was so, and nothing was added', check: alreadyWasSo },
  { name: 'I5', says: 'what is pending has a reference and ends', check: pendingEnds },
  { name: 'I6', says: 'unknown only where evidence is missing, and it is named', check: unknownSaysWhy },
  { name: 'I7', says: 'after healing what is unknown settles', check: unknownSettles },
  { name: 'I8', says: 'no attempt is lost', check: noAttemptIsLost },
  { name: 'I9', says: 'an end stands, on every replica', check: endsStand },
  { name: 'I10', says: 'a yes is used once, for what was shown, and never after a no', check: carriedOutAsApproved },
  { name: 'I11', says: 'at most one effect on a version, one unsettled write on a target', check: oneEffectAVersion },
  { name: 'I12', says: 'of what was never sent nothing arrived', check: unsentLeftNothing },
  { name: 'I13', says: 'at most one send for each attempt', check: sentOnce },
  { name: 'I14', says: 'nothing is sent before it is durable', check: markedBeforeSent },
  { name: 'I15', says: 'every ask ends', check: everyAskEnds },
  { name: 'I16', says: 'the audit tells of every end once, as it is kept', check: oneLineEach },
  { name: 'I17', says: 'no credential stands where it must not', check: secretsStay },
  { name: 'I18', says: 'with the store down nothing new is sent', check: nothingWithoutStore },
  { name: 'I19', says: 'ten seconds after healing 99 of 100 calls are served', check: servesAgain },
  { name: 'repeats', says: 'a repeat gets what it repeats', check: repeatsGetWhatTheyRepeat },
]

export interface Checked {
  readonly violations: readonly Violation[]
  readonly counts: { readonly attempts: number, readonly effects: number, readonly asks: number }
  /** By invariant: how many violations, or why it was not checked. */
  readonly invariants: { readonly [name: string]: number | string }
  readonly figures: Figures
}

/** @throws where the folder is not that of a run */
export function check (folder: string): Checked {
  const evidence = readEvidence(folder)
  const found = INVARIANTS.map(({ name, check }) => [name, typeof check === 'string' ? check : check(evidence)] as const)
  return {
    violations: found.flatMap(([, violations]) => typeof violations === 'string' ? [] : violations),
    counts: { attempts: evidence.records.size, effects: evidence.effects.length, asks: evidence.asked.length },
    invariants: Object.fromEntries(found.map(([name, violations]) => [name, typeof violations === 'string' ? violations : violations.length])),
    figures: figuresOf(evidence),
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const checked = check(process.argv[2] ?? '.')
  console.log(JSON.stringify(checked, null, 2))
  process.exitCode = checked.violations.length === 0 ? 0 : 1
}
