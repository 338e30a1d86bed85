// References: lazy, never dereferenced whole, and only inside the folder. Whoever knows that a Schema or Reference Object is expected asks here;
// an object in an example or a property that happens to be named `$ref` is never looked at.
import { posix } from 'node:path'
import type { DocumentFault, DocumentFaultCode } from './fault.ts'
import { childPointer, isObject, member, own, parsePointer } from './pointer.ts'
import { faultAt } from './source.ts'
import type { Source } from './source.ts'

/** A node of a document and where it stands. */
export interface Place {
  readonly source: Source
  readonly pointer: string
  readonly node: unknown
  /** The schema with `$id` that this node is part of: `#` is relative to it (JSON Schema 2020-12 §8.2.1). null: the file itself. */
  readonly resource: Place | null
}

export const placeKey = (place: Place): string => `${place.source.file}#${place.pointer}`

export const fault = (place: Place, code: DocumentFaultCode, message: string): DocumentFault => faultAt(place.source, place.pointer, code, message)

export const rootOf = (source: Source): Place => ({ source, pointer: '', node: source.root, resource: null })

/** The reference that a node is, or undefined: an own `$ref` that is a string. */
export function referenceOf (node: unknown): string | undefined {
  const value = isObject(node) ? own(node, '$ref') : undefined
  return typeof value === 'string' ? value : undefined
}

function entered (place: Place): Place {
  const id = isObject(place.node) ? own(place.node, '$id') : undefined
  return typeof id === 'string' && !id.startsWith('#') ? { ...place, resource: { ...place, resource: null } } : place
}

/** An own member of a node; its `node` is undefined where there is none. */
export function childOf (place: Place, ...tokens: ReadonlyArray<string | number>): Place {
  let at = place
  for (const token of tokens) {
    const pointer = childPointer(at.pointer, token)
    at = entered({ source: at.source, pointer, node: member(at.node, String(token))?.value, resource: at.resource })
  }
  return at
}

/** Which file of the folder an address names, seen from a file of the folder. */
function fileOf (from: Place, address: string): string {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(address)?.[1]?.toLowerCase()
  const refuse = (code: DocumentFaultCode, message: string): DocumentFault => fault(from, code, message)
  if (scheme === 'file') throw refuse('ref-file-url', 'References to file: URLs are not followed.')
  if (scheme === 'http') throw refuse('ref-insecure-url', 'References to http: URLs are not followed.')
  if (scheme !== undefined && scheme.length === 1) throw refuse('ref-absolute-file', 'A reference must be relative.')
  if (scheme !== undefined || address.startsWith('//')) {
    throw refuse('ref-external-url', 'References to other hosts are not followed; put what they refer to into the folder of documents.')
  }
  let path: string
  try {
    path = decodeURIComponent(address)
  } catch {
    throw refuse('ref-malformed', 'The reference is not a well-formed URI reference.')
  }
  if (path.startsWith('/') || path.startsWith('\\') || /^[a-z]:/i.test(path)) throw refuse('ref-absolute-file', 'A reference must be relative.')
  if (/[\\?\p{Cc}]/u.test(path)) throw refuse('ref-malformed', 'The reference is not the name of a file.')
  const file = posix.join(posix.dirname(from.source.file), path)
  if (file === '..' || file.startsWith('../')) throw refuse('ref-escapes-folder', 'The reference leaves the folder of documents.')
  return file
}

export interface References {
  /** What `reference` names, seen from a place; follows references that its pointer leads through. @throws DocumentFault at `from` */
  target (from: Place, reference: string): Place
  /** The place itself, or what stands at the end of its chain of references. @throws DocumentFault */
  follow (place: Place): Place
}

/** No honest reference leads through more references than this; a hostile one could lead through exponentially many. */
const HOPS_MAX = 1000

/** The references under way, so that a circle is seen, and how many more may be followed. */
interface Trail {
  readonly seen: Set<string>
  readonly left: { hops: number }
}

const newTrail = (...keys: readonly string[]): Trail => ({ seen: new Set(keys), left: { hops: HOPS_MAX } })

function fragmentOf (from: Place, reference: string, hash: number): readonly string[] {
  let fragment: string
  try {
    fragment = hash === -1 ? '' : decodeURIComponent(reference.slice(hash + 1))
  } catch {
    throw fault(from, 'ref-malformed', 'The fragment of the reference is not well-formed.')
  }
  if (fragment !== '' && !fragment.startsWith('/')) throw fault(from, 'ref-anchor', 'References by anchor are not followed; use a JSON Pointer.')
  const tokens = parsePointer(fragment)
  if (tokens === undefined) throw fault(from, 'ref-malformed', 'The fragment of the reference is not a JSON Pointer.')
  return tokens
}

/** @param open reads a file of the folder; undefined where the folder has no such file */
export function createReferences (open: (file: string) => Source | undefined): References {
  function walk (start: Place, tokens: readonly string[], trail: Trail): Place | undefined {
    let at = start
    for (const token of tokens) {
      // A pointer may lead through a reference; what it passed on the way is not part of the chain that goes on behind it.
      if (member(at.node, token) === undefined) at = chase(at, { seen: new Set(trail.seen), left: trail.left })
      if (member(at.node, token) === undefined) return undefined
      at = childOf(at, token)
    }
    return at
  }

  function aim (from: Place, reference: string, trail: Trail): Place {
    const hash = reference.indexOf('#')
    const address = hash === -1 ? reference : reference.slice(0, hash)
    const file = address === '' ? from.source.file : fileOf(from, address)
    const tokens = fragmentOf(from, reference, hash)
    const source = file === from.source.file ? from.source : open(file)
    if (source === undefined) throw fault(from, 'ref-unresolved', 'The folder of documents has no such file.')
    const found = (address === '' && from.resource !== null ? walk(from.resource, tokens, trail) : undefined) ??
      // Authors of documents mean the file even under an $id, so it is asked where the letter finds nothing.
      walk(rootOf(source), tokens, trail)
    if (found === undefined) throw fault(from, 'ref-unresolved', 'The reference leads to nothing.')
    return found
  }

  function chase (place: Place, trail: Trail): Place {
    let at = place
    for (;;) {
      const reference = referenceOf(at.node)
      if (reference === undefined) return at
      const key = placeKey(at)
      if (trail.seen.has(key)) throw fault(place, 'ref-cycle', 'The references lead round in a circle.')
      if (trail.left.hops-- <= 0) throw fault(place, 'ref-cycle', `The reference leads through more than ${HOPS_MAX} others.`)
      trail.seen.add(key)
      at = aim(at, reference, trail)
    }
  }

  return {
    target: (from, reference) => aim(from, reference, newTrail(placeKey(from))),
    follow: place => chase(place, newTrail()),
  }
}
