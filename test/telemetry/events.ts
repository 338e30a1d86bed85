// Events as execution tells them, and a catalog of one action to measure them by.
import type { Catalog } from '../../src/catalog/catalog.ts'
import type { ConsentEvent } from '../../src/consent/events.ts'
import type { ProposalRecord } from '../../src/consent/proposal.ts'
import type { Actor, AttemptEventTold, CallEvent, DoorEvent, IntentEvent, PersonEvent } from '../../src/telemetry/telemetry.ts'

export const AGENT: Actor = { kind: 'agent', iss: 'https://issuer.example', subMark: 'h1:sub', runMark: 'h1:run', tenant: 'acme' }
export const NOBODY: Actor = { kind: 'agent', iss: null, subMark: null, runMark: null, tenant: null }

export const ACTION = 'place_order.v1'

export function callEvent (parts: Partial<CallEvent> = {}): CallEvent {
  return {
    correlationId: 'cor_1', surface: 'http', actor: AGENT, source: 'h1:source', asked: ACTION, actionId: ACTION, definition: 'd1',
    effect: 'observation', step: 'record',
    outcome: 'completed', code: null, field: null, rule: null, receivedMark: null, argumentsMark: 'h1:arguments', reasonMark: null, targetMark: null,
    versionMark: null, proposalId: null, attemptId: null,
    attemptState: null, ended: false, duplicate: false, sent: true, truncated: false, withheld: null,
    upstream: { name: 'shop', method: 'GET', status: 200, durationMs: 4.5, requestMark: 'h1:request' }, durationMs: 6.25, internal: null, ...parts,
  }
}

export function refusalEvent (parts: Partial<CallEvent> = {}): CallEvent {
  return callEvent({
    step: 'arguments', outcome: 'rejected', code: 'INVALID_ARGUMENTS', field: '/quantity', rule: 'maximum', receivedMark: 'h1:received',
    argumentsMark: null, sent: false, upstream: null, ...parts,
  })
}

/** The end of a write whose intent was told before. */
export function resultEvent (attemptId: string, parts: Partial<CallEvent> = {}): CallEvent {
  return callEvent({ attemptId, attemptState: 'settled', ended: true, effect: 'reversible_change', ...parts })
}

export function intentEvent (attemptId: string, parts: Partial<IntentEvent> = {}): IntentEvent {
  return {
    correlationId: 'cor_1', actor: AGENT, actionId: ACTION, definition: 'd1', attemptId, approval: null, argumentsMark: 'h1:arguments', targetMark: 'h1:target',
    requestMark: 'h1:request', ...parts,
  }
}

export function personEvent (parts: Partial<PersonEvent> = {}): PersonEvent {
  return {
    actor: { kind: 'person', iss: 'https://idp.example', subMark: 'h1:person', runMark: null, tenant: 'acme' }, what: 'viewed',
    proposal: { id: 'prop_1', digest: 'c0ffee', state: 'pending' }, actionId: ACTION, correlationId: 'cor_1', surface: 'page', renderer: 'aval-text/1',
    msOnPage: null, reasonCode: null, ...parts,
  }
}

export const doorEvent = (parts: Partial<DoorEvent> = {}): DoorEvent =>
  ({ what: 'plane_violation', actor: NOBODY, plane: 'people', correlationId: 'cor_1', source: 'h1:source', reason: null, ...parts })

export function consentEvent (record: ProposalRecord, type: Exclude<ConsentEvent['type'], 'committed' | 'learned' | 'checkpoint' | 'locked' | 'unlocked'>): ConsentEvent {
  return { type, record }
}

export function attemptEvent (attemptId: string, parts: Partial<AttemptEventTold> = {}): AttemptEventTold {
  return {
    attemptId, actionId: ACTION, definition: 'd1', correlationId: 'cor_1', by: 'lookup', state: 'settled', outcome: 'completed', code: null,
    sent: true, personMark: null, ...parts,
  }
}

const INPUT = {
  type: 'object',
  additionalProperties: false,
  required: ['items'],
  properties: {
    quantity: { type: 'integer', maximum: 5 },
    destination: { $ref: '#/$defs/address' },
    items: {
      type: 'array', items: { type: 'object', additionalProperties: false, properties: { sku: { type: 'string' }, 'a/b~c': { type: 'string' } } },
    },
    labels: { type: 'object', additionalProperties: { type: 'object', properties: { text: { type: 'string' } } } },
    payment: { oneOf: [{ properties: { card: { type: 'string' } } }, { properties: { iban: { type: 'string' } } }] },
    tree: { $ref: '#/$defs/tree' },
  },
  $defs: {
    address: { type: 'object', properties: { country: { type: 'string', pattern: '^[A-Z]{2}$' } } },
    tree: {
      type: 'object',
      properties: { children: { type: 'array', items: { $ref: '#/$defs/tree' } }, left: { $ref: '#/$defs/tree' }, right: { $ref: '#/$defs/tree' } },
    },
  },
}

/** As much of a catalog as telemetry looks at. */
export const CATALOG = {
  digest: 'c0ffee',
  actions: new Map([[ACTION, { id: ACTION, inputSchema: INPUT, errors: [{ code: 'OUT_OF_STOCK', message: 'None is left.', retryable: false }] }]]),
} as unknown as Catalog
