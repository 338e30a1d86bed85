// Sees everything that happens in a schedule: counts which rows of the table it fired, and holds what must be true at every moment. What must be true
// in the end is held by verdict.ts.
import type { AttemptEvent, AttemptRecord } from '../../src/attempts/attempt.ts'
import type { ProposalEvent, ProposalRecord } from '../../src/consent/proposal.ts'
import type { AdvancedProposal, Proposed } from '../../src/store/consent-store.ts'
import type { Advanced, BeginLimits, Begun, Recalled, Store } from '../../src/store/store.ts'
import type { WireRequest } from '../../src/upstream/wire.ts'
import type { Process } from './process.ts'
import type { Fired } from './rows.ts'
import type { SimStore, StoreWatch } from './store.ts'
import type { ReadManner, SimUpstream } from './upstream.ts'
import type { World } from './world.ts'

export type Phase = 'arrived' | 'begun' | 'reserved' | 'marked' | 'left' | 'answered' | 'settled' | 'told'

/** One call of an agent at one process. */
export interface Call {
  readonly correlationId: string
  readonly process: Process
  readonly action: string
  phase: Phase
  attemptId: string | null
  /** It was told as open before its end came. */
  toldOpen: boolean
  agentLeft: boolean
}

const AT_KILL: Partial<Record<Phase, number>> = { arrived: 1, begun: 2, reserved: 4, marked: 6, left: 7, answered: 8, settled: 9 }
const FAILED_READS: ReadonlySet<ReadManner> = new Set(['error', 'silent', 'lost', 'gateway', 'page', 'blank', 'cut'])
const DOUBTFUL: ReadonlySet<number> = new Set([404, 409, 410, 412])
const LATER: ReadonlySet<number> = new Set([425, 429, 503])

export class Watch implements StoreWatch {
  readonly calls = new Map<string, Call>()
  readonly violations: string[] = []
  /** Attempts whose owner has heard an answer that says what became of them. */
  readonly conclusive = new Set<string>()
  /** Those that it ended. */
  readonly ended = new Set<string>()
  /** Integrity alarms, by attempt. */
  readonly alarms = new Map<string, string[]>()
  /** Writes handed to the network, by attempt. */
  readonly sends = new Map<string, number>()
  readonly arrivals = new Map<string, number>()
  /** Attempts of which the store lost something that it had acknowledged. */
  readonly forgotten = new Set<string>()
  /** Attempts whose write came out of the hole that nothing closes. */
  readonly holes = new Set<string>()
  /** What people have said of each proposal, as it came to the store. */
  readonly #said = new Map<string, { yes: boolean, no: string | null }>()
  /** Attempts that arrived, by what was approved. */
  readonly #arrivedOf = new Map<string, Set<string>>()
  readonly #last = new Map<string, AttemptRecord>()
  readonly #dispatches = new Map<string, number>()
  readonly #cancelAsked = new Map<string, number>()
  readonly #markAsked = new Map<string, number>()
  readonly #markDone = new Map<string, number>()
  readonly #world: World
  readonly #fired: Fired
  /** Told of each change, for whoever wants to undo it. */
  onChange: ((before: AttemptRecord, type: AttemptEvent['type'], after: AttemptRecord) => void) | null = null
  /** Told of each step of a call, for whoever wants to strike there. */
  onPhase: ((call: Call) => void) | null = null
  /** Told of each proposal that was made. */
  onProposed: ((record: ProposalRecord) => void) | null = null
  store!: SimStore
  upstream!: SimUpstream

  constructor (world: World, fired: Fired) {
    this.#world = world
    this.#fired = fired
  }

  row (row: number): void {
    this.#fired.row(row)
    this.#world.tell('row', row)
  }

  enter (call: Call, phase: Phase): void {
    call.phase = phase
    this.onPhase?.(call)
  }

  violated (invariant: string, what: string): void {
    this.#world.tell('VIOLATION', invariant, what)
    this.violations.push(`${invariant}: ${what}`)
  }

  hold (holds: boolean, invariant: string, what: string): void {
    if (!holds) this.violated(invariant, what)
  }

  killed (process: Process): void {
    for (const call of this.calls.values()) {
      if (call.process !== process || call.phase === 'told') continue
      const row = AT_KILL[call.phase]
      if (row !== undefined) this.row(row)
      this.enter(call, 'told')
    }
  }

  /** The store has it again as it was before. */
  forget (before: AttemptRecord): void {
    this.forgotten.add(before.id)
    this.#last.set(before.id, before)
    this.store.forget(before)
  }

  // The store.

  asked (_process: Process, verb: keyof Store, args: readonly unknown[]): void {
    if (this.store.state === 'read_only' && (verb === 'begin' || verb === 'advance')) this.row(44)
    if (verb !== 'advance') return
    const [held, event] = args as [AttemptRecord, AttemptEvent]
    if (event.type === 'cancel') this.#cancelAsked.set(held.id, this.#world.nowMs)
    if (event.type === 'dispatch') this.#markAsked.set(held.id, this.#world.nowMs)
  }

  done (process: Process, verb: keyof Store, args: readonly unknown[], answer: unknown, heard: boolean): void {
    if (verb === 'begin') {
      this.#consumed(args[0] as AttemptRecord, args[2] as BeginLimits, answer as Begun)
      this.#begun(process, args[0] as AttemptRecord, answer as Begun, heard)
    } else if (verb === 'propose') this.#proposed(answer as Proposed)
    else if (verb === 'advanceProposal') this.#moved(args[1] as ProposalEvent, answer as AdvancedProposal)
    else if (verb === 'recall') this.#recalled(process, answer as Recalled)
    else if (verb === 'advance') this.#advanced(process, args as [AttemptRecord, AttemptEvent], answer as Advanced, heard)
  }

  heard (verb: keyof Store, args: readonly unknown[], answer: unknown): void {
    if (verb !== 'begin' || (answer as Begun).kind !== 'begun') return
    const call = this.calls.get((args[0] as AttemptRecord).correlationId)
    if (call?.phase === 'begun') this.enter(call, 'reserved')
  }

  #begun (process: Process, record: AttemptRecord, answer: Begun, heard: boolean): void {
    this.#world.tell(process.name, 'begin', record.id, answer.kind, heard ? '' : '(not heard)')
    if (answer.kind === 'target_busy') this.row(39)
    if (answer.kind === 'recalled') this.#recalled(process, answer.recalled)
    if (answer.kind !== 'begun' || this.#last.has(record.id)) return
    if (!heard) this.row(2)
    if (process.skewMs !== 0) this.row(34)
    this.#last.set(record.id, answer.record)
    const call = this.calls.get(record.correlationId)
    if (call === undefined) return
    call.attemptId = record.id
    if (call.phase === 'arrived') this.enter(call, 'begun')
  }

  // What people are asked.

  #proposed (answer: Proposed): void {
    if (answer.kind !== 'proposed' || this.#said.has(answer.record.id)) return
    this.#world.tell('proposed', answer.record.id)
    this.#said.set(answer.record.id, { yes: false, no: null })
    this.onProposed?.(answer.record)
  }

  #moved (event: ProposalEvent, answer: AdvancedProposal): void {
    if (answer.kind !== 'changed') return
    const { id, state } = answer.record
    this.#world.tell(event.type, id, state)
    const said = this.#said.get(id)!
    if (state === 'approved') said.yes = true
    if (event.type === 'withdraw' || event.type === 'invalidate' || event.type === 'expire' || state === 'denied') said.no = state
  }

  /** How the store took what somebody said. */
  decided (id: string, says: 'approve' | 'deny', kind: Exclude<AdvancedProposal['kind'], 'missing'>): void {
    this.#world.tell('decided', id, says, kind)
    const { no } = this.#said.get(id)!
    // What has ended otherwise met nobody's word.
    if (kind === 'changed' || (no !== null && no !== 'denied')) return
    this.row((says === 'deny') === (no === 'denied') ? 35 : 36)
  }

  #consumed (record: AttemptRecord, { consume }: BeginLimits, answer: Begun): void {
    if (consume === undefined) return
    const said = this.#said.get(consume.proposal)!
    if (answer.kind === 'recalled') this.row(37)
    if (answer.kind === 'proposal_changed') this.row(38)
    if (answer.kind !== 'begun' || this.#last.has(record.id)) return
    this.hold(said.yes, 'I10', `${record.id} is begun under ${consume.proposal}, which nobody approved`)
    this.hold(said.no === null, 'I10', `${record.id} is begun under ${consume.proposal}, which is ${said.no}`)
  }

  #arrivedUnder ({ id, action, proposal }: AttemptRecord): void {
    if (action !== 'do_asked_work.v1') return
    if (proposal === undefined) return this.violated('I10', `${id} arrives, and nobody was asked`)
    const all = this.#arrivedOf.get(proposal) ?? new Set()
    this.#arrivedOf.set(proposal, all.add(id))
    this.hold(all.size === 1, 'I10', `${proposal} was used by ${[...all].join(', ')}`)
    const { yes, no } = this.#said.get(proposal)!
    this.hold(yes && no === null, 'I10', `${id} arrives under ${proposal}, which is ${no ?? 'not approved'}`)
  }

  #recalled (process: Process, { finding }: Recalled): void {
    if (finding.kind !== 'in_progress' && finding.kind !== 'duplicate') return
    if (finding.record.state === 'settled') return
    const owner = this.calls.get(finding.record.correlationId)
    if (owner !== undefined && owner.phase !== 'told' && owner.process !== process) this.row(11)
  }

  #advanced (process: Process, [held, event]: [AttemptRecord, AttemptEvent], answer: Advanced, heard: boolean): void {
    this.#world.tell(process.name, event.type, held.id, answer.kind, answer.kind === 'missing' ? '' : answer.record.state, heard ? '' : '(not heard)')
    if (answer.kind === 'missing' && !this.forgotten.has(held.id)) this.violated('I8', `${held.id} is gone`)
    if (event.type === 'cancel') this.#cancelled(held.id, answer)
    if (answer.kind !== 'changed') return
    const before = this.#last.get(held.id)
    const { record } = answer
    if (before === undefined || record.revision <= before.revision) return
    this.#last.set(record.id, record)
    this.#holdChange(before, event, record)
    this.#countChange(before, event, record, heard)
    this.onChange?.(before, event.type, record)
  }

  #cancelled (id: string, answer: Advanced): void {
    const markDoneMs = this.#markDone.get(id) ?? Infinity
    if (this.#markAsked.has(id) && markDoneMs >= this.#cancelAsked.get(id)!) this.row(42)
    if (answer.kind !== 'changed') return
    this.row(answer.record.state === 'settled' ? 40 : 41)
  }

  #holdChange (before: AttemptRecord, event: AttemptEvent, record: AttemptRecord): void {
    const { id, settlement } = record
    this.hold(before.state !== 'settled', 'I9', `${id} was settled and is changed by ${event.type}`)
    if (event.type === 'dispatch') {
      this.#dispatches.set(id, (this.#dispatches.get(id) ?? 0) + 1)
      this.hold(this.#dispatches.get(id) === 1 || this.forgotten.has(id), 'I13', `${id} was dispatched twice`)
      this.#markDone.set(id, this.#world.nowMs)
    }
    if (event.type === 'lose') this.hold(!this.conclusive.has(id), 'I6', `${id} is unknown, and its answer said what became of it: ${event.missing}`)
    if (record.state === 'unknown') this.hold(record.missing !== null, 'I6', `${id} is unknown and does not say what is missing`)
    if (settlement === null || this.holes.has(id)) return
    const effects = this.upstream.effects.filter(({ attemptId }) => attemptId === id).length
    if (settlement.outcome === 'completed') this.hold(effects === 1, 'I2', `${id} is completed by ${event.type} with ${effects} effects`)
    else this.hold(effects === 0, 'I3', `${id} is ${settlement.outcome} ${settlement.code} by ${event.type} with ${effects} effects`)
    if (!settlement.sent) this.hold((this.sends.get(id) ?? 0) === 0, 'I12', `${id} is told as not sent by ${event.type}, and left`)
  }

  #countChange (before: AttemptRecord, event: AttemptEvent, record: AttemptRecord, heard: boolean): void {
    const call = this.calls.get(record.correlationId)
    const isOpen = call !== undefined && call.phase !== 'told'
    if (event.type === 'dispatch') {
      if (!heard && isOpen) this.row(5)
      if (isOpen) this.enter(call, 'marked')
    }
    if (event.type === 'settle' || event.type === 'pend' || event.type === 'lose') {
      if (!heard && isOpen) this.row(10)
      if (isOpen) this.enter(call, 'settled')
      if (call?.toldOpen === true) this.row(16)
      if (call?.agentLeft === true) this.row(17)
    }
    if (event.type === 'pend') this.row(18)
    if (event.type === 'lose') this.#countLoss(event.missing)
    if (event.type === 'settle') this.#countSettlement(before, record)
    if (event.type === 'lookup' && event.finding.kind === 'absent') this.row(26)
    if (event.type === 'lookup' && event.finding.kind === 'pending') this.row(28)
  }

  #countLoss (missing: string): void {
    if (missing.includes('no look-up is declared')) this.row(19)
    if (missing.includes('was cut') || missing.includes('cannot be read')) this.row(20)
    if (missing.includes('does not say whether') || missing.includes('never followed')) this.row(23)
  }

  #countSettlement (before: AttemptRecord, { settlement }: AttemptRecord): void {
    const { outcome, sent, code, evidence: { upstreamStatus: status } } = settlement!
    const wasSwept = before.state === 'unknown' && before.missing?.startsWith('no broker reported') === true
    if (wasSwept) this.row(sent ? 14 : 13)
    if (code === 'SHUTTING_DOWN') this.row(43)
    if (outcome !== 'rejected' || status === null) return
    if (LATER.has(status)) this.row(24)
    else if (status >= 400 && status < 500 && !DOUBTFUL.has(status)) this.row(21)
  }

  // The upstream.

  left (attemptId: string): void {
    this.sends.set(attemptId, (this.sends.get(attemptId) ?? 0) + 1)
    this.hold(this.sends.get(attemptId) === 1, 'I13', `${attemptId} was sent twice`)
    const call = this.#callOf(attemptId)
    if (call !== undefined && call.phase === 'marked') this.enter(call, 'left')
  }

  arrived (attemptId: string): void {
    this.arrivals.set(attemptId, (this.arrivals.get(attemptId) ?? 0) + 1)
    const record = this.store.record(attemptId)
    if (record !== undefined) this.#arrivedUnder(record)
    if (this.forgotten.has(attemptId)) return
    if (record === undefined || record.state === 'prepared') this.violated('I14', `${attemptId} arrives and is ${record?.state ?? 'not there'}`)
    if (record?.settlement?.code !== 'NOT_APPLIED') return
    if (this.holes.has(attemptId)) this.row(15)
    else this.violated('I3', `${attemptId} arrives after its absence was proved`)
  }

  answered (attemptId: string, status: number | null, conclusive: boolean): void {
    if (conclusive) this.conclusive.add(attemptId)
    if (conclusive && status !== 202) this.ended.add(attemptId)
    const call = this.#callOf(attemptId)
    if (call === undefined || call.phase === 'told') return
    this.enter(call, 'answered')
    if (status !== null && DOUBTFUL.has(status)) this.row(22)
  }

  looked (request: WireRequest, manner: ReadManner): void {
    if (!request.path.includes('?key=')) return
    this.#world.tell('upstream: look-up,', manner)
    if (FAILED_READS.has(manner)) this.row(25)
    if (manner === 'other_arguments') this.row(27)
    if (manner === 'unauthorised') this.row(46)
  }

  #callOf (attemptId: string): Call | undefined {
    const record = this.store.record(attemptId)
    return record === undefined ? undefined : this.calls.get(record.correlationId)
  }
}
