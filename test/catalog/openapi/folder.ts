// A folder of documents that lives as long as a test.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { openDocuments } from '../../../src/catalog/openapi/documents.ts'
import type { Document, Documents } from '../../../src/catalog/openapi/documents.ts'
import { DocumentFault } from '../../../src/catalog/openapi/fault.ts'
import type { JsonSchema, Operation } from '../../../src/catalog/openapi/operation.ts'

/** Texts stand as they are, everything else as JSON. */
export function folderOf (t: TestContext, files: { readonly [name: string]: unknown }): string {
  const folder = mkdtempSync(join(tmpdir(), 'documents-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content))
  }
  return folder
}

export const documentsOf = (t: TestContext, files: { readonly [name: string]: unknown }): Promise<Documents> => openDocuments(folderOf(t, files))

export async function documentOf (t: TestContext, document: unknown, name = 'api.json'): Promise<Document> {
  return (await documentsOf(t, { [name]: document })).open(name)
}

/** A document of one version with these component schemas, and what else is given. */
export const withSchemas = (schemas: unknown, version = '3.1.0', more: object = {}): object => version === '2.0'
  ? { swagger: '2.0', info: { title: 't', version: '1' }, paths: {}, definitions: schemas, ...more }
  : { openapi: version, info: { title: 't', version: '1' }, paths: {}, components: { schemas }, ...more }

export async function schemaOf (
  t: TestContext, schemas: unknown, name: string, version = '3.1.0', direction: 'request' | 'response' = 'response',
): Promise<JsonSchema> {
  const document = await documentOf(t, withSchemas(schemas, version))
  return document.schema(version === '2.0' ? `/definitions/${name}` : `/components/schemas/${name}`, direction)
}

/** One operation, `POST /x` or what `method` and `path` say. */
export async function operationOf (
  t: TestContext, operation: object, { version = '3.1.0', method = 'post', path = '/x', more = {} }: {
    readonly version?: string, readonly method?: string, readonly path?: string, readonly more?: object
  } = {},
): Promise<Operation> {
  const body = { responses: { 204: { description: 'done' } }, ...operation }
  const versioned = version === '2.0' ? { swagger: '2.0' } : { openapi: version }
  const document = { ...versioned, info: { title: 't', version: '1' }, paths: { [path]: { [method]: body } }, ...more }
  return (await documentOf(t, document)).operation(`${method.toUpperCase()} ${path}`)
}

/** The fault that is thrown; anything else fails the test. */
export function faultOf (act: () => unknown): DocumentFault {
  try {
    act()
  } catch (error) {
    if (error instanceof DocumentFault) return error
    throw error
  }
  throw new Error('nothing was thrown')
}
