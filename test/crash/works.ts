// The upstream of the crash tests: it keeps no promise about repeats, so that a write that is sent twice has two effects. What really happened stands
// in `effects`, written before a byte of an answer is; each test says what becomes of the answers.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Socket } from 'node:net'
import { whole } from '../support/hostile-modes.ts'
import { startHostileUpstream, type LedgerEntry } from '../support/hostile-upstream.ts'
import { makeSite, type Site } from '../support/broker.ts'
import type { Environment } from '../../src/config.ts'

export interface Effect {
  /** The Idempotency-Key that it came with; `item/version` for a change of an item. */
  readonly key: string
  readonly item: string
  readonly amount: number
  readonly id: string
}

/** One request, before anything was made of it. */
export interface Asked {
  readonly request: LedgerEntry
  readonly socket: Socket
  /** The honest thing: the effect (of a write), and the answer to it. */
  honest (): void
  /** The effect alone. */
  apply (): void
  answer (status: number, body: unknown, headers?: readonly string[]): void
}

export type Script = (asked: Asked) => void

export interface Works {
  readonly port: number
  /** Without it nothing is done and nothing is counted: ports are given again, and a broker of another test may still ask where this one's works are now. */
  readonly key: string
  readonly effects: readonly Effect[]
  /** Writes that arrived, applied or not. */
  readonly writes: readonly LedgerEntry[]
  readonly lookups: readonly LedgerEntry[]
  /** What is done with writes and with GETs from now on. */
  onWrite: Script
  onRead: Script
  stop (): Promise<void>
}

interface Item {
  readonly id: string
  readonly version: number
  readonly text: string
}

export async function startWorks (): Promise<Works> {
  const upstream = await startHostileUpstream()
  const worksKey = randomBytes(16).toString('hex')
  const isOurs = ({ headers }: LedgerEntry): boolean => headers['x-works-key'] === worksKey
  const effects: Effect[] = []
  const items = new Map<string, Item>()
  const itemOf = (id: string): Item => items.get(id) ?? { id, version: 1, text: '' }
  const works: Works = {
    port: upstream.port,
    key: worksKey,
    effects,
    get writes () { return upstream.ledger.filter(entry => entry.method !== 'GET' && isOurs(entry)) },
    get lookups () { return upstream.ledger.filter(entry => entry.method === 'GET' && isOurs(entry)) },
    onWrite: asked => asked.honest(),
    onRead: asked => asked.honest(),
    stop: () => upstream.stop(),
  }

  function perform (request: LedgerEntry): readonly [status: number, body: unknown] {
    const url = new URL(request.path, 'http://works')
    if (url.pathname === '/v1/works') return request.method === 'GET' ? [200, { items: found(url.searchParams.get('key')) }] : [201, work(request)]
    const item = itemOf(decodeURIComponent(url.pathname.slice('/v1/items/'.length)))
    if (request.method === 'GET') return [200, item]
    if (request.method === 'PATCH' && request.headers['if-match'] !== `"${item.version}"`) return [412, { title: 'another version' }]
    const { text } = JSON.parse(request.body) as { readonly text: string }
    const changed = { id: item.id, version: item.version + 1, text }
    items.set(item.id, changed)
    effects.push({ key: `${item.id}/${item.version}`, item: item.id, amount: 1, id: item.id })
    return [200, changed]
  }

  function work (request: LedgerEntry): object {
    const { item, amount } = JSON.parse(request.body) as { readonly item: string, readonly amount: number }
    const effect: Effect = { key: request.headers['idempotency-key']!, item, amount, id: `work_${effects.length + 1}` }
    effects.push(effect)
    return { ...effect, state: 'done' }
  }

  const found = (key: string | null): readonly object[] => effects.filter(effect => effect.key === key).map(effect => ({ ...effect, state: 'done' }))

  upstream.mode('v1', (socket, request) => {
    const answer: Asked['answer'] = (status, body, headers = []) => {
      if (!socket.destroyed) socket.write(whole(status, ['Content-Type: application/json', ...headers], JSON.stringify(body)))
    }
    const asked: Asked = { request, socket, answer, apply: () => { perform(request) }, honest: () => answer(...perform(request)) }
    if (!isOurs(request)) answer(401, { title: 'send the key of these works' })
    else if (request.method === 'GET') works.onRead(asked)
    else works.onWrite(asked)
  })
  return works
}

const HERE = import.meta.dirname

const SHEETS = ['upstream', 'do_work.v1', 'do_slow_work.v1', 'change_item.v1', 'replace_item.v1', 'get_item.v1']

/** What a file holds instead of its text; null: there is no such file. */
export type Edit = (path: string, text: string) => string | null

/** The sheets and the document beside this file, for works on this port. */
export function worksFiles (port: number, edit: Edit = (_path, text) => text): { readonly [path: string]: string } {
  const files: { [path: string]: string } = {}
  for (const path of ['actions/policy.yaml', 'openapi/works.yaml', ...SHEETS.map(name => `actions/works/${name}.yaml`)]) {
    const text = edit(path, readFileSync(join(HERE, path), 'utf8').replace('127.0.0.1:1/', `127.0.0.1:${port}/`))
    if (text !== null) files[path] = text
  }
  return files
}

export function makeWorksSite (works: Pick<Works, 'port' | 'key'>, env: Environment = {}): Promise<Site> {
  return makeSite({ files: worksFiles(works.port), env: { WORKS_KEY: works.key, ...env } })
}

/** What the tokens of these tests carry. */
export const WORKER = { roles: ['worker'], claims: {} } as const
