// What the checker says where the evidence contradicts itself.

export interface Violation {
  /** `I1`…`I19`, or `repeats`. */
  readonly invariant: string
  readonly what: string
  readonly attempt: string | null
  readonly errand: string | null
  /** The lines that contradict each other, as they stand in their files. */
  readonly evidence: readonly object[]
}

export interface About {
  readonly attempt?: string | null
  readonly errand?: string | null
}

export const violation = (invariant: string, what: string, about: About, ...evidence: readonly object[]): Violation =>
  ({ invariant, what, attempt: about.attempt ?? null, errand: about.errand ?? null, evidence })
