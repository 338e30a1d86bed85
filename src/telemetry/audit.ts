// The audit: what happened, in rows that nobody can change unseen. One chain a process; a write's intent is durable before the write leaves.
import { randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import { StateUnavailable } from '../store/store.ts'
import { AuditChain, type AuditFile } from './audit-chain.ts'
import { makeAuditFolder, openCheckpointSigner, type Checkpoint } from './audit-checkpoint.ts'
import { rowMs, rowText, type AuditEventName, type RowActor, type RowFields, type RowUpstream } from './audit-row.ts'
import { findChains } from './audit-seal.ts'
import type { AuditFault, AuditMetrics } from './metrics.ts'
import { fieldsOfConsent, fieldsOfConsumed, fieldsOfPerson } from './audit-consent.ts'
import type { ConsentEvent } from '../consent/events.ts'
import { openDoorKeeper } from './audit-door.ts'
import type { Actor, AttemptEventTold, CallEvent, DoorEvent, IntentEvent, PersonEvent, Telemetry } from './telemetry.ts'

/** Reads and refusals are refused themselves while so many rows are not durable. */
export const ROOM_ROWS = 10_000
/** Memory is finite: beyond this the rows of reads and refusals are dropped and counted, and much later those of writes too. */
const READ_ROWS_MAX = 2 * ROOM_ROWS
const WRITE_ROWS_MAX = 5 * ROOM_ROWS
const SEGMENT_BYTES_MAX = 64 * 1024 * 1024
/** Refusals that wait for the call that puts them right. */
const CORRECTABLE_MAX = 10_000

export interface Audit {
  readonly writer: string
  /** With it `aval audit verify` trusts nothing in the folder. */
  readonly publicKeyPem: string
  /** @throws StateUnavailable */
  intent (event: IntentEvent): Promise<void>
  /** `field` is the bounded one (fields.ts). */
  call (event: CallEvent): void
  attempt (event: AttemptEventTold): void
  person (event: PersonEvent): void
  /** Of those who are nobody only so many are kept: they could fill the disk. */
  door (event: DoorEvent): void
  consent (event: ConsentEvent): void
  withheld (event: Parameters<Telemetry['withheld']>[0]): void
  integrity (event: Parameters<Telemetry['integrity']>[0]): void
  reloaded (event: { readonly result: 'taken' | 'refused', readonly digest: string | null, readonly correlationId?: string }): void
  runStopped (event: { readonly actor: Actor, readonly note: string | null, readonly correlationId: string }): void
  vault (event: { readonly what: 'locked' | 'unlocked', readonly epoch: number, readonly personMark: string, readonly correlationId: string }): void
  /** Told of questions that are no calls; a call has a row of its own. */
  lockedOut (event: { readonly actor: Actor, readonly correlationId: string }): void
  stateLoss (event: { readonly what: 'lost' | 'restored' | 'accepted', readonly kind: 'proved' | 'possible', readonly replica: string }): void
  hasRoom (): boolean
  /** All that was told so far is durable. @throws StateUnavailable */
  sync (): Promise<void>
  close (): Promise<void>
}

export interface AuditOptions {
  readonly folder: string
  /** `Identity.keyId()`: which key made the marks. */
  readonly keyId: string
  readonly metrics: AuditMetrics
  readonly onFault: (what: AuditFault, error: unknown) => void
  /** For whoever keeps copies elsewhere. @throws nothing */
  readonly onCheckpoint?: (checkpoint: Checkpoint, note: string) => void
  readonly epochMs?: () => number
  readonly segmentBytesMax?: number
  readonly openFile?: (path: string) => Promise<AuditFile>
}

/** @throws the error of the disk: a broker that cannot keep its audit does not start */
export async function openAudit (options: AuditOptions): Promise<Audit> {
  const epochMs = options.epochMs ?? Date.now
  // Before the folder is listed: a chain whose last row is younger than this may be missing below (verify-audit.ts).
  const openedAtMs = epochMs()
  await makeAuditFolder(options.folder)
  const signer = await openCheckpointSigner(options.folder)
  const others = await findChains(options.folder)
  const writer = writerName(openedAtMs)
  const chain = await AuditChain.open({
    folder: options.folder,
    writer,
    signer,
    epochMs,
    openFile: options.openFile ?? (path => open(path, 'wx', 0o600)),
    segmentBytesMax: options.segmentBytesMax ?? SEGMENT_BYTES_MAX,
    onCheckpoint: options.onCheckpoint ?? (() => {}),
    onSynced: (rows, durationMs) => options.metrics.synced(rows, durationMs),
    onFault: (what, error) => {
      options.metrics.fault(what)
      options.onFault(what, error)
    },
  })
  chain.add({ event: 'audit.opened', key_ids: { hmac: options.keyId, sig: signer.keyId } }, openedAtMs)
  for (const { sealed, closed } of others) chain.add({ event: closed ? 'audit.sealed' : 'audit.recovered', sealed })
  await chain.sync()
  await chain.checkpoint()
  for (const { remember } of others) await remember()
  return new ChainedAudit(chain, writer, signer.publicKeyPem, options.metrics)
}

/** When it started, and what no other process has. */
const writerName = (nowMs: number): string => `${new Date(nowMs).toISOString().replaceAll(/[-:.]/g, '')}-${randomBytes(8).toString('hex')}`

class ChainedAudit implements Audit {
  readonly writer: string
  readonly publicKeyPem: string
  readonly #chain: AuditChain
  readonly #metrics: AuditMetrics
  readonly #door = openDoorKeeper()
  /** (run, action) → the refusal that a later accepted call corrects. */
  readonly #correctable = new Map<string, NonNullable<RowFields['corrects']>>()

  constructor (chain: AuditChain, writer: string, publicKeyPem: string, metrics: AuditMetrics) {
    this.#chain = chain
    this.writer = writer
    this.publicKeyPem = publicKeyPem
    this.#metrics = metrics
  }

  hasRoom (): boolean {
    return this.#chain.waiting() < ROOM_ROWS
  }

  async intent (event: IntentEvent): Promise<void> {
    if (!this.hasRoom()) throw new StateUnavailable('the audit has no room')
    this.#add({
      event: 'execution.intent',
      action: { definition: event.definition, effect: undefined, id: event.actionId },
      actor: actorOf(event.actor),
      args: event.argumentsMark,
      attempt: { duplicate: undefined, id: event.attemptId, state: undefined },
      correlation_id: event.correlationId,
      request: event.requestMark,
      target: event.targetMark === null ? undefined : { mark: event.targetMark, version: undefined },
    })
    if (event.approval !== null) this.#add(fieldsOfConsumed(event, event.approval))
    await this.sync()
  }

  person (event: PersonEvent): void {
    this.#add({ ...fieldsOfPerson(event), actor: actorOf(event.actor) })
  }

  door (event: DoorEvent): void {
    const fields = this.#door.fieldsOf(event)
    if (fields !== null) this.#add({ ...fields, actor: actorOf(event.actor) })
  }

  consent (event: ConsentEvent): void {
    const fields = fieldsOfConsent(event)
    if (fields !== null) this.#add(fields)
  }

  call (event: CallEvent): void {
    const name = nameOfCall(event)
    // Whoever has no token could fill the disk: those calls are counted and logged.
    if (name === 'action.refused' && event.actor.subMark === null) return
    const seq = this.#add({ ...fieldsOfCall(event, name), corrects: this.#corrects(event, name) })
    if (name === 'action.refused' && seq !== null) this.#remember(event, seq)
  }

  attempt (event: AttemptEventTold): void {
    this.#add({
      event: nameOfAttempt(event),
      action: { definition: event.definition, effect: undefined, id: event.actionId },
      actor: actorOf({ kind: event.by === 'person' || event.by === 'agent' ? event.by : 'system', iss: null, subMark: event.personMark, runMark: null, tenant: null }),
      attempt: { duplicate: undefined, id: event.attemptId, state: event.state },
      by: event.by,
      code: textOrNone(event.code),
      correlation_id: event.correlationId,
      outcome: event.outcome ?? undefined,
      sent: event.sent ?? undefined,
    })
  }

  withheld (event: Parameters<Telemetry['withheld']>[0]): void {
    this.#add({ event: 'response.withheld', action: { definition: undefined, effect: undefined, id: event.actionId }, code: rowText(event.code) })
  }

  integrity (event: Parameters<Telemetry['integrity']>[0]): void {
    this.#add({ event: 'integrity.alarm', attempt: { duplicate: undefined, id: rowText(event.attemptId), state: undefined }, what: event.what })
  }

  reloaded (event: Parameters<Audit['reloaded']>[0]): void {
    this.#add({ event: 'sheet.reloaded', correlation_id: event.correlationId, digest: event.digest ?? undefined, what: event.result })
  }

  runStopped (event: Parameters<Audit['runStopped']>[0]): void {
    this.#add({ event: 'run.stopped', actor: actorOf(event.actor), correlation_id: event.correlationId, what: event.note || undefined })
  }

  vault ({ what, epoch, personMark, correlationId }: Parameters<Audit['vault']>[0]): void {
    const actor: RowActor = { iss: undefined, kind: 'person', run: undefined, sub: personMark, tenant: undefined }
    this.#add({ event: `vault.${what}`, actor, correlation_id: correlationId, what: `epoch ${epoch}` })
  }

  lockedOut ({ actor, correlationId }: Parameters<Audit['lockedOut']>[0]): void {
    this.#add({ event: 'vault.refused', actor: actorOf(actor), code: 'VAULT_LOCKED', correlation_id: correlationId })
  }

  stateLoss ({ what, kind, replica }: Parameters<Audit['stateLoss']>[0]): void {
    // Whoever can open the control socket is a person.
    const actor = what === 'accepted' ? { iss: undefined, kind: 'person', run: undefined, sub: undefined, tenant: undefined } : undefined
    this.#add({ event: `state.${what}`, actor, by: replica, what: kind })
  }

  async sync (): Promise<void> {
    try {
      await this.#chain.sync()
    } catch (error) {
      throw new StateUnavailable(`the audit cannot be written: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`)
    } finally {
      this.#metrics.waiting(this.#chain.waiting())
    }
  }

  async close (): Promise<void> {
    this.#chain.add({ event: 'audit.closed' })
    await this.#chain.close()
  }

  /** @returns its seq, or null where it had to be dropped */
  #add (fields: RowFields): number | null {
    const waiting = this.#chain.waiting()
    if (waiting >= (fields.attempt === undefined ? READ_ROWS_MAX : WRITE_ROWS_MAX)) {
      this.#metrics.lost(1)
      return null
    }
    this.#metrics.waiting(waiting + 1)
    return this.#chain.add(fields)
  }

  #corrects (event: CallEvent, name: AuditEventName): RowFields['corrects'] {
    const key = correctionKey(event)
    const refusal = name === 'action.refused' || key === null ? undefined : this.#correctable.get(key)
    if (refusal !== undefined) this.#correctable.delete(key!)
    return refusal
  }

  #remember (event: CallEvent, seq: number): void {
    const key = correctionKey(event)
    if (key === null) return
    this.#correctable.delete(key)
    this.#correctable.set(key, { correlation_id: event.correlationId, seq })
    if (this.#correctable.size > CORRECTABLE_MAX) this.#correctable.delete(this.#correctable.keys().next().value!)
  }
}

function correctionKey ({ actor, actionId }: CallEvent): string | null {
  return actor.runMark === null || actionId === null ? null : `${actor.runMark} ${actionId}`
}

export function nameOfCall (event: CallEvent): AuditEventName {
  if (event.attemptId === null) return event.outcome === 'rejected' && !event.sent && event.step !== 'record' ? 'action.refused' : 'action.called'
  // A repeat that hears of an attempt is no event of that attempt.
  if (event.duplicate) return 'action.called'
  // What could not be written down yet, or was ended by a look-up that was faster, is told as an end by whoever writes or wrote it.
  if (event.attemptState === 'settled') return event.ended ? 'execution.result' : 'action.called'
  // Refused after it was begun: the proof that nothing was sent; whoever closes the attempt may follow.
  if (event.outcome === 'rejected') return 'action.refused'
  return event.outcome === 'unknown' ? 'execution.unknown' : 'execution.pending'
}

export function nameOfAttempt (event: AttemptEventTold): AuditEventName {
  switch (event.state) {
    case 'settled': return 'execution.resolved'
    case 'escalated': return 'execution.escalated'
    case 'unknown': return 'execution.unknown'
    default: return 'execution.pending'
  }
}

function fieldsOfCall (event: CallEvent, name: AuditEventName): RowFields {
  const { actionId, attemptId, targetMark } = event
  return {
    event: name,
    action: actionId === null ? undefined : { definition: event.definition ?? undefined, effect: event.effect ?? undefined, id: actionId },
    actor: actorOf(event.actor),
    args: event.argumentsMark ?? undefined,
    asked: actionId === null ? rowText(event.asked, 100) : undefined,
    attempt: attemptId === null ? undefined : { duplicate: event.duplicate || undefined, id: attemptId, state: event.attemptState ?? undefined },
    code: textOrNone(event.code),
    correlation_id: rowText(event.correlationId),
    field: textOrNone(event.field),
    ms: rowMs(event.durationMs),
    outcome: event.outcome,
    proposal: event.proposalId === null ? undefined : { digest: undefined, id: event.proposalId, state: undefined },
    received: event.receivedMark ?? undefined,
    reason: event.reasonMark ?? undefined,
    rule: textOrNone(event.rule),
    sent: event.sent,
    source: event.source ?? undefined,
    step: event.step,
    surface: event.surface,
    target: targetMark === null ? undefined : { mark: targetMark, version: event.versionMark ?? undefined },
    truncated: event.truncated || undefined,
    upstream: upstreamOf(event.upstream),
    withheld: event.withheld ?? undefined,
  }
}

function upstreamOf (upstream: CallEvent['upstream']): RowUpstream | undefined {
  if (upstream === null) return undefined
  const { name, method, durationMs, requestMark, status } = upstream
  return { id: name, method: rowText(method), ms: rowMs(durationMs), request: requestMark, status: status ?? undefined }
}

function actorOf ({ iss, kind, runMark, subMark, tenant }: Actor): RowActor {
  return { iss: textOrNone(iss), kind, run: runMark ?? undefined, sub: subMark ?? undefined, tenant: textOrNone(tenant) }
}

const textOrNone = (text: string | null): string | undefined => text === null ? undefined : rowText(text)
