// `aval explain`: what a call would come to, step by step, and the exact request that would leave. Nothing is sent.
import type { Json } from '../catalog/catalog.ts'
import { loadCatalog } from '../catalog/load.ts'
import { readLocalConfig } from '../config.ts'
import type { GivenAnswer } from '../curation/explain/dry-upstream.ts'
import { explainCall, numberOf, type Explanation, type ShownRequest } from '../curation/explain/explain.ts'
import { Refusal } from '../errors.ts'
import { decodeJson } from '../http/decode.ts'
import { callBody } from './call.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'
import { actionOf, arrivalOf, callerOf, CALLER_FLAGS } from './lone-caller.ts'
import { openDryServices } from './lone-services.ts'
import { started } from './starting.ts'

export const explain: Command = {
  name: 'explain',
  summary: 'Show step by step what a call would come to, and the exact request that would be sent. Nothing is sent.',
  usage: 'ACTION [--arg NAME=TEXT | --arg NAME:=JSON]… [--read NAME:=JSON]…',
  flags: {
    arg: { type: 'string', multiple: true, value: 'NAME=TEXT', about: 'an argument: NAME=TEXT is text, NAME:=JSON is JSON' },
    read: { type: 'string', multiple: true, value: 'NAME:=JSON', about: 'what a declared read is answered: a body, or NAME=404 for a status' },
    key: { type: 'string', value: 'KEY', about: 'the Idempotency-Key header' },
    ...CALLER_FLAGS,
  },
  words: { min: 1, max: 1 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const body = callBody(ask.flags.texts('arg'), null)
  const given = readsOf(ask.flags.texts('read'))
  const catalog = await started(ask, () => loadCatalog(readLocalConfig(ask.env)))
  const action = actionOf(catalog, ask.words[0]!)
  for (const name of given.keys()) {
    if (!action.reads.some(read => read.name === name)) throw new CommandFault(`${action.id} has no read ${name}`)
  }
  const dry = await openDryServices(catalog, action, given)
  try {
    const { services } = dry
    const arrival = arrivalOf(action, body, ask.flags.text('key'))
    const explanation = await explainCall({ arrival, caller: callerOf(ask, catalog, action, services), action, services })
    if (ask.json) ask.print(JSON.stringify(explanation))
    else for (const line of told(explanation)) ask.print(line)
    return ['would_send', 'already_in_desired_state'].includes(explanation.end.kind) ? 0 : 1
  } finally {
    await dry.close()
  }
}

/** @throws CommandFault */
function readsOf (pairs: readonly string[]): ReadonlyMap<string, GivenAnswer> {
  return new Map(pairs.map(pair => {
    const match = /^([^=:]+)(:?)=(.*)$/s.exec(pair)
    if (match === null) throw new CommandFault('--read must be NAME:=JSON or NAME=STATUS')
    const [, name, colon, text] = match as unknown as [string, string, string, string]
    if (colon === '' && !/^[2-5]\d\d$/.test(text)) throw new CommandFault(`--read ${name}= must be followed by a status such as 404`)
    return [name, colon === '' ? { status: Number(text), body: {} } : { status: 200, body: bodyOf(name, text) }] as const
  }))
}

function bodyOf (name: string, text: string): Json {
  try {
    return decodeJson(Buffer.from(text))
  } catch (error) {
    if (error instanceof Refusal) throw new CommandFault(`--read ${name}:= ${error.message}`)
    throw error
  }
}

function * told ({ action, steps, end }: Explanation): Generator<string> {
  yield action
  for (const { step, lines } of steps) {
    const head = `${String(numberOf(step)).padStart(3)} ${step.padEnd(13)}`
    if (lines.length === 0) yield head.trimEnd()
    for (const [index, line] of lines.entries()) yield `${index === 0 ? head : ' '.repeat(head.length)}${line}`
  }
  yield ''
  switch (end.kind) {
    case 'would_send':
      yield 'This would be sent:'
      yield * requestLines(end.request)
      return
    case 'already_in_desired_state':
      yield 'Nothing would be sent: a check found the object as the call wants it.'
      return
    case 'refused':
      yield `Refused: ${end.code}. ${end.message}${end.field === null ? '' : ` (${end.field})`}`
      if (end.internal !== null) yield `For operators: ${end.internal}`
      return
    case 'undecided':
      yield `Not decided: the read ${end.read} would be asked now. Answer it with --read '${end.read}:=JSON'.`
      yield * requestLines(end.request)
  }
}

function * requestLines ({ method, url, headers, body }: ShownRequest): Generator<string> {
  yield `  ${method} ${url}`
  for (const [name, value] of Object.entries(headers)) yield `  ${name}: ${value}`
  if (body === null) return
  yield ''
  yield `  ${body}`
}
