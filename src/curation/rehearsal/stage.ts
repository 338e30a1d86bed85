// What a rehearsal plays on: a whole broker, its real listeners and steps, in front of the recording upstream. The commands open it, since they
// alone may start a broker; here it is only a port.
import type { Catalog, Json, JsonObject } from '../../catalog/catalog.ts'
import type { Envelope } from '../../execution/envelope.ts'
import type { Recorder } from './recorder.ts'

export interface RehearsedCaller {
  readonly roles: readonly string[]
  readonly tenant: string
  /** null: the token names no run. */
  readonly run: string | null
  readonly claims: JsonObject
}

export interface RehearsedCall {
  /** `get_customer.v1` */
  readonly action: string
  /** The text of JSON that stands under "arguments". */
  readonly text: string
  readonly key: string | null
  readonly caller: RehearsedCaller
}

export interface Answered {
  readonly status: number
  readonly envelope: Envelope
}

/** People who can be asked, played. */
export interface StandIns {
  /** By as many as it takes. */
  approve (id: string): Promise<void>
  /** By all of them but one. */
  approvePartly (id: string): Promise<void>
  deny (id: string): Promise<void>
  /** One of them takes the approval or the grant back. */
  revoke (id: string): Promise<void>
  /** One of those who approved it has no role any more. */
  loseRole (id: string): Promise<void>
  /** Time passes until the proposal or the approval has ended by itself. */
  outlast (id: string): Promise<void>
}

export interface Stage {
  /** As it is served. */
  readonly catalog: Catalog
  readonly upstream: Recorder
  /** The secrets that the upstream is sent, for answers that echo them. */
  readonly secrets: { readonly read: string, readonly write: string }
  call (call: RehearsedCall): Promise<Answered>
  /** The attempt as it stands, once it is settled or the time is over. */
  attempt (id: string, caller: RehearsedCaller, waitMs: number): Promise<Answered>
  /** Carries out what was approved. */
  commit (proposalId: string, caller: RehearsedCaller): Promise<Answered>
  /** @throws Error on a stage where nobody can be asked */
  people (): StandIns
  close (): Promise<void>
}

/** Of actions that need a person: `given`: served as if that person had said yes; `nobody`: nobody can be asked; `people`: stand-ins can. */
export type Consenting = 'given' | 'nobody' | 'people'

export type OpenStage = (consenting: Consenting) => Promise<Stage>

/** Whether an answer proves that its request dispatched nothing: a status outside 2xx with the envelope of Aval. */
export const isRefusal = (answered: Answered): boolean => answered.status < 200 || answered.status > 299

export const jsonText = (value: Json): string => JSON.stringify(value)
