// What can be wrong with an OpenAPI document, said where it is wrong. A fault belongs to what a sheet rests on; the rest of a document may be odd.

export type DocumentFaultCode =
  // the file
  | 'document-unknown' | 'document-unreadable' | 'document-too-large' | 'document-escapes-folder' | 'encoding-invalid'
  | 'json-invalid' | 'yaml-invalid' | 'yaml-tag' | 'yaml-merge-key' | 'yaml-aliases' | 'duplicate-key' | 'version-unsupported'
  // references
  | 'ref-insecure-url' | 'ref-external-url' | 'ref-file-url' | 'ref-absolute-file' | 'ref-escapes-folder' | 'ref-malformed'
  | 'ref-unresolved' | 'ref-cycle' | 'ref-anchor' | 'ref-dynamic'
  // operations
  | 'operation-unknown' | 'operation-ambiguous' | 'path-has-query' | 'path-malformed' | 'structure'
  | 'parameter-duplicate' | 'parameter-media-type' | 'parameter-querystring' | 'body-conflict'
  // schemas
  | 'schema-malformed' | 'schema-endless' | 'schema-too-deep' | 'schema-too-large' | 'not-json'

export interface Position {
  /** Both count from 1. */
  readonly line: number
  readonly column: number
}

export class DocumentFault extends Error {
  override readonly name = 'DocumentFault'
  readonly code: DocumentFaultCode
  /** Relative to the folder of documents, with forward slashes. */
  readonly file: string
  /** JSON Pointer of what is at fault; '' is the whole file. */
  readonly pointer: string
  readonly line: number
  readonly column: number

  constructor (code: DocumentFaultCode, message: string, file: string, pointer: string, position: Position) {
    super(message)
    this.code = code
    this.file = file
    this.pointer = pointer
    this.line = position.line
    this.column = position.column
  }
}
