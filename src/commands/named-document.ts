// A document that was named on the command line.
import { openDocument, type Document } from '../catalog/openapi/documents.ts'
import { DocumentFault } from '../catalog/openapi/fault.ts'
import { CommandFault } from './command.ts'

/** @throws CommandFault */
export function openNamedDocument (path: string): Document {
  try {
    return openDocument(path)
  } catch (error) {
    if (!(error instanceof DocumentFault)) throw error
    if (error.code === 'document-unknown') throw new CommandFault(`there is no file ${path}`)
    throw new CommandFault(`${error.file}:${error.line}:${error.column} ${error.code} ${error.message}`)
  }
}
