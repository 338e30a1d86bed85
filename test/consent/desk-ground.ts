// A desk over a real store, with what it tells kept, and proposals whose bytes are what they say.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Catalog, Json, Requirement } from '../../src/catalog/catalog.ts'
import { bindingText, readBinding, type Binding } from '../../src/consent/binding.ts'
import { bindingDigest, canonicalDigest } from '../../src/consent/canonical.ts'
import { createDesk, type DeskServices, type PersonTold } from '../../src/consent/create-desk.ts'
import type { DecideAsk, Decided, Desk, Person, Seen } from '../../src/consent/desk.ts'
import { createConsentFeed, type ConsentEvent } from '../../src/consent/events.ts'
import { NO_ALIASES, type Principals } from '../../src/consent/principals.ts'
import type { ProposalRecord } from '../../src/consent/proposal.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { atMost, proposal, REQUIREMENT, type ProposalDraft } from '../store/proposal-drafts.ts'

const IDP = 'https://idp.example'

export function person (sub: string, over: Partial<Person> = {}): Person {
  const authTimeS = Math.floor(Date.now() / 1000) - 10
  return { iss: IDP, sub, principal: 'whatever the listener says', display: sub, roles: ['support_lead'], authTimeS, acr: null, ...over }
}

export interface Ground {
  readonly store: Store
  readonly desk: Desk
  readonly told: PersonTold[]
  readonly events: ConsentEvent[]
  readonly altered: string[]
  readonly lock: { at: number, locked: boolean, fresh: boolean, asked: number }
  readonly audit: { room: boolean }
  /** Of actions in force. */
  readonly actions: Map<string, { requirement: Requirement }>
  make (over?: ProposalDraft): Promise<ProposalRecord>
  decide (who: Person, record: Pick<ProposalRecord, 'id' | 'digest'>, over?: Partial<DecideAsk>): Promise<Decided>
  types (): readonly string[]
}

export function ground (t: TestContext, options: { readonly principals?: Principals, readonly store?: Store } = {}): Ground {
  const store = options.store ?? sqliteStore(t)
  const told: PersonTold[] = []
  const events: ConsentEvent[] = []
  const altered: string[] = []
  const lock = { at: 1, locked: false, fresh: true, asked: 0 }
  const audit = { room: true }
  const actions = new Map([['change.v1', { requirement: REQUIREMENT }]])
  const feed = createConsentFeed(error => { throw error })
  feed.listen(event => { events.push(event) })
  const services: DeskServices = {
    store, events: feed, principals: options.principals ?? NO_ALIASES,
    lock: {
      epoch: () => lock.at, isLocked: () => lock.locked, isFresh: () => lock.fresh,
      async refresh () {
        lock.asked++
        lock.fresh = true
      },
    },
    audit: { person: one => { told.push(one) }, altered: record => { altered.push(record.id) }, hasRoom: () => audit.room },
    catalog: () => ({ actions }) as unknown as Catalog,
  }
  let clicks = 0
  const desk = createDesk(services)
  return {
    store, desk, told, events, altered, lock, audit, actions,
    async make (over = {}) {
      const answer = await store.propose(intact(proposal(over)), null, atMost(1_000))
      if (answer.kind !== 'proposed') assert.fail(answer.kind)
      return answer.record
    },
    decide: (who, { id, digest }, over = {}) => desk.decide(who, {
      id, decisionId: `click-${++clicks}`, digest, decision: 'approve', reasonCode: over.decision === 'deny' ? 'not_now' : null, reasonText: null,
      visibility: 'agent', confirmed: null, shown: { renderer: 'test/1', msOnPage: 4_000, surface: 'page' }, ...over,
    }),
    types: () => events.map(({ type }) => type),
  }
}

function sqliteStore (t: TestContext): Store {
  const folder = mkdtempSync(join(tmpdir(), 'aval-desk-'))
  const store = openSqlite(join(folder, 'aval.db'))
  t.after(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return store
}

/** The same with a binding that says what the record says. */
export function intact (record: ProposalRecord): ProposalRecord {
  const { owner, requirement, grant, shown, onBehalfOf } = record
  const { args } = readBinding(record.binding)
  const binding: Binding = {
    v: 1, tenant: owner.tenant, action: { id: record.action, sheet_sha256: 'd'.repeat(64) }, policy_sha256: 'p'.repeat(64),
    agent: { iss: owner.iss, sub: owner.sub, run: owner.run }, on_behalf_of: onBehalfOf,
    upstream: { id: record.upstream, account: 'env:SHOP', method: 'PATCH', origin: 'https://api.shop.example', path: '/v1/customers/cus_1001', query: [], headers: [], body_sha256: null },
    target: { type: 'customer', id: 'cus_1001', version: 3, version_kind: 'revision' },
    args, effect: record.effect, involves: record.involves, requirement, grant, shown_sha256: canonicalDigest(shown as unknown as Json),
    created_at: '2026-01-01T00:00:00Z', nonce: record.id,
  }
  const text = bindingText(binding)
  return { ...record, binding: text, digest: bindingDigest(text), argumentsSha256: canonicalDigest(args) }
}

export function taken (decided: Decided): Extract<Decided, { kind: 'taken' }> {
  if (decided.kind !== 'taken') assert.fail(JSON.stringify({ ...decided, seen: undefined }))
  return decided
}

export const refusedFor = (decided: Decided): string => decided.kind === 'refused' ? decided.why : decided.kind

export async function mustSee (seen: Promise<Seen | null>): Promise<Seen> {
  const found = await seen
  assert.ok(found !== null)
  return found
}
