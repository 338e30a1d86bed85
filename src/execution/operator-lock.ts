// What operators can do with the lock, as one thing for the control socket and the people listener: done, and told. And what each replica does then.
import type { OperatorAct } from '../consent/desk.ts'
import type { ConsentEvents } from '../consent/events.ts'
import { Refusal } from '../errors.ts'
import type { ConsentStore } from '../store/consent-store.ts'
import type { LockState } from '../store/lock-store.ts'
import type { BrokerTelemetry } from '../telemetry/record.ts'
import { keepLock, lockAct } from './kept-acts.ts'
import type { LockControl, TurnedLock } from './lock.ts'

/** Who does it, and why in their words. */
export interface ByPerson {
  readonly personMark: string
  /** As other people are shown them. */
  readonly display: string
  readonly correlationId: string
  readonly note: string
}

/** What opens the file of the vault. */
export interface VaultKey {
  readonly kind: 'passphrase' | 'identity'
  readonly value: string
}

/** The vault of this replica. */
export interface VaultDoor {
  isOpen (): boolean
  /** null: with its own key, where it has one. @throws VaultFault */
  open (key: VaultKey | null): Promise<void>
  close (): void
}

/** `act`: who locked what is locked, as far as that is kept. */
export interface ToldLock extends TurnedLock { readonly act: OperatorAct | null }

export interface OperatorLock {
  /** @throws StateUnavailable: it may be locked all the same */
  lock (by: ByPerson): Promise<ToldLock>
  /**
   * The vault is opened first: where that fails everything stays locked.
   * @param key of a person, for the vault of this replica; without it its own does, where it has one
   * @throws StateUnavailable, Refusal CREDENTIAL_UNAVAILABLE where the vault cannot be opened
   */
  unlock (by: ByPerson, key?: VaultKey | null): Promise<ToldLock>
  /** `none`: there is no vault. `closed`: it waits for a person. */
  vaultState (): 'none' | 'open' | 'closed'
  /** @throws StateUnavailable */
  state (): Promise<Omit<ToldLock, 'already'>>
}

export interface OperatorLockPorts {
  readonly lock: LockControl
  readonly store: Pick<ConsentStore, 'keepSession' | 'session'>
  readonly telemetry: Pick<BrokerTelemetry, 'vault'>
  readonly events: ConsentEvents
  /** null: there is none. */
  readonly vault: VaultDoor | null
}

export function createOperatorLock ({ lock, store, telemetry, events, vault }: OperatorLockPorts): OperatorLock {
  const withAct = async <Locked extends LockState>(state: Locked): Promise<Locked & Pick<ToldLock, 'act'>> =>
    ({ ...state, act: state.locked ? await lockAct(store, state.epoch) : null })
  const told = async (what: 'locked' | 'unlocked', turned: TurnedLock, { display, ...by }: ByPerson): Promise<ToldLock> => {
    // Somebody else may have been faster.
    if (turned.already || turned.locked !== (what === 'locked')) return withAct(turned)
    const { epoch, waitingFor } = turned
    const atMs = Date.now()
    telemetry.vault({ what, epoch, waitingFor, ...by })
    events.tell({ type: what, epoch, atMs })
    if (what === 'locked') await keepLock(store, epoch, { by: display, note: by.note, atMs })
    return withAct(turned)
  }
  return {
    lock: async by => told('locked', await lock.lock(), by),
    async unlock (by, key = null) {
      await vault?.open(key).catch(error => { throw Refusal.of('CREDENTIAL_UNAVAILABLE', { message: error instanceof Error ? error.message : String(error) }) })
      try {
        return await told('unlocked', await lock.unlock(), by)
      } finally {
        if (lock.isLocked()) vault?.close()
      }
    },
    vaultState: () => vault === null ? 'none' : vault.isOpen() ? 'open' : 'closed',
    state: async () => withAct(await lock.read()),
  }
}

export interface Obeying {
  readonly credentials: { close (): void, open (): Promise<void> }
  readonly connections: { rest (): void }
  told (state: LockState): void
  fault (error: unknown): void
}

/** What this replica does when it hears of a lock, wherever it was made. */
export function obeyLock (lock: LockControl, { credentials, connections, told, fault }: Obeying): void {
  lock.onChange(state => {
    if (state.locked) {
      credentials.close()
      connections.rest()
    } else {
      credentials.open().catch(fault)
    }
    told(state)
  })
}
