// Verdicts that both the rules of a sheet and the execution give.
import { ERRORS, type ErrorCode } from '../errors.ts'
import type { Verdict } from './catalog.ts'

export const COMPLETED: Verdict = Object.freeze({
  outcome: 'completed',
  code: null,
  message: null,
  retryable: false,
  retryAfterSeconds: null,
  reference: null,
  result: undefined,
  lookFirst: false,
  missing: null,
})

/** As the error table has it. */
export function rejectedAs (code: ErrorCode): Verdict {
  return { ...COMPLETED, outcome: 'rejected', code, message: ERRORS[code].message, retryable: ERRORS[code].retryable }
}

/** @param missing which evidence is missing, for operators */
export function unknownFor (missing: string): Verdict {
  return { ...COMPLETED, outcome: 'unknown', code: 'OUTCOME_UNKNOWN', message: ERRORS.OUTCOME_UNKNOWN.message, missing }
}
