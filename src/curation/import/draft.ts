// One operation as the draft of a sheet. It takes the gravest view of everything that only a person can judge, and says what there is to judge;
// with its marks in it, it does not load.
import type { Effect, Json } from '../../catalog/catalog.ts'
import { REVIEW_MARK } from '../../catalog/review.ts'
import { SchemaCompiler } from '../../catalog/schema.ts'
import type { Document } from '../../catalog/openapi/documents.ts'
import type { OperationEntry } from '../../catalog/openapi/inventory.ts'
import type { JsonSchema, Operation } from '../../catalog/openapi/operation.ts'
import type { OperationWords } from '../../catalog/openapi/words.ts'
import { Judged, writeDrafted, type Drafted, type DraftedObject } from './drafted.ts'
import { actionName, objectType } from './names.ts'
import { listed } from './narrow.ts'
import { credentialParameters } from '../credential-parameters.ts'
import { plainSchema } from '../plain-schema.ts'
import { sampleOf } from '../sample.ts'
import { oneLine } from './prose.ts'
import { draftRequest, type RequestDraft } from './request-draft.ts'
import { proposeView } from './view.ts'

export interface DraftRequest {
  readonly document: Document
  readonly entry: OperationEntry
  readonly upstream: string
  /** What a person says of its consequence; null: nobody has said anything. */
  readonly effect: Effect | null
  /** Optional parts of the operation that agents are to be offered. */
  readonly extra: readonly string[]
  /** Names of actions that there are already. */
  readonly taken: ReadonlySet<string>
}

export interface Draft {
  readonly action: string
  /** How the sheet names the operation. */
  readonly operation: string
  readonly text: string
  /** What upstream.yaml has to provide for it: servers that the operation has of its own, parameters that only a credential may use. */
  readonly needs: { readonly servers: readonly string[], readonly secrets: RequestDraft['secrets'] }
  /** What makes it hard to draw a bounded action from this operation; empty where nothing does. */
  readonly hard: readonly string[]
  /** Of `extra`, what the operation does not take. */
  readonly unknown: readonly string[]
}

/** @throws DocumentFault where the operation, or what it rests on, cannot be used */
export function draftSheet (asked: DraftRequest): Draft {
  const { document, entry } = asked
  const selector = selectorOf(document, entry)
  const operation = document.operation(selector)
  const words = document.words(selector)
  const request = draftRequest(operation, words, credentialParameters(document), asked.extra)
  const action = actionName(entry, asked.taken)
  const view = proposeView(operation)
  const sheet = sheetOf(asked, { action, selector, operation, words, request, result: view?.result })
  return {
    action,
    operation: selector,
    needs: { servers: operation.servers, secrets: request.secrets },
    text: writeDrafted(sheet, headOf(operation, words)),
    hard: [
      ...entry.id === null ? ['no operationId'] : [],
      ...words.deprecated ? ['deprecated'] : [],
      ...operation.servers.length > 0 ? ['servers of its own'] : [],
      ...request.hard,
      ...request.required.length > 10 ? [`${request.required.length} required values`] : [],
      ...view === null ? ['no success to show'] : [],
      ...isReading(operation) || request.idempotency !== null ? [] : ['no idempotency key'],
      ...isReading(operation) || request.takesVersion || request.objectArgument === null ? [] : ['no version to write against'],
    ],
    unknown: request.unknown,
  }
}

/** An operationId that names this operation alone, else its route. */
export function selectorOf (document: Document, entry: OperationEntry): string {
  const alone = entry.id !== null && entry.id.length <= 500 && document.operations().filter(other => other.id === entry.id).length === 1
  return alone ? entry.id! : `${entry.method} ${entry.path}`
}

interface Parts {
  readonly action: string
  readonly selector: string
  readonly operation: Operation
  readonly words: OperationWords
  readonly request: RequestDraft
  readonly result: DraftedObject | undefined
}

function sheetOf (asked: DraftRequest, parts: Parts): DraftedObject {
  const { operation, words, request } = parts
  const effect = asked.effect ?? 'irreversible_change'
  const write = effect !== 'observation'
  const title = oneLine(words.summary, 100) || capital(parts.action.replaceAll('_', ' '))
  return {
    action: new Judged(parts.action, 'does this name say what it does, verb first?'),
    version: 1,
    upstream: asked.upstream,
    operation: parts.selector,
    title,
    description: new Judged(
      describe(title, words),
      'say what it does, use this when, do not use for, what it returns, and what to do after which error'
    ),
    effect: asked.effect === null ? new Judged(effect, effectQuestion(operation)) : effect,
    sensitivity: new Judged('personal', 'public, internal, personal or secret: of what the result shows'),
    consent: write ? new Judged('call', 'none, session or call: who has to say yes?') : 'none',
    retry: retryOf(operation, request, write),
    input: inputOf(request),
    ...write && request.objectArgument !== null && { target: targetOf(operation, request, request.objectArgument) },
    ...write && {
      proposal: { effect: new Judged(effectSentence(title, request), 'say the effect in one sentence that holds whatever the agent says') },
    },
    request: request.request,
    ...write && request.idempotency?.required === true && {
      idempotency: new Judged({ header: request.idempotency.header, retention: '24h' }, 'is the key honoured, and for how long?'),
    },
    result: parts.result,
    ...write && { lookup: new Judged('none', lookupQuestion(asked.document, operation)) },
    examples: examplesOf(request),
  }
}

function headOf (operation: Operation, words: OperationWords): readonly string[] {
  const repeat = isReading(operation)
    ? 'asking twice should change nothing; can it count, bill or mark as read?'
    : ['PUT', 'DELETE'].includes(operation.method)
      ? `${operation.method} should leave the same state; does it also notify, bill or log?`
      : `${operation.method} may do it twice; does the upstream take a key, or refuse a duplicate?`
  return [
    `Drafted from ${operation.method} ${oneLine(operation.path, 200)}${words.deprecated ? ', which the document calls deprecated' : ''}.`,
    `It does not load until every ${REVIEW_MARK.slice(0, 4)} mark is gone: each is something that a person has to judge. Answer these first.`,
    `${REVIEW_MARK}: what if it runs twice? ${capital(repeat)}`,
    `${REVIEW_MARK}: what if it runs on the wrong object? Who may name which one (scope), and can it be undone (compensate_with)?`,
    `${REVIEW_MARK}: what if it runs five minutes late? What must still hold then (checks, target.version)?`,
  ]
}

function describe (title: string, words: OperationWords): string {
  const more = oneLine(words.description, 400)
  const text = more === '' || more === title ? title : more.startsWith(title) ? more : `${title}. ${more}`
  return /[.!?…]$/.test(text) ? text : `${text}.`
}

function effectQuestion (operation: Operation): string {
  const hint = isReading(operation)
    ? `; ${operation.method} should change nothing (RFC 9110 §9.2.1): if so, import it with --effect observation`
    : ''
  return `observation, reversible_change, external_commitment or irreversible_change${hint}`
}

function retryOf (operation: Operation, request: RequestDraft, write: boolean): Drafted {
  if (!write) return new Judged('never', 'safe, where asking twice is harmless upstream')
  const key = request.idempotency
  if (key !== null) {
    return new Judged('never', `same_key, where ${key.header} is really honoured: idempotency: {header: ${key.header}, retention: 24h}`)
  }
  const leavesSame = ['PUT', 'DELETE'].includes(operation.method)
  return new Judged('never', leavesSame ? 'natural, where a repeat leaves the same state' : 'what does a repeat do upstream?')
}

function inputOf (request: RequestDraft): Drafted {
  const input: DraftedObject = {
    type: 'object',
    additionalProperties: false,
    ...request.required.length > 0 && { required: request.required },
    properties: Object.fromEntries(request.properties),
  }
  return request.optional.length === 0 ? input : new Judged(input, `left out, because it is optional (--with adds it): ${listed(request.optional)}`)
}

function targetOf (operation: Operation, request: RequestDraft, argument: string): Drafted {
  const type = objectType(operation.path) ?? 'object'
  const version = request.takesVersion
    ? 'read the object first and send its version: reads, target.version, headers: {If-Match: …}'
    : 'has it a version that can be read first?'
  return new Judged({ type, id: `\${args.${argument}}` }, `the object that it touches; ${version}`)
}

function effectSentence (title: string, request: RequestDraft): string {
  const plain = title.replaceAll('${', '$${').replace(/[.\s]+$/, '')
  return request.objectArgument === null ? plain : `${plain}: \${args.${request.objectArgument}}`
}

/** What reads the object whose write is not known to have happened. */
function lookupQuestion (document: Document, operation: Operation): string {
  const reading = document.operations().find(other => other.method === 'GET' && other.path === operation.path)
  const hint = reading === undefined ? '' : `; ${oneLine(reading.id ?? `GET ${reading.path}`, 100)} may tell`
  return `how is it found out whether it happened, when the answer is lost${hint}? none: a person decides`
}

/** The smallest call, where one can be made that the input allows. */
function examplesOf (request: RequestDraft): Drafted | undefined {
  const args: Array<readonly [string, Json]> = []
  for (const name of request.required) {
    const schema = unmarked(request.properties.get(name)!) as JsonSchema
    const plain = plainSchema(schema, schema)
    if (plain === null) return undefined
    args.push([name, sampleOf(plain, schema)])
  }
  const properties = Object.fromEntries([...request.properties].map(([name, schema]) => [name, unmarked(schema)]))
  const example = Object.fromEntries(args)
  try {
    const checker = new SchemaCompiler().compile({ type: 'object', required: [...request.required], additionalProperties: false, properties })
    if (checker.check(example) !== null) return undefined
  } catch {
    return undefined
  }
  return [{ arguments: new Judged(example, 'a call as an agent would make it') }]
}

function unmarked (value: Drafted | undefined): Json {
  if (value instanceof Judged) return unmarked(value.value)
  if (Array.isArray(value)) return value.map(item => unmarked(item as Drafted))
  if (typeof value !== 'object' || value === null) return (value ?? null) as Json
  const given = Object.entries(value as DraftedObject).filter(([, item]) => item !== undefined)
  return Object.fromEntries(given.map(([name, item]) => [name, unmarked(item)]))
}

const isReading = (operation: { readonly method: string }): boolean => operation.method === 'GET' || operation.method === 'HEAD'

const capital = (text: string): string => text.replace(/^./, first => first.toUpperCase())
