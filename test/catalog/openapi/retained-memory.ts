// A process of its own, run with --expose-gc: keeps one operation of a document and lets go of the document.
// Arguments: the folder, the name of the document in it, the operation.
import { openDocuments } from '../../../src/catalog/openapi/documents.ts'
import type { Operation } from '../../../src/catalog/openapi/operation.ts'

const [folder = '', name = '', selector = ''] = process.argv.slice(2)

const read = async (): Promise<Operation> => (await openDocuments(folder)).open(name).operation(selector)

const operation = await read()
await new Promise(resolve => setTimeout(resolve, 50))
global.gc?.()
global.gc?.()
process.stdout.write(JSON.stringify({ method: operation.method, heapMib: process.memoryUsage().heapUsed / 1024 / 1024 }))
