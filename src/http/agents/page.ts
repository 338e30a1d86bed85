// The page at /docs: the broker's OpenAPI document as HTML, with no script and nothing from elsewhere.
import { ERRORS } from '../../errors.ts'

/** What the page reads of the document. */
export interface BrokerDocument {
  readonly info: { readonly title: string, readonly version: string, readonly description: string }
  readonly tags: ReadonlyArray<{ readonly name: string, readonly description: string }>
  readonly paths: { readonly [path: string]: { readonly [method: string]: BrokerOperation } }
  readonly components: { readonly schemas: { readonly [name: string]: Schema } }
}

interface BrokerOperation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly security?: readonly unknown[]
  readonly parameters?: ReadonlyArray<{ readonly name: string, readonly in: string, readonly description?: string, readonly schema: Schema }>
  readonly requestBody?: { readonly description?: string, readonly content: { readonly [type: string]: { readonly schema: Schema } } }
  readonly responses: { readonly [status: string]: { readonly description: string } }
}

interface Schema {
  readonly description?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly $ref?: string
  readonly required?: readonly string[]
  readonly properties?: { readonly [name: string]: Schema }
}

export const STYLE = `
:root { color-scheme: light dark; --ink: #1c2024; --paper: #fdfdfc; --soft: #f0f1ef; --line: #d9dbd6; --mark: #0b6b50; --dim: #5c636a }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e7e3; --paper: #17191b; --soft: #212427; --line: #363a3e; --mark: #5fd0a8; --dim: #a0a7ae } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.25rem 5rem; font: 16px/1.55 system-ui, sans-serif }
body { background: var(--paper); color: var(--ink) }
h1, h2, h3 { line-height: 1.25; text-wrap: balance }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); padding-bottom: .35rem }
a { color: var(--mark) }
code, .path { font-family: ui-monospace, monospace; font-size: .92em; overflow-wrap: anywhere }
td:first-child code { white-space: nowrap }
nav ul { list-style: none; padding: 0; margin: .25rem 0; columns: 20rem }
article { margin: 2rem 0; padding: 1rem 1.25rem; border: 1px solid var(--line); border-radius: 8px }
article h3 { margin: 0 0 .5rem }
.method { display: inline-block; min-width: 4rem; color: var(--mark); font-weight: 600; font-family: ui-monospace, monospace }
.note { color: var(--dim) }
.scroll { overflow-x: auto }
table { border-collapse: collapse; width: 100%; margin: .75rem 0 }
caption { text-align: left; font-weight: 600; padding: .25rem 0 }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-top: 1px solid var(--line) }
th { white-space: nowrap }
`

export function renderPage (document: BrokerDocument): string {
  const operations: readonly Listed[] = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })))
  const sections = document.tags.map(tag => {
    const own = operations.filter(({ operation }) => operation.tags.includes(tag.name))
    const head = `<h2>${text(tag.name)}</h2><p class="note">${text(tag.description)}</p>`
    return `<section id="${text(tag.name)}">${head}${own.map(renderOperation).join('')}</section>`
  })
  const links = operations.map(one => `<li><a href="#${text(one.operation.operationId)}">${signature(one)}</a></li>`)
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) => renderSchema(name, schema))
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(document.info.title)} ${text(document.info.version)}</title><style>${STYLE}</style></head>
<body><header><h1>${text(document.info.title)} <span class="note">${text(document.info.version)}</span></h1><p>${prose(document.info.description)}</p>
<p>The same as <a href="/openapi.json">OpenAPI 3.1</a>.</p></header>
<nav aria-label="Operations"><ul>${links.join('')}
<li><a href="#schemas">Schemas</a></li><li><a href="#errors">Errors</a></li></ul></nav>
<main>${sections.join('\n')}
<section id="schemas"><h2>Schemas</h2>${schemas.join('')}</section>
<section id="errors"><h2>Errors</h2>${renderErrors()}</section></main></body></html>
`
}

interface Listed {
  readonly method: string
  readonly path: string
  readonly operation: BrokerOperation
}

const signature = ({ method, path }: Listed): string => `<span class="method">${text(method)}</span><span class="path">${text(path)}</span>`

function renderOperation (listed: Listed): string {
  const { operation } = listed
  const parameters = (operation.parameters ?? []).map(one => [
    `<code>${text(one.name)}</code>`, text(one.in), typeOf(one.schema), prose(one.description ?? ''),
  ])
  const bodies = Object.values(operation.requestBody?.content ?? {}).map(({ schema }) => propertyTable('Body', schema))
  const responses = Object.entries(operation.responses).map(([status, response]) => [`<code>${text(status)}</code>`, prose(response.description)])
  return `<article id="${text(operation.operationId)}"><h3>${signature(listed)}</h3>
<p><strong>${text(operation.summary)}</strong>${operation.security === undefined ? ' <span class="note">needs no token</span>' : ''}</p>
${operation.description === undefined ? '' : `<p>${prose(operation.description)}</p>`}
${parameters.length === 0 ? '' : table('Parameters', ['name', 'in', 'type', 'meaning'], parameters)}
${operation.requestBody?.description === undefined ? '' : `<p>${prose(operation.requestBody.description)}</p>`}${bodies.join('')}
${table('Answers', ['status', 'meaning'], responses)}</article>`
}

function renderSchema (name: string, schema: Schema): string {
  const described = schema.description === undefined ? '' : `<p>${prose(schema.description)}</p>`
  return `<article id="schema-${text(name)}"><h3>${text(name)}</h3>${described}${propertyTable('Properties', schema)}</article>`
}

function propertyTable (caption: string, schema: Schema): string {
  const required = new Set(schema.required)
  const rows = Object.entries(schema.properties ?? {}).map(([name, property]) => [
    `<code>${text(name)}</code>`, typeOf(property), required.has(name) ? 'always' : '', prose(property.description ?? ''),
  ])
  return rows.length === 0 ? '' : table(caption, ['name', 'type', 'present', 'meaning'], rows)
}

function renderErrors (): string {
  const rows = Object.entries(ERRORS).map(([code, row]) => [
    `<code>${text(code)}</code>`,
    text(row.step),
    row.status === null ? '200, 202' : String(row.status),
    row.retryable ? 'yes' : 'no',
    text(row.message),
  ])
  return table('Codes of the broker', ['code', 'step', 'status', 'retryable', 'message'], rows)
}

function typeOf (schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1)!
    return `<a href="#schema-${text(name)}">${text(name)}</a>`
  }
  const values = schema.enum ?? ('const' in schema ? [schema.const] : null)
  if (values !== null) return values.map(value => `<code>${text(JSON.stringify(value))}</code>`).join(' ')
  return text([schema.type ?? 'any'].flat().join(' or '))
}

/** Cells are HTML already. */
function table (caption: string, heads: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const head = heads.map(one => `<th scope="col">${text(one)}</th>`).join('')
  const body = rows.map(row => `<tr>${row.map(cell => `<td>${cell}</td>`).join('')}</tr>`).join('\n')
  return `<div class="scroll"><table><caption>${text(caption)}</caption><thead><tr>${head}</tr></thead>\n<tbody>${body}</tbody></table></div>`
}

const ESCAPES: { readonly [character: string]: string } = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const text = (value: string): string => value.replaceAll(/[&<>"']/g, character => ESCAPES[character]!)

/** Text in which `backquotes` set code and an empty line a break. */
const prose = (value: string): string => text(value).replaceAll(/`([^`]+)`/g, '<code>$1</code>').replaceAll('\n\n', '<br>')
