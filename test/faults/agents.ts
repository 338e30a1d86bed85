// Starts the agents (agents-process.ts) and speaks to them.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export interface AgentsOptions {
  /** The folder of the run, made by `makeSite`: `history-<n>.jsonl` is written there. */
  readonly folder: string
  readonly seed: string
  /** The agents listener of each replica, `http://127.0.0.1:PORT`. */
  readonly replicas: readonly string[]
  readonly tenants: readonly string[]
  /** Stories under way at the same time; default 64. */
  readonly atOnce?: number
  /** Stories begun in a second, at most; default: as many as end. */
  readonly rate?: number
  /** Names of stories (stories.ts) and of actions; default: all, in their shares. */
  readonly stories?: readonly string[]
  readonly actions?: readonly string[]
  /** There are people who decide: what needs their yes is asked for as well. */
  readonly people?: boolean
  /** For several processes in one folder; default 0. */
  readonly number?: number
  /** How long an errand is pursued; default 40 s. */
  readonly patienceMs?: number
}

export interface AgentCounts {
  readonly asks: number
  readonly answers: number
  readonly lost: number
  readonly errands: number
  /** Of which the agent heard how they ended. */
  readonly ended: number
}

export type AgentOrders =
  /** Replicas that listen elsewhere now. */
  | { readonly type: 'replicas', readonly replicas: readonly string[] }
  | { readonly type: 'counts' }
  /** Begin nothing more; end once everything begun has ended. */
  | { readonly type: 'stop' }

export type AgentReport = { readonly type: 'ready' | 'counts' | 'stopped', readonly counts: AgentCounts }

export interface Agents {
  readonly pid: number
  replicas (replicas: readonly string[]): void
  counts (): Promise<AgentCounts>
  /** Begins nothing more, and resolves once every errand has ended or was given up. */
  stop (): Promise<AgentCounts>
}

export async function startAgents (options: AgentsOptions): Promise<Agents> {
  const child = fork(join(import.meta.dirname, 'agents-process.ts'), [JSON.stringify(options)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  await reported(child, 'ready')
  const order = (orders: AgentOrders): void => { child.send(orders) }
  return {
    pid: child.pid!,
    replicas: replicas => order({ type: 'replicas', replicas }),
    counts () {
      const told = reported(child, 'counts')
      order({ type: 'counts' })
      return told
    },
    async stop () {
      const exited = once(child, 'exit')
      const told = reported(child, 'stopped')
      order({ type: 'stop' })
      const counts = await told
      await exited
      return counts
    },
  }
}

async function reported (child: ChildProcess, type: AgentReport['type']): Promise<AgentCounts> {
  return new Promise((resolve, reject) => {
    const ended = (): void => { reject(new Error('the agents ended')) }
    const hear = (message: AgentReport): void => {
      if (message.type !== type) return
      child.off('message', hear)
      child.off('exit', ended)
      resolve(message.counts)
    }
    child.on('message', hear)
    child.once('exit', ended)
  })
}
