// The people of a run: they sign in with an identity provider of the rig's own, through the people listener of whichever replica answers, and decide what
// waits. Most say yes; some say no, say it twice or all at once, come back when it is over, or take back what they said. What somebody is about to say
// stands in `decisions-0.jsonl` before it is said.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JsonObject } from '../../src/catalog/catalog.ts'
import { readBinding } from '../../src/consent/binding.ts'
import type { ProposalRecord, ProposalState } from '../../src/consent/proposal.ts'
import type { Environment } from '../../src/config.ts'
import { startIdp, type Idp } from '../people/idp.ts'
import { argsHash, draw, type Lost, type Says, type Taken } from './folder.ts'
import { LineFile } from './line-file.ts'

const ORIGIN = 'http://127.0.0.1:1'
const NAMES = ['ann', 'bob'] as const
const ROUND_MS = 1_000
const ANSWER_MS_MAX = 8_000
/** Who lets others in must have signed in within five minutes. */
const SIGNED_IN_MS = 150_000
const TRIES = 5

/** Where people sign in. */
export interface Desk {
  /** For each broker, beside AVAL_PEOPLE. */
  readonly env: Environment
  readonly idp: Idp
  stop (): Promise<void>
}

export async function openDesk (): Promise<Desk> {
  let stop = async (): Promise<void> => {}
  const idp = await startIdp({ after: end => { stop = async () => { await (end as () => Promise<void>)() } } })
  return {
    env: {
      AVAL_PEOPLE_ISSUER: idp.issuer, AVAL_PEOPLE_CLIENT: 'aval', AVAL_PEOPLE_ORIGIN: ORIGIN, AVAL_PEOPLE_ROLES: 'claim=groups,leads=foreman',
    },
    idp,
    stop: () => stop(),
  }
}

export interface PeopleOptions {
  /** The folder of the run. */
  readonly folder: string
  readonly seed: string
  readonly idp: Idp
  /** The people listener of each replica, as they listen now. */
  readonly urls: () => readonly string[]
}

export interface People {
  /** Decisions that were said, by what was said. */
  counts (): { readonly [says: string]: number }
  stop (): Promise<void>
}

export function startPeople (options: PeopleOptions): People {
  const lines = new LineFile(join(options.folder, 'decisions-0.jsonl'))
  const counts: Record<string, number> = {}
  let [numbered, stopping] = [0, false]
  /** The identity provider is told who comes next. */
  let door: Promise<void> = Promise.resolve()
  const room: Room = {
    ...options,
    lines,
    number: says => {
      counts[says] = (counts[says] ?? 0) + 1
      return numbered++
    },
    isOver: () => stopping,
    inTurn: enter => door = door.then(enter, enter),
  }
  const working = NAMES.map(name => new Approver(name, room).work())
  return {
    counts: () => counts,
    async stop () {
      stopping = true
      await Promise.all(working)
      lines.close()
    },
  }
}

interface Room extends PeopleOptions {
  readonly lines: LineFile
  number (says: string): number
  isOver (): boolean
  inTurn (enter: () => Promise<void>): Promise<void>
}

interface Form { readonly click: string, readonly token: string }

interface Seen {
  readonly record: ProposalRecord
  readonly state: ProposalState
  readonly mayNot: string | null
  readonly forms: { readonly decision: Form, readonly revoke: Form }
}

interface Answer {
  readonly status: number
  readonly body: JsonObject
}

class Approver {
  readonly #name: string
  readonly #room: Room
  readonly #cookies = new Map<string, string>()
  readonly #met = new Set<string>()
  readonly #busy = new Set<Promise<void>>()
  #signedInAtMs = -Infinity
  #draws = 0

  constructor (name: string, room: Room) {
    this.#name = name
    this.#room = room
  }

  async work (): Promise<void> {
    while (!this.#room.isOver()) {
      const page = await this.#read('/approvals')
      const items = page?.body['items'] as readonly Seen[] | undefined
      for (const { record: { id } } of items ?? []) {
        if (this.#met.has(id)) continue
        this.#met.add(id)
        const meeting = this.#meet(id).catch(() => undefined).finally(() => { this.#busy.delete(meeting) })
        this.#busy.add(meeting)
      }
      await sleep(ROUND_MS)
    }
    await Promise.all(this.#busy)
  }

  /** What becomes of it depends on its errand alone; when that is, on everything else. */
  async #meet (id: string): Promise<void> {
    const seen = (await this.#read(`/approvals/${id}`))?.body as Seen | undefined
    if (seen?.record === undefined) return
    const { seed } = this.#room
    const errand = String(readBinding(seen.record.binding).args['text'] ?? readBinding(seen.record.binding).args['item'])
    const luck = (what: string): number => draw(seed, 'people', what, errand, what === 'whose' ? '' : this.#name)
    if (seen.record.requirement.approve === 1 && luck('whose') < 0.8 && NAMES[Math.floor(luck('whose') * 10) % 2] !== this.#name) return
    if (luck('late') < 0.08) await sleep(1_000 + luck('late') / 0.08 * 3_000)
    const says = luck('no') < 0.1 ? 'deny' : 'approve'
    const answer = await this.#say(says, seen, luck('twice') < 0.15)
    if (answer?.state !== 'approved' || luck('back') > 0.05) return
    await sleep(luck('back') / 0.05 * 300)
    await this.#say('revoke', seen, false)
  }

  /** Asked again with the same click where no answer came. */
  async #say (says: Says['says'], seen: Seen, twice: boolean): Promise<Taken | null> {
    const [one] = await Promise.all(Array.from({ length: twice ? 2 : 1 }, async () => {
      for (let tries = 0; tries < TRIES && !this.#room.isOver(); tries++) {
        const answer = await this.#sayOnce(says, seen)
        if (answer.kind === 'taken' && answer.status < 500 && answer.status !== 401) return answer
        if (answer.kind === 'taken' && answer.status === 401) await this.#signIn()
        await sleep(200)
      }
      return null
    }))
    return one ?? null
  }

  async #sayOnce (says: Says['says'], { record, forms }: Seen): Promise<Taken | Lost> {
    const { lines } = this.#room
    const n = this.#room.number(says)
    const { args, agent } = readBinding(record.binding)
    const said: Says = {
      kind: 'says', n, t: Date.now(), by: this.#name, says, proposal: record.id, action: record.action, tenant: record.owner.tenant, run: agent.run,
      args: argsHash(args), uses: record.grant?.usesMax ?? null,
    }
    await new Promise<void>(resolve => { lines.write(said, resolve) })
    const decision = {
      ...forms.decision, digest: record.digest, decision: says,
      ...(says === 'deny' ? { reason_code: 'not_now', visibility: 'agent' } : record.requirement.confirm === 'checkbox' ? { confirmed: 'yes' } : {}),
    }
    const answer = says === 'revoke'
      ? await this.#send('POST', `/approvals/${record.id}/revoke`, forms.revoke)
      : await this.#send('POST', `/approvals/${record.id}/decision`, decision)
    const t = Date.now()
    const state = answer === null ? null : (answer.body['state'] as ProposalState | undefined) ?? null
    const line: Taken | Lost = answer === null
      ? { kind: 'lost', n, t, why: 'no answer' }
      : { kind: 'taken', n, t, status: answer.status, state, taken: answer.status === 200 && (says !== 'revoke' || state === 'revoked') }
    lines.write(line)
    return line
  }

  /** Whoever is not signed in, or has been for too long, signs in first. */
  async #read (path: string): Promise<Answer | null> {
    for (let tries = 0; tries < TRIES && !this.#room.isOver(); tries++) {
      if (performance.now() - this.#signedInAtMs > SIGNED_IN_MS) await this.#signIn()
      const answer = await this.#send('GET', path)
      if (answer?.status === 200) return answer
      if (answer?.status === 404) return null
      if (answer?.status === 401) this.#signedInAtMs = -Infinity
      await sleep(150)
    }
    return null
  }

  #signIn (): Promise<void> {
    return this.#room.inTurn(async () => {
      if (performance.now() - this.#signedInAtMs < 1_000) return
      const { idp } = this.#room
      idp.who = { sub: this.#name, name: this.#name, groups: ['leads'] }
      const begun = await this.#send('GET', '/sign-in')
      if (begun?.status !== 303) return
      const back = await fetch(String(begun.body['location']), { redirect: 'manual' })
      const callback = new URL(back.headers.get('location')!)
      const ended = await this.#send('GET', `${callback.pathname}${callback.search}`)
      if (ended?.status === 303) this.#signedInAtMs = performance.now()
    }).catch(() => undefined)
  }

  /** null: no answer came. */
  async #send (method: 'GET' | 'POST', path: string, fields?: object): Promise<Answer | null> {
    const urls = this.#room.urls()
    const url = urls[Math.floor(draw(this.#room.seed, this.#name, this.#draws++) * urls.length)]!
    try {
      const answer = await fetch(`${url}${path}`, {
        method,
        redirect: 'manual',
        headers: {
          accept: 'application/json', cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; '),
          ...(method === 'GET' ? {} : { origin: ORIGIN, 'content-type': 'application/json' }),
        },
        body: fields === undefined ? null : JSON.stringify(fields),
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      })
      for (const line of answer.headers.getSetCookie()) this.#keep(line)
      const text = await answer.text()
      const location = answer.headers.get('location')
      return { status: answer.status, body: location !== null ? { location } : JSON.parse(text) as JsonObject }
    } catch {
      return null
    }
  }

  #keep (line: string): void {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
    if (/; Max-Age=0\b/.test(line)) this.#cookies.delete(name!)
    else this.#cookies.set(name!, value!)
  }
}
