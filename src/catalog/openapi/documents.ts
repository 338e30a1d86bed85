// The folder of OpenAPI documents: which files it holds, and a document for whoever names one.
import type { JsonSchema, Operation, SecurityScheme } from './operation.ts'
import { DocumentFault } from './fault.ts'

export interface OperationEntry {
  /** null where the document gives none. */
  readonly id: string | null
  /** Upper case. */
  readonly method: string
  readonly path: string
}

export interface Document {
  /** Relative to the folder, with forward slashes. */
  readonly file: string
  /** As the document says, `3.1.0` or `2.0`. */
  readonly version: string
  /**
   * @param selector an operationId, or `METHOD /path` with the path exactly as in the document
   * @throws DocumentFault where there is no such operation, or what it rests on cannot be used
   */
  operation (selector: string): Operation
  /** Every operation that can be found, in the document's order, whether or not it can be used. */
  operations (): readonly OperationEntry[]
  /** @throws DocumentFault where it is there and cannot be used */
  securityScheme (name: string): SecurityScheme | undefined
  /**
   * A schema of the document with all that it refers to.
   * @param pointer JSON Pointer of a Schema Object, `/components/schemas/Pet`
   * @throws DocumentFault
   */
  schema (pointer: string, direction: 'request' | 'response'): JsonSchema
}

export interface Documents {
  /** Every .yaml, .yml and .json file, relative to the folder, sorted. */
  readonly names: readonly string[]
  /** Reads and parses at the first call. @throws DocumentFault */
  open (name: string): Document
}

/** Lists the folder; reads no document yet. @throws Error where the folder cannot be listed */
export async function openDocuments (folder: string): Promise<Documents> {
  throw new DocumentFault('document-unknown', `${folder} is not read yet`, folder, '', { line: 1, column: 1 })
}
