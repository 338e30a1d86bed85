// Frozen to the bottom: what a load made is never changed again.

/** Freezes plain data in place. @returns the same value */
export function freezeDeep<T> (value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    for (const part of Object.values(value)) freezeDeep(part)
    Object.freeze(value)
  }
  return value
}
