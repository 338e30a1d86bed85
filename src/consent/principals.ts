// One name for one person, whatever they signed in with: `iss|sub`, or the name under which the operator's file says that several of them are one. Two
// votes of one principal are one vote, and who asks under one identity does not decide under another.
import { readFile } from 'node:fs/promises'
import type { Fault } from '../catalog/catalog.ts'
import { FaultList, type Reporter } from '../catalog/faults.ts'
import type { JsonSchema } from '../catalog/openapi/operation.ts'
import { checkStructure } from '../catalog/structure.ts'
import { pointerTo, readYaml, YamlFile } from '../catalog/yaml-file.ts'

export interface Principals {
  of (iss: string, sub: string): string
}

interface Identity {
  readonly iss: string
  readonly sub: string
}

const IDENTITY: JsonSchema = {
  description: 'One identity of this person: issuer and subject, as a token or a sign-in has them.',
  type: 'object',
  additionalProperties: false,
  required: ['iss', 'sub'],
  properties: {
    iss: { description: 'The issuer, https://login.example.', type: 'string', minLength: 1, maxLength: 2_000 },
    sub: { description: 'The subject at that issuer.', type: 'string', minLength: 1, maxLength: 500 },
  },
}

export const PRINCIPALS_SCHEMA: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Principals',
  description: 'Who signs in under several identities: the file that AVAL_PRINCIPALS names.',
  type: 'object',
  additionalProperties: false,
  required: ['people'],
  properties: {
    people: {
      description: 'A name for each person, and the identities that are theirs; of agents too, where a person acts through one.',
      type: 'object',
      propertyNames: { pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$' },
      additionalProperties: { type: 'array', minItems: 1, maxItems: 50, items: IDENTITY },
    },
  },
}

/** All that is wrong with the file, a line each, `file:line:column rule message`. */
export class PrincipalFaults extends Error {
  override readonly name = 'PrincipalFaults'
  constructor (faults: readonly Fault[]) {
    super(`AVAL_PRINCIPALS names a file with faults:\n${faults.map(one => `${one.file}:${one.line}:${one.column} ${one.rule} ${one.message}`).join('\n')}`)
  }
}

// A bar inside an issuer must not make one identity read as another.
const identified = (iss: string, sub: string): string => `${iss.replaceAll('%', '%25').replaceAll('|', '%7C')}|${sub}`

/** Everyone is who they sign in as. */
export const NO_ALIASES: Principals = Object.freeze({ of: identified })

/** @throws PrincipalFaults */
export async function readPrincipals (path: string): Promise<Principals> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    const message = `the file cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'it failed'}`
    throw new PrincipalFaults([{ file: path, line: 1, column: 1, rule: 'file-unreadable', message }])
  }
  return parsePrincipals(path, bytes)
}

/** @throws PrincipalFaults */
export function parsePrincipals (name: string, bytes: Buffer): Principals {
  const file = readYaml(name, bytes)
  if (!(file instanceof YamlFile)) throw new PrincipalFaults(file)
  const faults = new FaultList()
  const report = faults.in(file)
  const aliases = new Map<string, string>()
  if (checkStructure(file.value, PRINCIPALS_SCHEMA, report)) {
    const { people } = file.value as unknown as { readonly people: { readonly [person: string]: readonly Identity[] } }
    for (const [person, identities] of Object.entries(people)) take(aliases, person, identities, report)
  }
  if (faults.count > 0) throw new PrincipalFaults(faults.all())
  return Object.freeze({ of: (iss: string, sub: string) => aliases.get(identified(iss, sub)) ?? identified(iss, sub) })
}

function take (aliases: Map<string, string>, person: string, identities: readonly Identity[], report: Reporter): void {
  for (const [at, { iss, sub }] of identities.entries()) {
    const identity = identified(iss, sub)
    const pointer = pointerTo(pointerTo('/people', person), at)
    if (aliases.has(identity)) report.fault(pointer, 'identity-of-two', 'this identity stands here already: it is one person\'s, and once')
    // Without a bar: no identity reads so.
    else aliases.set(identity, person)
  }
}
