// The codes that a sheet declares for itself, beside those of the table.
import type { Action } from './catalog.ts'
import { isLookup } from './lookup.ts'
import type { Sheet } from './sheet.ts'

/** Every own code with its message, the first that was given. */
export function messagesOf (sheet: Sheet): ReadonlyMap<string, string> {
  const messages = new Map<string, string>()
  for (const { code, message } of declarations(sheet)) if (message !== undefined && !messages.has(code)) messages.set(code, message)
  return messages
}

export function errorsOf (sheet: Sheet): Action['errors'] {
  const messages = messagesOf(sheet)
  const errors = new Map<string, Action['errors'][number]>()
  for (const { code, retryable } of declarations(sheet)) {
    const message = messages.get(code)
    if (message !== undefined && !errors.has(code)) errors.set(code, { code, message, retryable: retryable ?? false })
  }
  return [...errors.values()]
}

function declarations (sheet: Sheet): ReadonlyArray<{
  readonly code: string,
  readonly message?: string | undefined,
  readonly retryable?: boolean | undefined,
}> {
  const rules = [...sheet.checks ?? [], ...sheet.outcomes ?? [], ...isLookup(sheet.lookup) ? sheet.lookup.outcomes : []]
  return rules.flatMap(rule => rule.error === undefined ? [] : [{ code: rule.error, message: rule.message, retryable: rule.retryable }])
}
