// What a rehearsal found of an action, case by case, and what no case has shown.

export interface CaseResult {
  readonly name: string
  readonly group: 'arguments' | 'call' | 'scenario'
  /** null: it went as it should. Else what went differently, in words. */
  readonly fault: string | null
  /** What the call was answered, `rejected INVALID_ARGUMENTS /sku`. */
  readonly answered: string
  /** Requests that the upstream got during the case. */
  readonly requests: number
  /** It had to be refused with nothing sent. */
  readonly refused: boolean
}

export interface Gap {
  /** `/input/properties/sku/not`, `/scope/0`, `/checks/1` */
  readonly boundary: string
  /** Why it is left open, as the scenarios file says; null where nobody has said anything. */
  readonly reason: string | null
}

export interface ActionReport {
  readonly action: string
  readonly cases: readonly CaseResult[]
  /** All boundaries that the sheet declares. */
  readonly boundaries: number
  /** Those that no refused call has crossed. */
  readonly gaps: readonly Gap[]
  readonly notes: readonly string[]
}
