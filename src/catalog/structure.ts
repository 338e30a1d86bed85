// The form of a file: every fault of its JSON Schema at once, each where it stands in the file.
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Json } from './catalog.ts'
import type { Reporter } from './faults.ts'
import { suggestion } from './near.ts'
import type { JsonSchema } from './openapi/operation.ts'
import { resolvePointer } from './shape.ts'
import { pointerTo } from './yaml-file.ts'

/** The schemas that it is given are not judged (test/catalog/action.test.ts does that): it would cost every start a tenth of a second. */
const ajv = new Ajv2020({ strict: false, allErrors: true, ownProperties: true, logger: false, verbose: true, validateSchema: false, code: { optimize: false } })
addFormats.default(ajv, ['date'])
const validators = new Map<JsonSchema, ValidateFunction>()

/** Whether the value has the form. @param schema one of the file kinds: compiled once a process */
export function checkStructure (value: Json, schema: JsonSchema, report: Reporter): boolean {
  let validate = validators.get(schema)
  if (validate === undefined) validators.set(schema, validate = ajv.compile(schema as object))
  if (validate(value)) return true
  for (const error of relevant(validate.errors ?? [])) tell(error, schema, report)
  return false
}

/**
 * A `oneOf` says for each branch why the value is not that one. Only the branch of the value's own type was meant; where there is none, the
 * choice itself is what is wrong. Faults of names are told once, where the name stands.
 */
function relevant (errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const choices = errors.filter(error => error.keyword === 'oneOf')
  const branchOf = (error: ErrorObject, choice: ErrorObject): string | null =>
    error.schemaPath.startsWith(`${choice.schemaPath}/`) ? error.schemaPath.slice(choice.schemaPath.length + 1).split('/')[0]! : null
  const isMeant = (choice: ErrorObject, branch: string): boolean => !errors.some(error =>
    branchOf(error, choice) === branch && error.instancePath === choice.instancePath && (error.keyword === 'type' || error.keyword === 'const'))
  return errors.filter(error => {
    if (error.schemaPath.includes('/propertyNames/')) return false
    if (error.keyword === 'oneOf') return !errors.some(other => branchOf(other, error) !== null && isMeant(error, branchOf(other, error)!))
    return choices.every(choice => {
      const branch = branchOf(error, choice)
      return branch === null || isMeant(choice, branch)
    })
  })
}

function tell (error: ErrorObject, schema: JsonSchema, report: Reporter): void {
  const at = error.instancePath
  const params = error.params as { readonly [name: string]: unknown }
  switch (error.keyword) {
    case 'additionalProperties': {
      const name = String(params.additionalProperty)
      const parent = error.parentSchema as { readonly properties?: object } | undefined
      return report.faultAtKey(
        pointerTo(at, name),
        'unknown-field',
        `there is no field "${name}" here${suggestion(name, Object.keys(parent?.properties ?? {}))}`
      )
    }
    case 'required': return report.faultAtKey(at, 'missing-field', `the field "${String(params.missingProperty)}" is missing`)
    case 'type': return report.fault(at, 'wrong-type', `must be ${articled(String(params.type))}`)
    case 'enum': {
      const allowed = (params.allowedValues as unknown[]).map(String)
      return report.fault(
        at,
        'wrong-value',
        `must be one of ${allowed.join(', ')}${typeof error.data === 'string' ? suggestion(error.data, allowed) : ''}`
      )
    }
    case 'const': return report.fault(at, 'wrong-value', `must be ${JSON.stringify(params.allowedValue)}`)
    case 'oneOf': return report.fault(at, 'wrong-value', `has none of the forms it can have${wordsFor(error, schema)}`)
    case 'propertyNames': {
      const name = String(params.propertyName)
      return report.faultAtKey(pointerTo(at, name), 'wrong-name', `"${name}" cannot be a name here`)
    }
    case 'pattern': return report.fault(at, 'wrong-value', `must match ${String(params.pattern)}`)
    default: return report.fault(at, 'wrong-value', `${error.message ?? error.keyword}${wordsFor(error, schema)}`)
  }
}

/** The words that the schema has for the place. */
function wordsFor (error: ErrorObject, schema: JsonSchema): string {
  const place = error.schemaPath.slice(0, error.schemaPath.lastIndexOf('/'))
  const description = (resolvePointer(schema, place) as { readonly description?: string } | undefined)?.description
  return description === undefined ? '' : ` (${description})`
}

const articled = (type: string): string =>
  type.split(',').map(one => one === 'null' ? one : `${/^[aeiou]/.test(one) ? 'an' : 'a'} ${one}`).join(' or ')
