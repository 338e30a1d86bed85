// The upstream of a schedule, and the network before it. It honours no keys: a write that arrives twice has two effects. Its ledger is written when
// an effect happens, and nothing that the broker says goes into it.
import type { WireRequest } from '../../src/upstream/wire.ts'
import type { World } from './world.ts'

/** What is declared in the sheets as `settles_after`: effects are there, and seen by look-ups, so long after the write arrived. */
export const SETTLES_MS = 500

export interface Effect {
  readonly attemptId: string
  readonly atMs: number
  readonly what: string
}

export interface Raw {
  readonly status: number
  readonly body: string
  readonly type: string
  /** Cut in the middle. */
  readonly cut?: true
  /** Its end is the end of the connection. */
  readonly undelimited?: true
}

/** What comes of one write. */
export interface WriteEnd {
  /** null: the connection ends without an answer. */
  readonly raw: Raw | null
  /** From the arrival on. */
  readonly afterMs: number
  /** The answer says what became of the write, by the rules of the sheet or by the default table. */
  readonly conclusive: boolean
}

interface Work {
  readonly id: string
  readonly key: string
  readonly item: string
  readonly amount: number
  readonly attemptId: string
  /** Look-ups do not see it before. */
  readonly seenFromMs: number
  /** null: not a matter of time. */
  readonly endsAtMs: number | null
  readonly endsAs: 'done' | 'failed'
}

interface Item {
  readonly id: string
  version: number
  text: string
}

export type WriteManner =
  | 'honest' | 'slow' | 'late' | 'lost_after' | 'lost_before' | 'cut' | 'garbage' | 'undelimited' | 'no_content' | 'accepted' | 'accepted_blank'
  | 'echo' | 'conflict' | 'refused' | 'forbidden' | 'busy' | 'fault_after' | 'fault_before' | 'moved' | 'apply_late' | 'job' | 'job_failing'
export type ReadManner = 'honest' | 'error' | 'silent' | 'lost' | 'unauthorised' | 'gateway' | 'page' | 'blank' | 'cut' | 'other_arguments' | 'hidden'

export class SimUpstream {
  readonly effects: Effect[] = []
  readonly works: Work[] = []
  readonly items = new Map<string, Item>()
  /** What is done with the next writes and reads; in turn, then honestly. */
  writes: () => WriteManner = () => 'honest'
  reads: () => ReadManner = () => 'honest'
  readonly #world: World
  #serial = 0

  constructor (world: World) {
    this.#world = world
  }

  item (id: string): Item {
    const item = this.items.get(id) ?? { id, version: 1, text: '' }
    this.items.set(id, item)
    return item
  }

  /** A write has arrived. */
  write (request: WireRequest, attemptId: string): WriteEnd & { readonly manner: WriteManner } {
    const manner = this.writes()
    return { manner, ...this.#write(request, attemptId, manner) }
  }

  #write (request: WireRequest, attemptId: string, manner: WriteManner): WriteEnd {
    const { chance } = this.#world
    const apply = (lateMs = 0): Raw => this.#apply(request, attemptId, lateMs, 'done', null)
    const end = (raw: Raw | null, conclusive: boolean, afterMs = chance.between(1, 30)): WriteEnd => ({ raw, conclusive, afterMs })
    const isTracked = request.headers['idempotency-key'] !== undefined || request.headers['x-note-key'] !== undefined
    switch (manner) {
      case 'honest': return end(apply(), true)
      case 'slow': return end(apply(), true, chance.between(300, 900))
      case 'late': return end(apply(), true, chance.between(900, 30_000))
      case 'lost_after': apply(); return end(null, false)
      case 'lost_before': return end(null, false)
      case 'cut': return end({ ...apply(), cut: true }, false)
      case 'garbage': return end({ ...apply(), body: '{"id": "w', type: chance.pick(['application/json', 'text/html']) }, false)
      case 'undelimited': return end({ ...apply(), body: '{"id": "w1", "key"', undelimited: true }, false)
      case 'no_content': apply(); return end({ status: 205, body: 'x', type: 'text/plain' }, false)
      case 'accepted': return end({ ...apply(), status: 202 }, false)
      case 'job': return end(this.#apply(request, attemptId, 0, 'done', chance.between(50, 8_000)), isTracked)
      case 'job_failing': return end(this.#apply(request, attemptId, 0, 'failed', chance.between(50, 8_000)), isTracked)
      case 'accepted_blank':
        this.#apply(request, attemptId, 0, 'done', chance.between(50, 3_000))
        return end({ status: 202, body: '', type: '' }, false)
      case 'echo':
        // Where nothing of the write can be found again, an echo cannot be told from a refusal: no upstream of such a sheet may do it.
        if (!isTracked) return end(apply(), true)
        apply(chance.pick([0, chance.between(1, SETTLES_MS - 100)]))
        return end(problem(chance.pick([404, 409, 410, 412])), false)
      case 'conflict': return end(problem(409), !isTracked)
      case 'refused': return end(problem(chance.pick([400, 405, 413, 415, 422])), true)
      case 'forbidden': return end(problem(chance.pick([401, 403])), true)
      case 'busy': return end(problem(chance.pick(request.headers['idempotency-key'] === undefined ? [425, 429] : [425, 429, 503])), true)
      case 'fault_after': apply(); return end(problem(chance.pick([408, 500, 502, 504, 599]), true), false)
      case 'fault_before': return end(problem(chance.pick([408, 500, 502, 504]), true), false)
      case 'moved': if (chance.hit(0.5)) apply(); return end({ ...problem(chance.pick([301, 303, 307])) }, false)
      case 'apply_late': apply(chance.between(1, SETTLES_MS - 20)); return end(chance.hit(0.5) ? null : problem(500, true), false)
    }
  }

  /** @returns what an honest upstream answers */
  #apply (request: WireRequest, attemptId: string, lateMs: number, endsAs: 'done' | 'failed', endsInMs: number | null): Raw {
    const { path, headers } = request
    const body = JSON.parse(request.body!.toString()) as { item?: string, amount?: number, text?: string }
    const key = headers['idempotency-key'] ?? headers['x-note-key']
    if (key === undefined) return this.#applyItem(path.split('/').at(-1)!, headers['if-match'] ?? null, body.text!, attemptId, lateMs)
    const { nowMs, chance } = this.#world
    const [item, amount] = [body.item ?? body.text!, body.amount ?? 0]
    const seenFromMs = nowMs + lateMs + chance.pick([0, chance.between(0, SETTLES_MS - 10 - lateMs)])
    const endsAtMs = endsInMs === null ? null : nowMs + endsInMs
    const work: Work = { id: `w${++this.#serial}`, key, item, amount, attemptId, seenFromMs, endsAtMs, endsAs }
    this.#world.in(lateMs, () => {
      this.works.push(work)
      if (endsAtMs === null) this.#effect(attemptId, `${item} ${amount}`)
    })
    if (endsAtMs !== null && endsAs === 'done') this.#world.at(endsAtMs, () => this.#effect(attemptId, `${item} ${amount}`))
    return json(endsAtMs === null ? 201 : 202, this.#shown(work))
  }

  #applyItem (id: string, ifMatch: string | null, text: string, attemptId: string, lateMs: number): Raw {
    const item = this.item(id)
    if (ifMatch !== null && ifMatch !== `"${item.version}"`) return problem(412)
    const change = (): void => {
      if (ifMatch !== null && ifMatch !== `"${item.version}"`) return
      item.version++
      item.text = text
      this.#effect(attemptId, `${id} ${text}`)
    }
    if (lateMs > 0) this.#world.in(lateMs, change)
    else change()
    return json(200, { id, version: item.version, text })
  }

  #effect (attemptId: string, what: string): void {
    this.#world.tell('upstream: effect of', attemptId, what)
    this.effects.push({ attemptId, atMs: this.#world.nowMs, what })
  }

  #shown (work: Work): object {
    const { id, key, item, amount, endsAtMs, endsAs } = work
    return { id, key, item, amount, state: endsAtMs !== null && this.#world.nowMs < endsAtMs ? 'running' : endsAs }
  }

  /** A read has arrived. null: the connection ends without an answer; `silent`: nothing comes. */
  read (request: WireRequest): { readonly manner: ReadManner, readonly raw: Raw | null | 'silent' } {
    const manner = this.reads()
    return { manner, raw: this.#read(request, manner) }
  }

  #read (request: WireRequest, manner: ReadManner): Raw | null | 'silent' {
    const { chance } = this.#world
    const isItem = request.path.includes('/items/')
    const honest = (): Raw => json(200, isItem ? this.item(request.path.split('/').at(-1)!) : { items: this.#found(request) })
    switch (manner) {
      case 'honest': return honest()
      case 'error': return problem(chance.pick([408, 429, 500, 502, 503, 504]))
      case 'silent': return 'silent'
      case 'lost': return null
      case 'unauthorised': return problem(401)
      case 'gateway': return { status: 404, body: '<h1>Not found</h1>', type: 'text/html' }
      case 'page': return { status: 200, body: '<h1>Works</h1>', type: 'text/html' }
      case 'blank': return json(200, {})
      case 'cut': return { ...honest(), cut: true }
      case 'other_arguments': {
        if (request.path.includes('/items/')) return honest()
        const key = new URL(request.path, 'http://works').searchParams.get('key')
        return json(200, { items: [{ id: 'w0', key, item: 'elsewhere', amount: 999, state: 'done' }] })
      }
      // Only notes may hide for longer than is declared: of them nothing is.
      case 'hidden': return request.path.includes('/notes') ? json(200, { items: [] }) : honest()
    }
  }

  #found (request: WireRequest): readonly object[] {
    const key = new URL(request.path, 'http://works').searchParams.get('key')
    return this.works.filter(work => work.key === key && work.seenFromMs <= this.#world.nowMs).map(work => this.#shown(work))
  }
}

const json = (status: number, body: object): Raw => ({ status, body: JSON.stringify(body), type: 'application/json' })
const problem = (status: number, processed = false): Raw => json(status, { title: 'No', processed })
