// The definition of an action as text: what the store keeps of it, so that an attempt is looked up by the definition that it was begun with, also by a
// broker that has never read that sheet, or reads it no more. It holds the sheet, its upstream.yaml and the operations that they name; no secret, for
// neither of them holds one.
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Action, Json, JsonObject } from './catalog.ts'
import { compileAction } from './compile.ts'
import { FaultList } from './faults.ts'
import type { BodyDefinition, Encoding, Operation, SecurityScheme } from './openapi/operation.ts'
import { SchemaCompiler } from './schema.ts'
import type { Sheet } from './sheet.ts'
import { asUpstreamSheet, compileUpstream } from './upstream.ts'
import { readYaml, YamlFile } from './yaml-file.ts'

/** All that an action was compiled from but the policy, which decides nothing about an attempt that has been begun. */
export interface Definition {
  readonly sheet: Sheet
  readonly upstream: JsonObject
  /** By the name that upstream.yaml has for it; null where it is none of the document's. */
  readonly schemes: ReadonlyMap<string, SecurityScheme | null | undefined>
  /** By the text that the sheet selects it with. */
  readonly operations: ReadonlyMap<string, Operation>
}

const FORMAT = 1
/** A text that unpacks to more than this was not written here. */
const TEXT_BYTES_MAX = 64 * 1024 * 1024

export function writeDefinition (definition: Definition): string {
  const { sheet, upstream, schemes, operations } = definition
  const value = {
    format: FORMAT,
    sheet,
    upstream,
    schemes: [...schemes].map(([name, scheme]) => [name, scheme ?? null]),
    operations: [...operations].map(([selector, operation]) => [selector, writeOperation(operation)]),
  }
  return gzipSync(JSON.stringify(value)).toString('base64')
}

/** @returns null where this version of Aval does not make the same action of it */
export function readDefinition (text: string, digest: string): Action | null {
  try {
    const action = compile(unpack(text))
    return action?.digest === digest ? action : null
  } catch {
    return null
  }
}

function compile (definition: Definition): Action | null {
  const faults = new FaultList()
  const file = readYaml('definition', Buffer.from('{}'))
  if (!(file instanceof YamlFile)) return null
  const report = faults.in(file)
  const upstream = compileUpstream(asUpstreamSheet(definition.upstream), name => definition.schemes.get(name), report)
  if (upstream === null) return null
  return compileAction({
    sheet: definition.sheet,
    upstream,
    upstreamSheet: definition.upstream,
    policy: null,
    schemas: new SchemaCompiler(),
    report,
    operation: selector => definition.operations.get(selector) ?? null,
  })
}

interface Written {
  readonly format: number
  readonly sheet: Sheet
  readonly upstream: JsonObject
  readonly schemes: ReadonlyArray<readonly [string, SecurityScheme | null]>
  readonly operations: ReadonlyArray<readonly [string, WrittenOperation]>
}

type WrittenOperation = Omit<Operation, 'bodies' | 'responses' | 'declaredHeaders'> & {
  readonly bodies: ReadonlyArray<Omit<BodyDefinition, 'encoding'> & { readonly encoding: ReadonlyArray<readonly [string, Encoding]> }>
  readonly responses: ReadonlyArray<{ readonly status: string, readonly content: ReadonlyArray<readonly [string, Json]> }>
  readonly declaredHeaders: readonly string[]
}

/** @throws Error where it was not written here */
function unpack (text: string): Definition {
  const bytes = gunzipSync(Buffer.from(text, 'base64'), { maxOutputLength: TEXT_BYTES_MAX })
  const written = JSON.parse(bytes.toString('utf8')) as Written
  if (written.format !== FORMAT) throw new Error('a definition of another format')
  return {
    sheet: written.sheet,
    upstream: written.upstream,
    schemes: new Map(written.schemes),
    operations: new Map(written.operations.map(([selector, operation]) => [selector, readOperation(operation)])),
  }
}

function writeOperation (operation: Operation): WrittenOperation {
  return {
    ...operation,
    bodies: [...operation.bodies.values()].map(body => ({ ...body, encoding: [...body.encoding] })),
    responses: operation.responses.map(({ status, content }) => ({ status, content: [...content] as Array<readonly [string, Json]> })),
    declaredHeaders: [...operation.declaredHeaders],
  }
}

function readOperation (written: WrittenOperation): Operation {
  return {
    ...written,
    bodies: new Map(written.bodies.map(body => [body.mediaType, { ...body, encoding: new Map(body.encoding) }])),
    responses: written.responses.map(({ status, content }) => ({ status, content: new Map(content) as Operation['responses'][number]['content'] })),
    declaredHeaders: new Set(written.declaredHeaders),
  }
}
