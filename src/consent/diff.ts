// What differs between before and after, row by row, as a person is shown it. Objects are gone into; lists and everything else are one value.
import { isObject, type Json } from '../catalog/catalog.ts'
import type { DiffRow } from './proposal.ts'

/** Deeper than this a value is one row. */
const DEPTH_MAX = 8

/** @param before null: nothing is known of it, so everything of `after` is a row */
export function diffRows (before: Json, after: Json): readonly DiffRow[] {
  return rows(before === null ? {} : before, after === null ? {} : after, '', 0)
}

function rows (was: Json | undefined, now: Json | undefined, pointer: string, depth: number): readonly DiffRow[] {
  if (isObject(was) && isObject(now) && depth < DEPTH_MAX) {
    const names = [...new Set([...Object.keys(was), ...Object.keys(now)])]
    return names.flatMap(name => rows(own(was, name), own(now, name), `${pointer}/${escaped(name)}`, depth + 1))
  }
  if (isEqual(was, now)) return []
  return [{ pointer, ...was !== undefined && { was }, ...now !== undefined && { now } }]
}

const own = (object: { readonly [name: string]: Json }, name: string): Json | undefined => Object.hasOwn(object, name) ? object[name] : undefined

/** RFC 6901 §3 */
const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

function isEqual (one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true
  if (Array.isArray(one) && Array.isArray(other)) return one.length === other.length && one.every((item, at) => isEqual(item, other[at]))
  if (!isObject(one) || !isObject(other)) return false
  const names = Object.keys(one)
  return names.length === Object.keys(other).length && names.every(name => Object.hasOwn(other, name) && isEqual(one[name], other[name]))
}
