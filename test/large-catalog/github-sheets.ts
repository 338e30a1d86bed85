// Sheets for GitHub's whole API, written by rule: what a large team's folder looks like, in front of a document of eleven megabytes that somebody
// else maintains.
import { createRequire } from 'node:module'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const DOCUMENT = join(dirname(createRequire(import.meta.url).resolve('@octokit/openapi/package.json')), 'generated', 'ghes-3.17.json')

type Node = { readonly [key: string]: any }

interface Readable {
  readonly path: string
  readonly get: Node
  readonly parameters: ReadonlyArray<{ readonly name: string, readonly type: string }>
  /** Scalar properties of its answer that are always there. */
  readonly properties: ReadonlyArray<readonly [name: string, type: string]>
}

/** Writes `openapi/github.json` and `actions/` under a folder. @returns how many bytes the document has */
export function writeGithubSheets (folder: string, sheets: number): number {
  const text = readFileSync(DOCUMENT)
  mkdirSync(join(folder, 'actions', 'github'), { recursive: true })
  mkdirSync(join(folder, 'openapi'), { recursive: true })
  copyFileSync(DOCUMENT, join(folder, 'openapi', 'github.json'))
  writeFileSync(join(folder, 'actions', 'github', 'upstream.yaml'), UPSTREAM)
  const document = JSON.parse(text.toString()) as Node
  const names: string[] = []
  const write = (verb: string, of: Readable, sheet: string): void => {
    const name = `${verb}_${names.length}`
    names.push(`${name}.v1`)
    writeFileSync(join(folder, 'actions', 'github', `${name}.v1.yaml`), `action: ${name}\nversion: 1\nupstream: github\n${sheet}${ending(of)}`)
  }
  for (const readable of readables(document)) {
    const changing = ['patch', 'put', 'delete'].find(method => isPlainWrite(document.paths[readable.path][method]))
    if (changing !== undefined && names.length < sheets) write('change', readable, changeSheet(readable, changing.toUpperCase()))
    if (names.length < sheets) write('get', readable, getSheet(readable))
  }
  if (names.length !== sheets) throw new Error(`only ${names.length} sheets could be written`)
  const role = `    actions: [${names.join(', ')}]\n    max_effect: reversible_change\n`
  writeFileSync(join(folder, 'actions', 'policy.yaml'), `roles:\n  developer:\n${role}`)
  return text.length
}

function readables (document: Node): readonly Readable[] {
  const follow = (node: Node): Node => typeof node?.['$ref'] === 'string'
    ? follow(node['$ref'].slice(2).split('/').reduce((at: Node, token: string) => at[token], document))
    : node
  return Object.entries(document.paths as Node).flatMap(([path, item]) => {
    if (item.get === undefined) return []
    const schema = follow(item.get.responses['200']?.content?.['application/json']?.schema)
    const declared: readonly Node[] = (item.get.parameters ?? []).map(follow)
    if (schema?.type !== 'object' || declared.some(one => one.in !== 'path' && one['required'] === true)) return []
    const parameters = declared.filter(one => one.in === 'path')
      .map(one => ({ name: one.name as string, type: one.schema.type as string }))
    if (parameters.some(({ name, type }) => !/^[a-z_]+$/.test(name) || !['string', 'integer'].includes(type))) return []
    const properties = (schema.required ?? [])
      .filter((name: string) => ['string', 'integer', 'boolean'].includes(schema.properties?.[name]?.type))
      .filter((name: string) => schema.properties[name].nullable !== true)
      .map((name: string) => [name, schema.properties[name].type] as const)
    return properties.length >= 2 ? [{ path, get: item.get, parameters, properties: properties.slice(0, 6) }] : []
  })
}

/** One that needs no body. */
const isPlainWrite = (operation: Node | undefined): boolean => operation !== undefined && operation['requestBody']?.required !== true

const UPSTREAM = `upstream: github
openapi: github.json
server: https://api.github.com
headers: {X-GitHub-Api-Version: "2022-11-28"}
credential: {scheme: bearer, secret: "env:GITHUB_TOKEN_OF_THE_TEST"}
`

const pathOf = ({ parameters }: Readable): string =>
  parameters.length === 0 ? '' : `path: {${parameters.map(({ name }) => `${name}: "\${args.${name}}"`).join(', ')}}`

const inputOf = ({ parameters }: Readable): string => `input:
  type: object
  additionalProperties: false
  required: [${parameters.map(({ name }) => name).join(', ')}]
  properties:${parameters.length === 0 ? ' {}' : ''}
${parameters.map(({ name, type }) => type === 'string'
    ? `    ${name}: {type: string, maxLength: 100, pattern: "^[A-Za-z0-9._-]{1,100}$", description: As it stands in the address of the page.}`
    : `    ${name}: {type: integer, minimum: 1, maximum: 9007199254740991, description: Its number.}`).join('\n')}
`

const describe = (effect: string, consequence: string): string => `title: What the document says there is
description: >
  ${consequence} Use this when the object is the one that was asked about. Do not use this to find out what there is; there are lists for that.
  Returns what stands in it now.
effect: ${effect}
sensitivity: internal
consent: none
`

const resultOf = ({ properties }: Readable): string => `result:
  schema:
    type: object
    additionalProperties: false
    required: [${properties.map(([name]) => name).join(', ')}]
    properties: {${properties.map(([name, type]) => `${name}: {type: ${type}}`).join(', ')}}
  view: {${properties.map(([name]) => `${name}: "\${response.body.${name}}"`).join(', ')}}
`

const getSheet = (of: Readable): string => `operation: GET ${of.path}
${describe('observation', 'Reads one object.')}retry: safe
${inputOf(of)}${pathOf(of) === '' ? '' : `request:\n  ${pathOf(of)}\n`}outcomes:
  - {when: "response.status == 304", outcome: rejected, error: NOT_CHANGED, message: Nothing has changed.}
${resultOf(of)}`

const changeSheet = (of: Readable, method: string): string => `operation: ${method} ${of.path}
${describe('reversible_change', 'Changes one object.')}retry: natural
${inputOf(of)}reads:
  before: {operation: "GET ${of.path}"${pathOf(of) === '' ? '' : `, ${pathOf(of)}`}, allow: [404]}
values:
  there: "\${reads.before.status == 200}"
checks:
  - {require: values.there, outcome: already_in_desired_state}
target: {type: object, id: "${of.path.replace(/\{(\w+)\}/g, '${args.$1}')}", version: "\${reads.before.body.${of.properties[0]![0]}}"}
${pathOf(of) === '' ? '' : `request:\n  ${pathOf(of)}\n`}outcomes:
  - {when: "response.status in [200, 201, 204]", outcome: completed}
  - {when: "response.status == 409", outcome: rejected, error: IN_CONFLICT, message: The object is being changed by somebody else.}
lookup:
  operation: GET ${of.path}
${pathOf(of) === '' ? '' : `  ${pathOf(of)}\n`}  outcomes:
    - {when: "response.status == 200 && response.body.${of.properties[0]![0]} != target.version", outcome: completed}
limits: {calls_per_run: 20}
`

const ending = (of: Readable): string => `examples:
  - arguments: {${of.parameters.map(({ name, type }) => `${name}: ${type === 'string' ? 'example' : '7'}`).join(', ')}}
`
