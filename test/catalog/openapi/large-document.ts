// A process of its own: opens one document, reads one operation of it, and says what that cost.
// Arguments: the folder, the name of the document in it, the operation.
import { openDocuments } from '../../../src/catalog/openapi/documents.ts'
import type { JsonSchema } from '../../../src/catalog/openapi/operation.ts'

const [folder = '', name = '', selector = ''] = process.argv.slice(2)

/** References of a closed schema that do not lead into its own `$defs`. */
function dangling (schema: JsonSchema): number {
  const defs = (typeof schema === 'object' ? schema['$defs'] ?? {} : {}) as object
  const found = JSON.stringify(schema).matchAll(/"\$ref":"#\/\$defs\/([^"]*)"/g)
  return [...found].filter(([, target]) => !Object.hasOwn(defs, target ?? '')).length
}

const document = (await openDocuments(folder)).open(name)
const operation = document.operation(selector)
const { user, system } = process.cpuUsage()
const memoryKib = process.resourceUsage().maxRSS
const schemas = [
  ...operation.parameters.map(parameter => parameter.schema),
  ...[...operation.bodies.values()].map(body => body.schema),
  ...operation.responses.flatMap(response => [...response.content.values()]),
]
process.stdout.write(JSON.stringify({
  method: operation.method,
  path: operation.path,
  operations: document.operations().length,
  schemas: schemas.length,
  dangling: schemas.reduce((sum, schema) => sum + dangling(schema), 0),
  cpuMs: (user + system) / 1000,
  memoryMib: memoryKib / 1024,
}))
