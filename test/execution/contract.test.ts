// What an agent reads of an action before it calls it: pages of the list, and the contract.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Action, Catalog, Check, Upstream } from '../../src/catalog/catalog.ts'
import { ERRORS, Refusal, type ErrorCode } from '../../src/errors.ts'
import { contractOf, listedActions, type ListQuery } from '../../src/execution/contract.ts'

const upstream: Upstream = {
  name: 'shop', origin: 'https://api.shop.example', basePath: '/v1', networks: ['public'], headers: {}, credentials: { read: null, write: null },
  timeouts: { connectMs: 2_000, totalMs: 10_000 }, limits: { concurrency: 32, perSecond: null, tenantShare: 0.5 },
}

/** An observation that needs nothing, and whatever of it is meant otherwise. */
function action (name: string, given: Partial<Action> = {}): Action {
  const completed = {
    outcome: 'completed', code: null, message: null, retryable: false, retryAfterSeconds: null, reference: null, result: undefined, lookFirst: false,
    missing: null,
  } as const
  return {
    id: `${name}.v1`, name, version: 1, digest: name, upstream, title: `Title of ${name}`, description: `Describes ${name}.`, effect: 'observation',
    write: false, involves: [], sensitivity: 'internal', consent: 'none', rulesDigest: 'r',
    requirement: { approve: 1, roles: [], separation: 'agent', signInMaxAgeS: null, confirm: 'none' }, retry: 'safe', repeatable: false, strict: false,
    inputSchema: { type: 'object', additionalProperties: false, properties: {} }, examples: [], errors: [],
    checkArguments: () => null, scope: [], reads: [], values: [], checks: [], target: null, versionGuarded: false, proposal: null,
    request: null as never, idempotency: null,
    judge: () => completed, view: null, lookup: null,
    limits: { timeoutMs: 5_000, callsPerRun: null, refusalsPerRun: null, concurrencyPerTenant: null, serialize: null }, compensateWith: null,
    sunset: null,
    ...given,
  }
}

const check = (code: string): Check => ({
  text: `args.${code}`, holds: () => true, otherwise: { kind: 'refuse', code, message: `Because of ${code}.`, retryable: false },
})

function catalogOf (actions: readonly Action[], digest = 'd1'): Catalog {
  return { digest, actions: new Map(actions.map(one => [one.id, one])), upstreams: new Map(), roles: new Map(), definitions: new Map() }
}

const everything: ListQuery = { query: null, effect: null, limit: 50, cursor: null }

describe('the list', () => {
  const change = { effect: 'reversible_change', write: true } as const
  const actions = Array.from({ length: 23 }, (_, at) => action(`act_${String(at).padStart(2, '0')}`, at % 3 === 0 ? change : {}))
  const catalog = catalogOf(actions)

  function pages (granted: readonly Action[], ask: Partial<ListQuery>): string[][] {
    const read: string[][] = []
    let cursor: string | null = null
    do {
      const page = listedActions(catalog, granted, { ...everything, ...ask, cursor })
      read.push(page.actions.map(one => one.action))
      cursor = page.nextCursor
    } while (cursor !== null)
    return read
  }

  test('its pages together are exactly what is granted, in order, however many fit in one', () => {
    const granted = actions.filter((_, at) => at % 4 !== 1)
    for (const limit of [1, 2, 5, 17, 18, 200]) {
      const read = pages(granted, { limit })
      assert.deepEqual(read.flat(), granted.map(one => one.id))
      assert.ok(read.every(page => page.length <= limit && page.length > 0))
    }
    assert.deepEqual(pages([], {}), [[]])
  })

  test('a filter holds over all pages', () => {
    const writes = actions.filter(one => one.write).map(one => one.id)
    assert.deepEqual(pages(actions, { effect: 'reversible_change', limit: 3 }).flat(), writes)
    assert.deepEqual(pages(actions, { query: 'ACT_1  describes', limit: 4 }).flat(), actions.map(one => one.id).filter(id => id.startsWith('act_1')))
    assert.deepEqual(pages(actions, { query: 'no such words' }), [[]])
    assert.deepEqual(pages(actions, { query: '  ', limit: 200 }).flat().length, 23)
  })

  test('a line is what an agent chooses by, and nothing that is inside', () => {
    const { actions: [line] } = listedActions(catalog, actions, everything)
    assert.deepEqual(line, {
      action: 'act_00.v1', name: 'act_00', version: 1, title: 'Title of act_00', description: 'Describes act_00.', effect: 'reversible_change',
      consent: 'none', retry: 'safe',
    })
  })

  test('a cursor ends with its catalog, and one that was made up is refused', () => {
    const { nextCursor } = listedActions(catalog, actions, { ...everything, limit: 5 })
    const listed = (cursor: string, of = catalog): unknown => listedActions(of, actions, { ...everything, cursor })
    const refused = (error: unknown): boolean => error instanceof Refusal && error.code === 'MALFORMED_REQUEST' && error.details.rule === 'cursor'
    listed(nextCursor!)
    assert.throws(() => listed(nextCursor!, catalogOf(actions, 'd2')), refused)
    for (const cursor of ['', 'x', nextCursor!.slice(0, -2), Buffer.from('d1').toString('base64url'),
      Buffer.from('d1\nno such').toString('base64url'), Buffer.from('d1\n__proto__').toString('base64url')]) {
      assert.throws(() => listed(cursor), refused, cursor)
    }
  })

  test('a cursor that was made up does not tell whether there is an action that the caller may not call', () => {
    const granted = actions.slice(0, 3)
    const listed = (id: string): unknown => listedActions(catalog, granted, { ...everything, cursor: Buffer.from(`d1\n${id}`).toString('base64url') })
    assert.deepEqual(listed('act_22.v1'), listed('act_99.v1'))
    assert.deepEqual(listed('act_01.v1'), { actions: [listedActions(catalog, granted, everything).actions[2]], nextCursor: null })
    assert.deepEqual(listed('aaa.v1'), listedActions(catalog, granted, everything))
  })

  test('a cursor at an action that was taken from the caller meanwhile goes on behind its place', () => {
    const { nextCursor } = listedActions(catalog, actions, { ...everything, limit: 5 })
    const left = actions.filter((_, at) => at !== 4 && at !== 6)
    assert.deepEqual(listedActions(catalog, left, { ...everything, cursor: nextCursor }).actions.map(one => one.action),
      left.slice(4).map(one => one.id))
  })
})

describe('the contract', () => {
  const codesOf = (one: Action): ReadonlySet<string> => new Set(contractOf(one).errors.map(error => error.code))

  test('says everything that the sheet promises, rules in their own words, and nothing of the upstream', () => {
    const one = action('change_address', {
      effect: 'reversible_change', write: true, consent: 'call', retry: 'same_key', involves: ['personal_data'], sensitivity: 'personal',
      scope: [{ text: 'args.id in caller.claims.customers', holds: () => true }],
      checks: [
        check('CUSTOMER_DELETED'),
        { text: 'args.a != 1', holds: () => true, otherwise: { kind: 'settle', outcome: 'already_in_desired_state' } },
      ],
      view: { schema: { type: 'object' }, maxBytes: 1_024, project: () => ({ result: null, truncated: false, text: 'null' }) },
      errors: [
        { code: 'CUSTOMER_DELETED', message: 'The customer has been deleted.', retryable: false },
        { code: 'JOB_FAILED', message: 'It failed.', retryable: true },
      ],
      examples: [{ arguments: { id: 'c-1' } }], compensateWith: 'restore_address.v1', sunset: { after: '2027-03-01', use: 'change_address.v2' },
    })
    const contract = contractOf(one)
    const { errors: _, ...rest } = contract
    assert.deepEqual(rest, {
      action: 'change_address.v1', name: 'change_address', version: 1, title: 'Title of change_address', description: 'Describes change_address.',
      effect: 'reversible_change', consent: 'call', retry: 'same_key', involves: ['personal_data'], sensitivity: 'personal', repeatable: false,
      input_schema: { type: 'object', additionalProperties: false, properties: {} }, result_schema: { type: 'object' }, result_max_bytes: 1_024,
      scope: [{ require: 'args.id in caller.claims.customers' }],
      checks: [
        { require: 'args.CUSTOMER_DELETED', error: 'CUSTOMER_DELETED', message: 'Because of CUSTOMER_DELETED.', retryable: false },
        { require: 'args.a != 1', outcome: 'already_in_desired_state' },
      ],
      target: false, limits: { timeout_ms: 5_000, calls_per_run: null, refusals_per_run: null, concurrency_per_tenant: null, serialized: false },
      examples: [{ arguments: { id: 'c-1' } }], compensate_with: 'restore_address.v1', sunset: { after: '2027-03-01', use: 'change_address.v2' },
    })
    assert.deepEqual(contract.errors.slice(-2), [
      { code: 'CUSTOMER_DELETED', message: 'The customer has been deleted.', retryable: false, status: 422, step: 'facts' },
      { code: 'JOB_FAILED', message: 'It failed.', retryable: true, status: null, step: null },
    ])
    assert.doesNotMatch(JSON.stringify(contract), /api\.shop\.example/)
    assert.deepEqual(JSON.parse(JSON.stringify(contract)), contract, 'it is plain data')
  })

  test('names the codes of writes, consent, budgets and views only where there is one', () => {
    const plain = codesOf(action('read'))
    for (const code of ['UNAUTHENTICATED', 'DUPLICATE_KEY', 'UNKNOWN_ACTION', 'INVALID_ARGUMENTS', 'UPSTREAM_UNREACHABLE', 'UPSTREAM_ERROR']) {
      assert.ok(plain.has(code), code)
    }
    const conditional: ReadonlyArray<readonly [ErrorCode, Partial<Action>]> = [
      ['RUN_REQUIRED', { write: true }], ['OUTCOME_UNKNOWN', { write: true }], ['TARGET_BUSY', { write: true }],
      ['IDEMPOTENCY_KEY_REUSED', { write: true }], ['CANCELLED', { write: true }],
      ['VERSION_CONFLICT', { write: true }], ['STATE_UNAVAILABLE', { write: true }], ['IDEMPOTENCY_KEY_REQUIRED', { repeatable: true }],
      ['PROPOSAL_DENIED', { consent: 'session' }],
      ['CONSENT_UNAVAILABLE', { consent: 'call' }], ['VERSION_RETIRED', { sunset: { after: '2027-01-01', use: null } }],
      ['BUDGET_EXHAUSTED', { limits: { timeoutMs: 1, callsPerRun: 2, refusalsPerRun: null, concurrencyPerTenant: null, serialize: null } }],
      ['STATE_UNAVAILABLE', { limits: { timeoutMs: 1, callsPerRun: null, refusalsPerRun: null, concurrencyPerTenant: 2, serialize: null } }],
      ['TOO_MANY_REFUSALS', { limits: { timeoutMs: 1, callsPerRun: null, refusalsPerRun: 2, concurrencyPerTenant: null, serialize: null } }],
      ['OUT_OF_SCOPE', { scope: [{ text: 'true', holds: () => true }] }], ['OUT_OF_SCOPE', { checks: [check('OUT_OF_SCOPE')] }],
      ['CHECK_UNAVAILABLE', { checks: [check('X')] }],
      ['RESULT_WITHHELD', { view: { schema: {}, maxBytes: 1, project: () => ({ result: null, truncated: false, text: 'null' }) } }],
      ['NOT_APPLIED', { write: true, lookup: { request: null as never, ownId: true, judge: () => null, absent: null } }],
      ['CREDENTIAL_UNAVAILABLE', {
        upstream: {
          ...upstream,
          credentials: { read: null, write: { scheme: { kind: 'http', scheme: 'bearer' }, secret: 'env:X', username: null, prefix: '' } },
        },
      }],
    ]
    for (const [code, given] of conditional) {
      assert.ok(!plain.has(code), `${code} without need`)
      assert.ok(codesOf(action('one', given)).has(code), `${code} with ${JSON.stringify(given)}`)
    }
  })

  test('never names the codes of paths', () => {
    const all = codesOf(action('all', { write: true, consent: 'call', repeatable: true }))
    assert.ok(!all.has('NOT_FOUND') && !all.has('METHOD_NOT_ALLOWED'))
  })

  test('says that a repeat is safe after a refusal of the upstream only where the upstream makes it so', () => {
    const retryableOf = (retry: Action['retry'], code: string): boolean => {
      const lookup = { request: null as never, ownId: true, judge: () => null, absent: null }
      return contractOf(action('one', { write: true, retry, lookup })).errors.find(error => error.code === code)!.retryable
    }
    for (const code of ['NOT_APPLIED', 'UPSTREAM_RATE_LIMITED']) {
      assert.deepEqual((['never', 'same_key', 'natural'] as const).map(retry => retryableOf(retry, code)), [false, true, true], code)
    }
    assert.equal(retryableOf('never', 'UPSTREAM_UNREACHABLE'), true)
  })

  test('gives each code the step and status of the table, and 404 for a missing object only where something is read first', () => {
    const read = { name: 'r', request: null as never, allow: new Set<number>() }
    for (const error of contractOf(action('one', { write: true, reads: [read] })).errors) {
      const row = ERRORS[error.code as ErrorCode]
      assert.deepEqual([error.status, error.step, error.message], [row.status, row.step, row.message], error.code)
    }
    assert.equal(contractOf(action('one', { write: true })).errors.find(error => error.code === 'UPSTREAM_NOT_FOUND')!.status, null)
  })
})
