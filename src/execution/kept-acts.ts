// Who locked the vault and who stopped a run, when and why, for operators to read and for nobody else. Nothing rests on it: where it could not be kept, what
// was done is done all the same. It lies in the store beside the sessions of people, under names that no session can have.
import { sha256Hex, type RunOwner } from '../attempts/identity.ts'
import type { OperatorAct } from '../consent/desk.ts'
import type { ConsentStore } from '../store/consent-store.ts'

type Kept = Pick<ConsentStore, 'keepSession' | 'session'>

const LOCK_KEPT_MS = 365 * 24 * 3_600_000
/** For as long as the store lists a stopped run. */
const RUN_KEPT_MS = 48 * 3_600_000

export interface StoppedRun extends OperatorAct { readonly owner: RunOwner }

const lockName = (epoch: number): string => sha256Hex(`aval/acts/lock\0${epoch}`)
const runName = (runKey: string): string => sha256Hex(`aval/acts/run\0${runKey}`)

/** @throws nothing */
export const keepLock = (store: Kept, epoch: number, act: OperatorAct): Promise<void> => keep(store, lockName(epoch), act, LOCK_KEPT_MS)
/** @throws nothing */
export const keepStop = (store: Kept, runKey: string, act: StoppedRun): Promise<void> => keep(store, runName(runKey), act, RUN_KEPT_MS)

/** null: nothing is known of it. @throws StateUnavailable */
export const lockAct = (store: Kept, epoch: number): Promise<OperatorAct | null> => read<OperatorAct>(store, lockName(epoch))
/** null: nothing is known of it, as where its own agent stopped it. @throws StateUnavailable */
export const stopAct = (store: Kept, runKey: string): Promise<StoppedRun | null> => read<StoppedRun>(store, runName(runKey))

async function keep (store: Kept, name: string, act: OperatorAct, keptMs: number): Promise<void> {
  await store.keepSession(name, JSON.stringify(act), keptMs).catch(() => undefined)
}

async function read<Act> (store: Kept, name: string): Promise<Act | null> {
  const text = await store.session(name)
  return text === null ? null : JSON.parse(text) as Act
}
