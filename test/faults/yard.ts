// The yard: what the hostile upstream keeps. It promises nothing that it need not: a write that arrives twice is done twice, except for an order
// whose key is known, and what was just done may not be seen for a moment.
import type { JsonObject } from '../../src/catalog/catalog.ts'
import { draw } from './folder.ts'

export interface Request {
  readonly method: string
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

/** What a request wants to have done. */
export interface Write {
  readonly attempt: string | null
  readonly key: string | null
  readonly kind: 'work' | 'order' | 'change' | 'replace'
  /** The arguments that make this request. */
  readonly args: JsonObject
  /** Of an item; for work the errand. */
  readonly object: string
  /** The errand that it is for. Every errand has a name of its own, so that effects can be told apart. */
  readonly errand: string
  /** The version that it is based on. */
  readonly version: number | null
}

export interface Said {
  readonly status: number
  readonly body: JsonObject
  /** Something was done. */
  readonly effect: boolean
}

interface Work {
  readonly id: string
  readonly key: string
  readonly item: string
  readonly amount: number
  state: 'running' | 'done' | 'failed'
  readonly seenFromMs: number
}

interface Version {
  readonly version: number
  readonly text: string
  readonly sinceMs: number
}

/** How long what was done may not be seen; well below what the sheets declare. */
const LAG_MS_MAX = 400
/** Older versions than these are never shown. */
const VERSIONS_KEPT = 8

/** null: nothing that a sheet of the rig would send. */
export function readWrite (request: Request): Write | null {
  const { pathname } = new URL(request.path, 'http://yard')
  const attempt = request.headers['x-attempt'] ?? null
  const key = request.headers['idempotency-key'] ?? null
  const body = JSON.parse(request.body) as { item?: string, text?: string, base?: number } & JsonObject
  if (request.method === 'POST' && (pathname === '/v1/works' || pathname === '/v1/orders')) {
    const errand = body.item!
    return { attempt, key, kind: pathname === '/v1/works' ? 'work' : 'order', args: body, object: errand, errand, version: null }
  }
  if (!pathname.startsWith('/v1/items/')) return null
  const item = decodeURIComponent(pathname.slice('/v1/items/'.length))
  const matched = /^"(\d+)"$/.exec(request.headers['if-match'] ?? '')
  const version = matched === null ? body.base ?? null : Number(matched[1])
  const args = { item, text: body.text! }
  return { attempt, key, kind: request.method === 'PATCH' ? 'change' : 'replace', args, object: item, errand: body.text!, version }
}

export class Yard {
  readonly #works = new Map<string, Work[]>()
  readonly #items = new Map<string, Version[]>()
  readonly #lagMsMax: number
  /** What is done at its time, whether or not anybody asks; in order. */
  #planned: Array<{ readonly dueAtMs: number, readonly work: () => void }> = []
  /** Of what is done now because its time had come; null: nothing is. */
  #dueAtMs: number | null = null
  #numbered = 0

  constructor (lagMsMax = LAG_MS_MAX) {
    this.#lagMsMax = lagMsMax
  }

  /** Whoever looks later than so sees it done, however late timers are. */
  plan (afterMs: number, work: () => void): void {
    this.#planned.push({ dueAtMs: Date.now() + afterMs, work })
    this.#planned.sort((one, other) => one.dueAtMs - other.dueAtMs)
    setTimeout(() => this.#doDue(), afterMs + 1)
  }

  #doDue (): void {
    if (this.#dueAtMs !== null) return
    while (this.#planned.length > 0 && this.#planned[0]!.dueAtMs <= Date.now()) {
      const { dueAtMs, work } = this.#planned.shift()!
      this.#dueAtMs = dueAtMs
      work()
      this.#dueAtMs = null
    }
  }

  /** What was planned is done, and seen, as if timers were never late: the sheets declare by when it is. */
  #nowMs (): number {
    return this.#dueAtMs ?? Date.now()
  }

  perform (write: Write): Said {
    this.#doDue()
    if (write.kind === 'work') return { status: 201, body: { ...this.#work(write, 'done') }, effect: true }
    if (write.kind === 'order') {
      const known = this.#works.get(write.key!)?.[0]
      return { status: 201, body: shown(known ?? this.#work(write, 'done')), effect: known === undefined }
    }
    const now = this.#latest(write.object)
    if (write.kind === 'change' && write.version !== now.version) return { status: 412, body: { title: 'another version' }, effect: false }
    const next = { version: now.version + 1, text: write.args['text'] as string, sinceMs: this.#nowMs() }
    this.#items.set(write.object, [...this.#versions(write.object), next].slice(-VERSIONS_KEPT))
    return { status: 200, body: { id: write.object, version: next.version, text: next.text }, effect: true }
  }

  /** Takes a work up that ends later, by a call of `end`. */
  begin (write: Write): { readonly said: Said, readonly end: (state: 'done' | 'failed') => void } {
    const work = this.#work(write, 'running')
    return { said: { status: 202, body: shown(work), effect: false }, end: state => { work.state = state } }
  }

  worksOf (key: string): readonly JsonObject[] {
    this.#doDue()
    return (this.#works.get(key) ?? []).filter(work => work.seenFromMs <= Date.now()).map(shown)
  }

  /**
   * As it is seen: a moment ago, for some. Not for those that are set without their version being compared: a broker cannot see that what it read there
   * was old.
   */
  item (id: string): JsonObject {
    this.#doDue()
    const lagMs = draw('lag', id) < 0.5 || id.includes('-set-') ? 0 : draw('lag', id) * this.#lagMsMax
    const seen = this.#versions(id).findLast(({ sinceMs }) => sinceMs <= Date.now() - lagMs) ?? this.#versions(id)[0]!
    return { id, version: seen.version, text: seen.text }
  }

  #work (write: Write, state: Work['state']): Work {
    const key = write.key ?? ''
    const work: Work = {
      id: `work-${this.#numbered++}`,
      key,
      item: write.errand,
      amount: write.args['amount'] as number,
      state,
      seenFromMs: this.#nowMs() + draw('lag', key) * this.#lagMsMax,
    }
    const works = this.#works.get(key)
    if (works === undefined) this.#works.set(key, [work])
    else works.push(work)
    return work
  }

  #versions (id: string): readonly Version[] {
    return this.#items.get(id) ?? [{ version: 1, text: '', sinceMs: 0 }]
  }

  #latest (id: string): Version {
    return this.#versions(id).at(-1)!
  }
}

const shown = ({ id, key, item, amount, state }: Work): JsonObject => ({ id, key, item, amount, state })
