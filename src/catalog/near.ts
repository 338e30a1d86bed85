// "Did you mean …", for faults.
import { nearest } from '../nearest.ts'

/** `; did you mean "x"?`, or nothing. */
export function suggestion (name: string, names: Iterable<string>): string {
  const near = nearest(name, names)
  return near === null || near === name ? '' : `; did you mean "${near}"?`
}
