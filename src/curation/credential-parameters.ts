// Which parameters of a document's operations carry a credential, by its own security schemes.
import type { Document } from '../catalog/openapi/documents.ts'
import { DocumentFault } from '../catalog/openapi/fault.ts'

/** `header:x-api-key`, `query:key`, names in lower case. */
export function credentialParameters (document: Document): ReadonlySet<string> {
  return new Set(document.securitySchemes().flatMap(name => {
    try {
      const scheme = document.securityScheme(name)
      return scheme?.kind === 'apiKey' ? [`${scheme.in}:${scheme.name.toLowerCase()}`] : []
    } catch (error) {
      // A scheme that cannot be read is told where upstream.yaml names it.
      if (error instanceof DocumentFault) return []
      throw error
    }
  }))
}
