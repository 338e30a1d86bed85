// Encrypting and decrypting in a thread of its own: a passphrase takes a second of work on purpose, and calls must not wait for it.
import { Worker } from 'node:worker_threads'

export interface AgeKey {
  readonly kind: 'passphrase' | 'identity'
  readonly value: string
}

export interface OpenTask {
  readonly what: 'open'
  readonly bytes: Uint8Array
  readonly key: AgeKey
}

export interface SealTask {
  readonly what: 'seal'
  readonly text: string
  /** null: `recipients` says who can open it. */
  readonly passphrase: string | null
  readonly recipients: readonly string[]
}

export type AgeTask = OpenTask | SealTask
export type AgeDone = { readonly ok: true, readonly value: unknown } | { readonly ok: false, readonly message: string }

/** @throws Error where the key does not fit, or what it is given is damaged */
export function inAgeThread (task: OpenTask): Promise<string>
export function inAgeThread (task: SealTask): Promise<Uint8Array>
export function inAgeThread (task: AgeTask): Promise<unknown> {
  return new Promise((resolve, reject) => {
    // It is given the task, and none of the environment.
    const worker = new Worker(new URL('./age-worker.ts', import.meta.url), { workerData: task, env: {} })
    worker.once('message', (done: AgeDone) => {
      if (done.ok) resolve(done.value)
      else reject(new Error(done.message))
    })
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('the thread ended without an answer')))
  })
}
