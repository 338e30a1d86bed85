// What an operator can do to a running broker, whatever they do it through: the control socket, where whoever can open the file is the operator, and the
// people listener, where they are somebody.
import type { Identity } from '../attempts/identity.ts'
import type { AttemptRecord } from '../attempts/attempt.ts'
import { resolveByPerson } from '../attempts/resolution.ts'
import type { Action, Json } from '../catalog/catalog.ts'
import type { AboutAttempt } from '../consent/desk.ts'
import { ERRORS, Refusal } from '../errors.ts'
import { keepStop } from '../execution/kept-acts.ts'
import type { OperatorLock, ToldLock } from '../execution/operator-lock.ts'
import type { Runs } from '../execution/runs.ts'
import type { Store } from '../store/store.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'

const LISTED_MAX = 1_000

export interface OperatingServices {
  readonly store: Store
  readonly runs: Runs
  readonly identity: Identity
  readonly telemetry: Telemetry
  /** A definition that is in force or that something unsettled still refers to. */
  definition (digest: string): Action | null
  /** What a person did, for the log. */
  note (message: string, fields: { readonly attempt_id?: string, readonly reason: string }): void
}

/** Who does it. */
export interface ByOperator {
  readonly iss: string | null
  /** HMAC. */
  readonly personMark: string
  /** As other people are shown them. */
  readonly display: string
  readonly correlationId: string
}

export interface Resolve {
  readonly id: string
  readonly outcome: 'completed' | 'rejected'
  readonly code: string | null
  readonly note: string
}

export interface RunName { readonly iss: string, readonly sub: string, readonly tenant: string, readonly run: string }

export interface Operating {
  /** Unknown, pending and escalated attempts, oldest first. */
  unresolved (): Promise<readonly AttemptRecord[]>
  about (record: AttemptRecord): AboutAttempt
  /** @throws Refusal NOT_FOUND, MALFORMED_REQUEST, ALREADY_SETTLED, STILL_UNDER_WAY */
  resolve (ask: Resolve, by: ByOperator): Promise<AttemptRecord>
  /** `seen`: it has written or proposed something, as far as that is kept. */
  stopRun (run: RunName, note: string, by: ByOperator): Promise<{ readonly seen: boolean }>
}

export function createOperating (services: OperatingServices): Operating {
  const { store, runs, identity, telemetry } = services
  return {
    unresolved: () => store.unresolved(LISTED_MAX),
    about: record => ({ title: services.definition(record.definition)?.title ?? null, codes: codesOf(record, services) }),

    async resolve ({ id, outcome, code, note }, { personMark }) {
      if (code !== null) await requireCode(id, code, services)
      const resolved = await resolveByPerson({ attemptId: id, outcome, code, personMark }, { store, telemetry })
      if (resolved.kind === 'unknown_attempt') throw Refusal.of('NOT_FOUND', { message: 'There is no attempt of this id.' })
      if (resolved.kind === 'not_open') throw notOpen(resolved.record)
      services.note('an attempt was resolved by a person', { attempt_id: id, reason: note })
      return resolved.record
    },

    async stopRun ({ iss, sub, tenant, run }, note, by) {
      const owner = { iss, sub, tenant, run }
      const [tag, runKey] = [identity.tag(tenant), identity.runKey(owner)]
      const seen = await isSeen(tag, runKey, store)
      await runs.stop(tag, runKey)
      await keepStop(store, runKey, { owner, by: by.display, note, atMs: Date.now() })
      const runMark = identity.mark('run', iss, sub, tenant, run)
      telemetry.runStopped({ actor: { kind: 'person', iss: by.iss, subMark: by.personMark, runMark, tenant }, note, correlationId: by.correlationId })
      return { seen }
    },
  }
}

function notOpen ({ settlement }: AttemptRecord): Refusal {
  if (settlement === null) return Refusal.ofResolving('STILL_UNDER_WAY', 'The attempt is still under way: what becomes of it may yet be known without you.')
  const { outcome, code, evidence } = settlement
  return Refusal.ofResolving('ALREADY_SETTLED', `The attempt is settled already, as ${outcome}${code === null ? '' : ` (${code})`}${SETTLED_BY[evidence.source]}. That stays.`)
}

const SETTLED_BY = { response: ' by the answer of the upstream', lookup: ' by a look-up', person: ' by a person', none: '' }

async function isSeen (tag: string, runKey: string, store: Store): Promise<boolean> {
  if ((await store.ofRun(tag, runKey, 1)).length > 0) return true
  const proposals = [...await store.openProposals(LISTED_MAX), ...await store.endedProposals(LISTED_MAX)]
  return proposals.some(({ record }) => record.runKey === runKey)
}

export const lockLine = ({ locked, epoch, waitingFor, act, ...turned }: ToldLock | Awaited<ReturnType<OperatorLock['state']>>): { readonly [name: string]: Json } => ({
  locked, epoch, waiting_for: waitingFor,
  ...('already' in turned && { already: turned.already }),
  ...(act !== null && { locked_by: act.by, locked_at: new Date(act.atMs).toISOString(), note: act.note }),
})

/** An agent must be told a code that it can look up: one that an answer of the upstream can have, or one of the sheet. */
async function requireCode (id: string, code: string, services: OperatingServices): Promise<void> {
  const codes = codesOf(await services.store.find(id), services)
  if (!codes.includes(code)) throw Refusal.of('MALFORMED_REQUEST', { message: `The code must be one of ${codes.join(', ')}.` })
}

const codesOf = (record: AttemptRecord | null, { definition }: OperatingServices): readonly string[] =>
  [...REJECTIONS, ...(record === null ? [] : definition(record.definition)?.errors ?? []).map(error => error.code)]

const REJECTIONS = Object.entries(ERRORS).flatMap(([code, { step }]) => step === 'outcome' && code !== 'OUTCOME_UNKNOWN' ? [code] : [])
