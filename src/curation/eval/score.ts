// Scores an agent's use of tools from its transcripts, the same on every run: what was left out, confused, malformed, made up, or answered too early.
import { isDeepStrictEqual } from 'node:util'
import { isObject, type Action, type Json, type JsonObject } from '../../catalog/catalog.ts'
import type { GoldCall, GoldTask } from './gold.ts'
import { inventedIn } from './grounded.ts'
import type { Transcript, TranscriptEvent } from './transcript.ts'

export const FAULTS = [
  'no-transcript', 'omitted', 'confused', 'forbidden', 'unknown-action', 'malformed', 'wrong-arguments', 'invented', 'premature',
] as const
export type Fault = (typeof FAULTS)[number]

export interface EvalFinding {
  readonly task: string
  readonly fault: Fault
  readonly message: string
}

export interface Score {
  readonly tasks: number
  /** Tasks of which nothing is found. */
  readonly clean: number
  readonly calls: number
  /** By the action that was expected. */
  readonly omission: { readonly [action: string]: { readonly expected: number, readonly omitted: number, readonly rate: number } }
  /** Expected action → called action → how often; `none` where nothing was called instead. */
  readonly confusion: { readonly [expected: string]: { readonly [called: string]: number } }
  /** Of all calls. */
  readonly rates: { readonly malformed: number, readonly invented: number, readonly unknown_action: number, readonly wrong_arguments: number }
  /** Of all tasks. */
  readonly success: number
  readonly premature: number
  readonly counts: { readonly [fault in Fault]: number }
  readonly findings: readonly EvalFinding[]
}

/** Tools of the broker that are no actions. */
const OWN_TOOLS: ReadonlySet<string> = new Set(['attempt_get', 'search_actions', 'proposal_get', 'proposal_commit', 'proposal_withdraw'])
const NONE = 'none'

/**
 * @param actions by id; empty where there is no catalog to hold arguments to
 * @param progress told as it goes on
 */
export function score (
  gold: readonly GoldTask[], transcripts: readonly Transcript[], actions: ReadonlyMap<string, Action>,
  progress: (done: number, all: number, about: string) => void = () => {}
): Score {
  const scoring = new Scoring(actions)
  const byTask = Map.groupBy(transcripts, ({ task }) => task)
  for (const [index, task] of gold.entries()) {
    progress(index, gold.length, task.id)
    const own = byTask.get(task.id) ?? []
    if (own.length === 0) scoring.missing(task)
    for (const transcript of own) scoring.task(task, transcript)
  }
  progress(gold.length, gold.length, '')
  return scoring.score()
}

interface Call {
  readonly event: Extract<TranscriptEvent, { kind: 'call' }>
  readonly action: string
  /** Everything that was said before it, but by the agent. */
  readonly said: string
}

class Scoring {
  readonly #actions: ReadonlyMap<string, Action>
  readonly #findings: EvalFinding[] = []
  readonly #omission = new Map<string, { expected: number, omitted: number }>()
  readonly #confusion = new Map<string, Map<string, number>>()
  readonly #blemished = { malformed: 0, invented: 0, unknown_action: 0, wrong_arguments: 0 }
  #tasks = 0
  #clean = 0
  #calls = 0
  #premature = 0

  constructor (actions: ReadonlyMap<string, Action>) {
    this.#actions = actions
  }

  missing (task: GoldTask): void {
    this.#tasks++
    this.#put(task.id, 'no-transcript', 'there is no transcript of this task')
    for (const { action } of task.expect) this.#expected(action, true)
  }

  task (task: GoldTask, transcript: Transcript): void {
    const before = this.#findings.length
    this.#tasks++
    const calls = callsOf(transcript)
    this.#calls += calls.length
    for (const call of calls) this.#call(task, call)
    const omitted = this.#align(task, calls)
    if (isPremature(transcript, omitted)) {
      this.#premature++
      this.#put(
        task.id,
        'premature',
        omitted > 0 ? 'answered before everything that was expected had been called' : 'answered while a call had not been settled'
      )
    }
    if (this.#findings.length === before) this.#clean++
  }

  score (): Score {
    const rate = (count: number, all: number): number => all === 0 ? 0 : Math.round(count / all * 10_000) / 10_000
    const names = [...this.#omission.keys()].sort()
    return {
      tasks: this.#tasks,
      clean: this.#clean,
      calls: this.#calls,
      success: rate(this.#clean, this.#tasks),
      premature: rate(this.#premature, this.#tasks),
      omission: Object.fromEntries(names.map(name => {
        const { expected, omitted } = this.#omission.get(name)!
        return [name, { expected, omitted, rate: rate(omitted, expected) }]
      })),
      confusion: Object.fromEntries(
        [...this.#confusion.keys()].sort().map(name => [name, Object.fromEntries([...this.#confusion.get(name)!].sort(([a], [b]) => a < b ? -1 : 1))])
      ),
      rates: {
        malformed: rate(this.#blemished.malformed, this.#calls),
        invented: rate(this.#blemished.invented, this.#calls),
        unknown_action: rate(this.#blemished.unknown_action, this.#calls),
        wrong_arguments: rate(this.#blemished.wrong_arguments, this.#calls),
      },
      counts: Object.fromEntries(FAULTS.map(fault => [fault, this.#findings.filter(one => one.fault === fault).length])) as Score['counts'],
      findings: this.#findings,
    }
  }

  /** What is wrong with a call whatever was expected. */
  #call (task: GoldTask, { event, action: id, said }: Call): void {
    const action = this.#actions.get(id) ?? null
    if (task.forbid?.includes(id) === true) this.#put(task.id, 'forbidden', `${id} must not be called`)
    if (action === null && this.#actions.size > 0) {
      this.#blemished.unknown_action++
      this.#put(task.id, 'unknown-action', `there is no action ${id}`)
    }
    if (event.arguments === undefined) {
      this.#blemished.malformed++
      return this.#put(task.id, 'malformed', `the arguments of ${id} are no JSON object`)
    }
    const fault = action?.checkArguments(event.arguments) ?? null
    if (fault !== null) {
      this.#blemished.malformed++
      this.#put(task.id, 'malformed', `${id} ${fault.pointer === '' ? 'arguments' : fault.pointer}: ${fault.message}`)
    }
    const invented = inventedIn(event.arguments, said, action === null ? null : action.inputSchema as JsonObject)
    if (invented.length > 0) this.#blemished.invented++
    for (const { pointer, value } of invented) this.#put(task.id, 'invented', `${id} ${pointer}: ${JSON.stringify(value)} stands nowhere before`)
  }

  /** @returns how many expected calls were not made */
  #align (task: GoldTask, calls: readonly Call[]): number {
    const left = [...calls]
    const open: GoldCall[] = []
    for (const expected of task.expect) {
      const named = left.filter(call => call.action === expected.action)
      const made = named.find(call => holds(call.event.arguments, expected.arguments)) ?? named[0]
      this.#expected(expected.action, made === undefined)
      if (made === undefined) {
        open.push(expected)
        continue
      }
      left.splice(left.indexOf(made), 1)
      this.#confuse(expected.action, expected.action)
      if (made.event.arguments !== undefined && !holds(made.event.arguments, expected.arguments)) {
        this.#blemished.wrong_arguments++
        this.#put(task.id, 'wrong-arguments', `${expected.action} was expected with ${JSON.stringify(expected.arguments)}`)
      }
    }
    // A read more than was expected costs nothing; only a call in the place of another is a confusion.
    const strangers = left.filter(call => !task.expect.some(expected => expected.action === call.action))
    for (const expected of open) {
      const instead = strangers.shift()
      this.#confuse(expected.action, instead?.action ?? NONE)
      this.#put(task.id, 'omitted', `${expected.action} was not called`)
      if (instead !== undefined) this.#put(task.id, 'confused', `${instead.action} was called, and ${expected.action} was not`)
    }
    return open.length
  }

  #expected (action: string, omitted: boolean): void {
    const known = this.#omission.get(action) ?? { expected: 0, omitted: 0 }
    this.#omission.set(action, { expected: known.expected + 1, omitted: known.omitted + (omitted ? 1 : 0) })
  }

  #confuse (expected: string, called: string): void {
    const row = this.#confusion.get(expected) ?? new Map<string, number>()
    this.#confusion.set(expected, row.set(called, (row.get(called) ?? 0) + 1))
  }

  #put (task: string, fault: Fault, message: string): void {
    this.#findings.push({ task, fault, message })
  }
}

/** Model providers take no dot in a name, so `get_customer.v1` goes by `get_customer_v1` there. */
const actionOf = (tool: string): string => tool.replace(/_v([1-9]\d*)$/, '.v$1')

function callsOf (transcript: Transcript): readonly Call[] {
  const calls: Call[] = []
  const said: string[] = []
  for (const event of transcript.events) {
    if (event.kind === 'call' && !OWN_TOOLS.has(event.tool)) calls.push({ event, action: actionOf(event.tool), said: said.join('\n') })
    else if (event.kind === 'result' || (event.kind === 'text' && event.from === 'other')) said.push(event.text)
  }
  return calls
}

function holds (args: JsonObject | undefined, expected: JsonObject | undefined): boolean {
  if (expected === undefined) return true
  return args !== undefined && Object.entries(expected).every(([name, value]) => isDeepStrictEqual(args[name], value))
}

/** The last words of the agent came before what had to be called, or before what was called had been settled. */
function isPremature ({ events }: Transcript, omitted: number): boolean {
  const last = events.findLast(event => event.kind !== 'text' || event.from === 'agent')
  const answered = last?.kind === 'text'
  if (!answered) return false
  if (omitted > 0) return true
  const unanswered = events.some(event => event.kind === 'call' && !events.some(other => other.kind === 'result' && other.id === event.id))
  return unanswered || openAttempts(events).size > 0
}

/** Attempts that the last word of the broker called pending or unknown. */
function openAttempts (events: readonly TranscriptEvent[]): ReadonlySet<string> {
  const open = new Set<string>()
  for (const event of events) {
    if (event.kind !== 'result') continue
    const envelope = envelopeIn(event.text)
    if (envelope === null) continue
    if (envelope.outcome === 'pending' || envelope.outcome === 'unknown') open.add(envelope.attempt)
    else open.delete(envelope.attempt)
  }
  return open
}

function envelopeIn (text: string): { readonly outcome: string, readonly attempt: string } | null {
  for (const part of [text, ...text.split('\n')]) {
    try {
      const value = JSON.parse(part) as Json
      if (isObject(value) && typeof value.outcome === 'string') return { outcome: value.outcome, attempt: String(value.attempt_id ?? '') }
    } catch {
      // A result of another kind says nothing about an attempt.
    }
  }
  return null
}
