// People of a rehearsal: as many as an action asks for, with the roles that it asks for. They decide at the real desk, and hours pass for them in a
// moment, by the clock of the rehearsal's store.
import { randomUUID } from 'node:crypto'
import type { Catalog } from '../catalog/catalog.ts'
import { toTypeFor } from '../consent/confirm.ts'
import { createDesk } from '../consent/create-desk.ts'
import type { DecideAsk, Desk, Person } from '../consent/desk.ts'
import { NOBODY_LISTENS } from '../consent/events.ts'
import { NO_ALIASES } from '../consent/principals.ts'
import { endsAtMs, type ProposalRecord } from '../consent/proposal.ts'
import { RENDERER } from '../consent/untrusted.ts'
import type { StandIns } from '../curation/rehearsal/stage.ts'
import { NEVER_LOCKED } from '../execution/lock.ts'
import type { People } from '../execution/people.ts'
import type { HeldProposal } from '../store/consent-store.ts'
import type { Store } from '../store/store.ts'

const ISSUER = 'https://people.rehearsal.aval.example'

/** Who can be asked, until one of them loses the role. */
export class Crowd {
  readonly #gone = new Set<string>()

  /** As the broker knows them. */
  readonly people: People = Object.freeze({
    origin: null, principals: NO_ALIASES, rolesOf: async ({ sub }: { readonly sub: string }) => this.#gone.has(sub) ? [] : null,
  })

  loseRole (sub: string): void {
    this.#gone.add(sub)
  }
}

/** The time of day of a store that can be moved on. */
export class MovableTime {
  #aheadMs = 0

  readonly nowMs = (): number => Date.now() + this.#aheadMs

  moveOn (ms: number): void {
    this.#aheadMs += Math.max(0, Math.ceil(ms))
  }
}

export function standIns (store: Store, time: MovableTime, crowd: Crowd, catalog: Catalog): StandIns {
  const desk = createDesk({
    store, events: NOBODY_LISTENS, principals: NO_ALIASES, lock: NEVER_LOCKED, audit: { person () {}, altered () {}, hasRoom: () => true }, catalog: () => catalog,
  })
  const held = async (id: string): Promise<HeldProposal> => {
    const found = await store.findProposal(id)
    if (found === null) throw new Error(`there is no proposal ${id}`)
    return found
  }
  // As many as the sheets ask for, which is what the broker is held to; where it is content with fewer, there is nothing left to say yes to.
  const approveBy = async (id: string, butOf: number): Promise<void> => {
    const needed = catalog.actions.get((await held(id)).record.action)!.requirement.approve
    for (let place = 0; place < needed - butOf; place++) {
      const now = await held(id)
      if (now.record.state === 'pending') await decide(desk, now, place, 'approve')
    }
  }
  return {
    approve: id => approveBy(id, 0),
    approvePartly: id => approveBy(id, 1),
    deny: async id => decide(desk, await held(id), 0, 'deny'),
    async revoke (id) {
      const { record, nowMs } = await held(id)
      const seen = await desk.revoke(personFor(record, 0, nowMs), id)
      if (seen?.state !== 'revoked') throw new Error(`${id} was not revoked: it is ${seen?.state ?? 'not to be seen'}`)
    },
    loseRole: async id => crowd.loseRole(nameOf((await held(id)).record, 0)),
    async outlast (id) {
      const { record, nowMs } = await held(id)
      const ends = endsAtMs(record)
      if (ends !== null) time.moveOn(ends - nowMs + 1_000)
    },
  }
}

/** @throws Error where it is not taken: then the rehearsal is wrong, and not what it tries */
async function decide (desk: Desk, { record, nowMs }: HeldProposal, place: number, decision: DecideAsk['decision']): Promise<void> {
  const person = personFor(record, place, nowMs)
  const seen = await desk.view(person, record.id, 'page')
  if (seen === null) throw new Error(`nobody of the rehearsal may see ${record.id}`)
  const denies = decision === 'deny'
  const decided = await desk.decide(person, {
    id: record.id, decisionId: randomUUID(), digest: seen.record.digest, decision,
    reasonCode: denies ? 'other' : null, reasonText: denies ? 'Denied in a rehearsal.' : null, visibility: 'agent',
    confirmed: denies ? null : confirmed(record),
    shown: { renderer: RENDERER, msOnPage: null, surface: 'page' },
  })
  if (decided.kind !== 'taken') throw new Error(`the ${decision} of ${record.id} was not taken: ${decided.kind === 'refused' ? decided.why : decided.kind}`)
}

/** What the page asks a person to do before a yes. */
function confirmed (record: ProposalRecord): string | null {
  switch (record.requirement.confirm) {
    case 'none': return null
    case 'checkbox': return 'yes'
    case 'type_value': return toTypeFor(record)
  }
}

/** Each proposal is decided by people of its own: what becomes of one of them touches no other. */
const nameOf = ({ id }: ProposalRecord, place: number): string => `person-${place + 1}-of-${id}`

function personFor (record: ProposalRecord, place: number, nowMs: number): Person {
  const sub = nameOf(record, place)
  return {
    iss: ISSUER, sub, principal: NO_ALIASES.of(ISSUER, sub), display: sub, roles: record.requirement.roles, authTimeS: Math.floor(nowMs / 1_000), acr: null,
  }
}
