// A repair as data: what is to stand where. edit-text.ts writes it into a file.
import type { Json } from '../../catalog/catalog.ts'

export type Edit =
  /** A field that is added behind the others of the object at the pointer. */
  | { readonly kind: 'add', readonly pointer: string, readonly name: string, readonly value: Json }
  /** Characters that are taken out of the text of the scalar at the pointer. */
  | { readonly kind: 'strip', readonly pointer: string, readonly characters: RegExp }
