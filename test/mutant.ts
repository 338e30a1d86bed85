// What a mutant is: a line that protects an invariant, taken away, and the test that must then fail.

export interface Edit {
  readonly file: string
  /** Stands there exactly once. */
  readonly search: string
  readonly replacement: string
}

export interface Mutant {
  readonly invariant: number
  /** What the mutant does wrong. */
  readonly name: string
  readonly edits: readonly Edit[]
  readonly test: string
  /** Words of the title of the test that must fail. */
  readonly killedBy: string
}

export type Change = readonly [file: string, search: string, replacement: string]

export const mutant = (invariant: number, name: string, test: string, killedBy: string, ...changes: readonly Change[]): Mutant => ({
  invariant,
  name,
  test: `test/${test}.test.ts`,
  killedBy,
  edits: changes.map(([file, search, replacement]) => ({ file: `src/${file}`, search, replacement })),
})
