// Proposals of a shop, as the broker would make them.
import { randomBytes } from 'node:crypto'
import type { EffectPart, Json, JsonObject, Requirement } from '../../src/catalog/catalog.ts'
import { bindingText, type Binding } from '../../src/consent/binding.ts'
import { bindingDigest, canonicalDigest } from '../../src/consent/canonical.ts'
import type { ProposalRecord } from '../../src/consent/proposal.ts'
import type { Store } from '../../src/store/store.ts'
import { atMost, proposal } from '../store/proposal-drafts.ts'

export const slot = (of: string, value: Extract<EffectPart, { kind: 'slot' }>['value']): EffectPart => ({ kind: 'slot', of, value })
export const text = (words: string): EffectPart => ({ kind: 'text', text: words })

export type Over = Partial<Omit<ProposalRecord, 'shown'>> & { readonly shown?: Partial<ProposalRecord['shown']> }

export function addressChange (over: Over = {}): ProposalRecord {
  const made = proposal()
  const id = over.id ?? `prop_${made.tag}${randomBytes(16).toString('hex')}`
  const args = { customer_id: 'cus_1001', destination: { street: '12 Quay Street', city: 'Cork', postcode: 'T12 RX8F', country: 'IE' } }
  const shown: ProposalRecord['shown'] = {
    title: 'Change a customer’s shipping address',
    effect: [text('Replace the shipping address of customer '), slot('args.customer_id', 'cus_1001')],
    before: {},
    after: {},
    diff: [
      { pointer: '/shipping_address/street', was: '4 Mill Lane', now: '12 Quay Street' },
      { pointer: '/shipping_address/city', was: 'Galway', now: 'Cork' },
      { pointer: '/shipping_address/postcode', was: 'H91 E2T3', now: 'T12 RX8F' },
      { pointer: '/shipping_address/note', was: 'Leave with the porter' },
    ],
    facts: { environment: 'production', recipients: 1, reversible: 'yes, by the same action' },
    request: {
      method: 'PATCH', url: 'https://api.shop.example/v1/customers/cus_1001', headers: { 'content-type': 'application/json', 'if-match': '"7"' },
      body: JSON.stringify({ shipping_address: args.destination }),
    },
    undecodable: [],
    ...over.shown,
  }
  const record: ProposalRecord = {
    ...made,
    action: 'change_shipping_address.v2',
    involves: ['personal_data'],
    owner: { iss: 'https://issuer.example', sub: 'support-agent', tenant: 'default', run: 'run-4711' },
    reason: 'The customer moved and asked us in chat to send the order to the new flat.',
    ...over,
    id,
    shown,
    argumentsSha256: canonicalDigest(args),
  }
  const binding = bindingText(bindingTo(record, args))
  return { ...record, binding, digest: bindingDigest(binding) }
}

/** What the record says, bound. */
function bindingTo ({ action, owner, onBehalfOf, effect, involves, requirement, grant, shown, id }: ProposalRecord, args: JsonObject): Binding {
  return {
    v: 1,
    tenant: owner.tenant,
    action: { id: action, sheet_sha256: 'a'.repeat(64) },
    policy_sha256: 'b'.repeat(64),
    agent: { iss: owner.iss, sub: owner.sub, run: owner.run },
    on_behalf_of: onBehalfOf,
    upstream: {
      id: 'shop', account: 'file:/run/secrets/shop', method: 'PATCH', origin: 'https://api.shop.example', path: '/v1/customers/cus_1001', query: [],
      headers: [['if-match', '"7"']], body_sha256: 'c'.repeat(64),
    },
    target: { type: 'customer', id: 'cus_1001', version: '"7"', version_kind: 'etag' },
    args,
    effect,
    involves,
    requirement,
    grant,
    shown_sha256: canonicalDigest(shown as unknown as Json),
    created_at: '2026-11-30T12:00:00Z',
    nonce: id,
  }
}

export const FINANCE: Requirement = { approve: 2, roles: ['finance', 'support_lead'], separation: 'requester', signInMaxAgeS: null, confirm: 'type_value' }

export const refund = (over: Over = {}): ProposalRecord => addressChange({
  action: 'refund_payment.v1',
  effect: 'irreversible_change',
  involves: ['money'],
  requirement: FINANCE,
  onBehalfOf: { iss: 'https://login.example', sub: 'clerk-9' },
  ...over,
  shown: {
    title: 'Refund a payment',
    effect: [text('Refund '), slot('values.amount', '1,000.00 EUR'), text(' to customer '), slot('args.customer_id', 'cus_1001')],
    diff: [{ pointer: '/refunded', was: 0, now: 100_000 }, { pointer: '/state', was: 'paid', now: 'refunded' }],
    facts: { payee: 'Alice Example', bank: 'IE29 AIBK 9311 5212 3456 78' },
    ...over.shown,
  },
})

export async function place (store: Store, record: ProposalRecord): Promise<ProposalRecord> {
  const answer = await store.propose(record, null, atMost(100_000, 100_000))
  if (answer.kind !== 'proposed') throw new Error(answer.kind)
  return answer.record
}
