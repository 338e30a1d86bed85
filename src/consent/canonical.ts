// What digests are taken of: RFC 8785 text, so that the same thing is the same bytes everywhere. The words before a digest say what it is of.
import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Json, JsonObject } from '../catalog/catalog.ts'

const PROPOSAL_DOMAIN = 'aval/proposal/v1\0'

/** RFC 8785. */
export const canonicalText = (value: Json): string => canonicalize(value)!

/** The same object with its names in canonical order. */
export const canonicalObject = (value: JsonObject): JsonObject => JSON.parse(canonicalText(value)) as JsonObject

/** Of a proposal: of the canonical text of its binding. */
export const bindingDigest = (binding: string): string => hash('sha256', PROPOSAL_DOMAIN + binding, 'hex')

/** Of arguments, by themselves. */
export const canonicalDigest = (value: Json): string => hash('sha256', canonicalText(value), 'hex')

/** Equal in type and value: 1 is not "1", and null is not absent. */
export const isSame = (one: Json, other: Json): boolean => canonicalText(one) === canonicalText(other)
