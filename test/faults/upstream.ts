// Starts the hostile upstream (upstream-process.ts) and speaks to it.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export interface UpstreamOptions {
  /** The folder of the run: `ledger.jsonl` is written there. */
  readonly folder: string
  readonly seed: string
  /** By tenant: whose credential is whose. */
  readonly credentials: { readonly [tenant: string]: string }
  /** Default: any free one. */
  readonly port?: number
  /** Of all writes, from 0 to 1; default 0.3. */
  readonly faultShare?: number
  /** Names of modes (replies.ts); default all. */
  readonly only?: readonly string[]
  /** Of look-ups while the status is `mixed`; default 0.15. */
  readonly statusFaultShare?: number
  /** Names of what look-ups meet (status.ts); default all. */
  readonly statusOnly?: readonly string[]
  /** HTTP/2 over TLS beside HTTP/1.1, to whoever asks for it. */
  readonly http2?: boolean
  /** How long what was done may not be seen; default 400. */
  readonly lagMs?: number
}

/** `mixed`: a share of the look-ups meets one of the other two. */
export type StatusOrder = 'honest' | 'mixed' | 'down' | 'lying'

export type Orders =
  | { readonly type: 'calm', readonly calm: boolean }
  | { readonly type: 'status', readonly status: StatusOrder }
  | { readonly type: 'fired' }
  | { readonly type: 'stop' }

export type Reported =
  | { readonly type: 'listening', readonly port: number }
  | { readonly type: 'fired', readonly fired: { readonly [name: string]: number }, readonly lookups: number }

export interface Upstream {
  readonly port: number
  readonly pid: number
  /** `<folder>/ledger.jsonl` */
  readonly ledger: string
  /** true: everything is honest from now on. */
  calm (calm: boolean): void
  /** How look-ups are answered from now on. */
  status (status: StatusOrder): void
  /** Faults so far by name, `upstream:reset, done` or `status:a page`, for fired.json. */
  fired (): Promise<{ readonly [name: string]: number }>
  stop (): Promise<void>
}

export async function startUpstream (options: UpstreamOptions): Promise<Upstream> {
  const child = fork(join(import.meta.dirname, 'upstream-process.ts'), [JSON.stringify(options)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const { port } = await reported(child, 'listening')
  const order = (orders: Orders): void => { child.send(orders) }
  return {
    port,
    pid: child.pid!,
    ledger: join(options.folder, 'ledger.jsonl'),
    calm: calm => order({ type: 'calm', calm }),
    status: status => order({ type: 'status', status }),
    async fired () {
      const told = reported(child, 'fired')
      order({ type: 'fired' })
      return (await told).fired
    },
    async stop () {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      order({ type: 'stop' })
      await ended
    },
  }
}

async function reported<T extends Reported['type']> (child: ChildProcess, type: T): Promise<Extract<Reported, { type: T }>> {
  return new Promise((resolve, reject) => {
    const ended = (): void => { reject(new Error('the upstream ended')) }
    const hear = (message: Reported): void => {
      if (message.type !== type) return
      child.off('message', hear)
      child.off('exit', ended)
      resolve(message as Extract<Reported, { type: T }>)
    }
    child.on('message', hear)
    child.once('exit', ended)
  })
}
