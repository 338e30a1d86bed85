// Every rule that refuses a load, as one sheet that breaks it alone and one that just does not.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rulesOf, type Shop } from './shop-folder.ts'

type Change = (shop: Shop) => void

/** rule, what breaks it, and what comes closest without breaking it. */
const CASES: ReadonlyArray<readonly [rule: string, what: string, bad: Change, good: Change]> = [
  // ── the form of a sheet
  ['unknown-field', 'a field that no sheet has', s => { s.write.efect = 'x' }, s => { s.write.sunset = { after: '2027-03-01' } }],
  ['missing-field', 'no title', s => { delete s.write.title }, s => { delete s.write.sensitivity }],
  ['wrong-type', 'a version that is text', s => { s.write.title = 7 }, s => { s.write.title = '7' }],
  ['wrong-value', 'an effect that is none', s => { s.write.effect = 'reversible' }, s => { s.write.effect = 'reversible_change' }],
  ['wrong-value', 'a duration without a unit', s => { s.write.limits.timeout = '5' }, s => { s.write.limits.timeout = '500ms' }],
  [
    'wrong-value', 'a sunset on a day that does not exist', s => { s.write.sunset = { after: '2027-02-29' } },
    s => { s.write.sunset = { after: '2028-02-29' } },
  ],
  [
    'wrong-value',
    'four reads',
    s => { for (const n of ['b', 'c', 'd']) s.write.reads[n] = s.write.reads.customer },
    s => { for (const n of ['b', 'c']) s.write.reads[n] = s.write.reads.customer },
  ],
  [
    'wrong-name', 'a read whose name no expression can say', s => { s.write.reads['a-b'] = s.write.reads.customer },
    s => { s.write.reads.a_b = s.write.reads.customer },
  ],
  ['name-differs', 'a version that the file name denies', s => { s.write.version = 3 }, () => {}],
  ['name-differs', 'an upstream that the folder denies', s => { s.write.upstream = 'shop2' }, () => {}],

  // ── consequences
  [
    'consent-needed',
    'no consent for money',
    s => { s.write.consent = 'none'; s.write.involves = ['money'] },
    s => { s.write.consent = 'none'; s.write.involves = ['personal_data'] },
  ],
  [
    'consent-needed',
    'no consent for an external commitment',
    s => { s.write.consent = 'none'; s.write.effect = 'external_commitment'; s.policy.roles = {} },
    s => { s.write.consent = 'session'; s.write.effect = 'external_commitment'; s.policy.roles = {} },
  ],
  [
    'consent-needed',
    'no consent for what cannot be undone',
    s => { s.write.consent = 'none'; s.write.effect = 'irreversible_change'; s.policy.roles = {} },
    s => { s.write.effect = 'irreversible_change'; s.policy.roles = {} },
  ],
  [
    'consent-needed',
    'no consent for access',
    s => { s.write.consent = 'none'; s.write.involves = ['access'] },
    s => { s.write.involves = ['access'] },
  ],
  ['consent-needed', 'no consent in bulk', s => { s.write.consent = 'none'; s.write.involves = ['bulk'] }, s => { s.write.involves = ['bulk'] }],
  [
    'consent-needed',
    'no consent for what becomes public',
    s => { s.write.consent = 'none'; s.write.involves = ['public'] },
    s => { s.write.involves = ['public'] },
  ],
  ...['money', 'access', 'bulk', 'public'].map((involved): [string, string, Change, Change] =>
    [
      'consent-not-for-session',
      `one consent in a run for ${involved}`,
      s => { s.write.consent = 'session'; s.write.involves = [involved] },
      s => { s.write.consent = 'session' },
    ]),
  [
    'consent-not-for-session',
    'one consent in a run for what cannot be undone',
    s => { s.write.consent = 'session'; s.write.effect = 'irreversible_change'; s.policy.roles = {} },
    s => { s.write.consent = 'session' },
  ],
  ['retry-safe-write', 'safe on a write', s => { s.write.retry = 'safe' }, s => { s.write.retry = 'never' }],
  [
    'retry-without-key',
    'same_key and no place for the key',
    s => { delete s.write.idempotency; delete s.write.lookup.absent },
    s => { delete s.write.idempotency; delete s.write.lookup.absent; s.write.retry = 'natural' },
  ],
  ['retry-not-for-observation', 'natural on an observation', s => { s.read.retry = 'natural' }, s => { s.read.retry = 'never' }],
  [
    'lookup-missing', 'a write that nothing resolves', s => { delete s.write.lookup; s.write.outcomes.pop() },
    s => { s.write.lookup = 'none'; s.write.outcomes.pop() },
  ],
  ['not-for-observation', 'an observation with a look-up', s => { s.read.lookup = 'none' }, () => {}],
  ['proposal-missing', 'consent and nothing to read', s => { delete s.write.proposal }, s => { delete s.write.proposal; s.write.consent = 'none' }],
  [
    'proposal-missing',
    'consent that the policy asks for, and nothing to read',
    s => { delete s.write.proposal; s.write.consent = 'none'; s.policy.consent = { personal_data: { level: 'call' } } },
    s => { s.policy.consent = { personal_data: { level: 'call' } } },
  ],
  [
    'redacts-nothing',
    'something kept from people that is not there',
    s => { s.write.proposal.after = { city: '${args.destination.city}' }; s.write.proposal.redact = ['/town'] },
    s => { s.write.proposal.after = { city: '${args.destination.city}' }; s.write.proposal.redact = ['/city'] },
  ],

  // ── references between files
  [
    'operation-unknown', 'an operation that the document lacks', s => { s.write.operation = 'updateCustomers' },
    s => { s.write.operation = 'PATCH /customers/{id}' },
  ],
  [
    'operation-other-server',
    'an operation that another server serves',
    s => { s.write.reads.where = { operation: 'getElsewhere' } },
    s => { s.write.reads.where = { operation: 'getCustomer', path: { id: '1' } } },
  ],
  [
    'operation-other-server',
    'an operation under another base path',
    s => { servedBy(s, 'https://api.shop.example/v2') },
    s => { servedBy(s, 'https://API.shop.example:443/v1/') },
  ],
  ['read-not-safe', 'a read that is a write', s => { s.write.reads.where = { operation: 'deleteCustomer', path: { id: '1' } } }, () => {}],
  [
    'read-not-safe',
    'a look-up that is a write',
    s => { s.write.lookup = { operation: 'deleteCustomer', path: { id: '${attempt.key}' }, outcomes: [{ when: 'true', outcome: 'completed' }] } },
    () => {},
  ],
  [
    'action-unknown',
    'a compensation that does not exist',
    s => { s.write.compensate_with = 'restore_address.v1' },
    s => { s.write.compensate_with = 'change_shipping_address.v2' },
  ],
  ['compensation-not-a-write', 'a compensation that only reads', s => { s.write.compensate_with = 'get_customer.v1' }, () => {}],
  [
    'action-unknown',
    'a successor that does not exist',
    s => { s.write.sunset = { after: '2027-03-01', use: 'change_shipping_address.v9' } },
    s => { s.write.sunset = { after: '2027-03-01', use: 'get_customer.v1' } },
  ],
  [
    'action-unknown', 'a role that grants what is not there', s => { s.policy.roles.reader = ['get_customer.v2'] },
    s => { s.policy.roles.reader = [] },
  ],
  [
    'action-unknown', 'approvers of what is not there', s => { s.policy.approvers.support_lead = ['x.v1'] },
    s => { s.policy.approvers.support_lead = [] },
  ],
  [
    'role-exceeds-max-effect',
    'a role that is granted more than it may',
    s => { s.policy.roles.support_agent.max_effect = 'observation' },
    s => { s.policy.roles.support_agent.max_effect = 'external_commitment' },
  ],

  // ── the request
  [
    'parameter-unknown', 'a query parameter that the operation lacks', s => { s.write.request.query = { dri: true } },
    s => { s.write.request.query = { dry: true } },
  ],
  [
    'parameter-missing',
    'a header that the operation needs and nobody gives',
    s => { s.document.paths['/customers/{id}'].patch.parameters.push({ name: 'X-Region', in: 'header', required: true, schema: { type: 'string' } }) },
    s => { s.document.paths['/customers/{id}'].patch.parameters.push({ name: 'X-Api-Key', in: 'header', required: true, schema: { type: 'string' } }) },
  ],
  [
    'media-type-unsupported',
    'a body that would have to be XML',
    s => {
      const { patch } = s.document.paths['/customers/{id}']
      patch.requestBody.content = { 'application/xml': patch.requestBody.content['application/json'] }
    },
    s => {
      const { patch } = s.document.paths['/customers/{id}']
      patch.requestBody.content['application/xml'] = patch.requestBody.content['application/json']
    },
  ],
  ['parameter-missing', 'no path parameter', s => { delete s.write.request.path; s.write.request.query = {} }, () => {}],
  ['parameter-missing', 'a path parameter that may be absent', s => { s.write.request.path.id = '${args.?customer_id}' }, () => {}],
  ['header-reserved', 'the header Host', s => { s.write.request.headers.Host = 'x' }, s => { s.write.request.headers['X-Trace'] = 'x' }],
  ['header-reserved', 'the header Authorization', s => { s.write.request.headers.authorization = 'x' }, () => {}],
  ['header-reserved', 'the header of the credential', s => { s.write.request.headers['x-api-key'] = 'x' }, () => {}],
  [
    'query-reserved',
    'the query parameter of the credential',
    s => { s.upstream.credential.scheme = { in: 'query', name: 'dry' }; s.write.request.query = { dry: true } },
    s => { s.write.request.query = { dry: true } },
  ],
  [
    'header-reserved',
    'the header of the credential to read with, in a write',
    s => {
      const { secret } = s.upstream.credential
      delete s.upstream.credential
      s.upstream.credentials = { read: { scheme: { in: 'header', name: 'X-Read' }, secret }, write: { scheme: { in: 'header', name: 'X-Write' }, secret } }
      s.write.request.headers['x-read'] = 'x'
    },
    s => { s.write.request.headers['x-read'] = 'x' },
  ],
  ['header-reserved', 'a hop-by-hop header', s => { s.write.request.headers['Transfer-Encoding'] = 'chunked' }, () => {}],
  ['header-reserved', 'Cookie', s => { s.write.request.headers.Cookie = 'a=b' }, () => {}],
  ['header-invalid', 'a name that is none', s => { s.write.request.headers['A B'] = 'x' }, () => {}],
  ['header-invalid', 'a line end in a value', s => { s.write.request.headers['X-A'] = 'x\r\nY: z' }, () => {}],
  ['parameter-twice', 'a header in two spellings', s => { s.write.request.headers['if-match'] = 'x' }, () => {}],
  ['template-in-name', 'a header whose name an argument chooses', s => { s.write.request.headers['X-${args.customer_id}'] = '1' }, () => {}],
  ['template-in-name', 'a field whose name an argument chooses', s => { s.write.request.body['${args.customer_id}'] = '1' }, () => {}],
  ['body-missing', 'no body where one is needed', s => { delete s.write.request.body; s.write.values.used = '${args.destination.city}' }, () => {}],
  ['body-unexpected', 'a body where none is taken', s => { s.read.request.body = {} }, () => {}],
  ['body-field-unknown', 'a misspelt field of the body', s => { s.write.request.body = { shiping_address: '${args.destination}' } }, () => {}],
  [
    'body-field-unknown',
    'a misspelt field further down',
    s => { s.write.request.body = { shipping_address: { city: 'x', cuontry: 'IT' } } },
    s => { s.write.request.body = { shipping_address: { city: 'x', country: 'IT' } } },
  ],
  ['body-field-missing', 'a required field left out', s => { s.write.request.body = { shipping_address: { country: 'IT' } } }, () => {}],
  [
    'body-type', 'text where the document wants a number', s => { s.write.request.body.level = '${args.customer_id}' },
    s => { s.write.request.body.level = 3 },
  ],
  [
    'media-type-unknown', 'a media type that the operation does not take', s => { s.write.request.media_type = 'text/csv' },
    s => { s.write.request.media_type = 'application/json' },
  ],
  ['media-type-needed', 'one of several media types, none of them JSON', s => { uploads(s, { body: 'x' }) },
    s => { uploads(s, { body: 'x', media_type: 'text/plain' }) }],
  ['input-is-raw-body', 'all arguments as the body', s => { s.write.request.body = '${args}' }, () => {}],
  ['idempotency-place', 'a key in two places', s => { s.write.idempotency.query = 'dry' }, () => {}],
  [
    'idempotency-place',
    'a key where something else stands',
    s => { s.write.idempotency = { body: '/shipping_address/city', retention: '24h' } },
    s => { s.write.idempotency = { body: '/request_id', retention: '24h' } },
  ],
  [
    'credential-missing',
    'a credential to read with and none to write with',
    s => { delete s.upstream.credential; s.upstream.credentials = { read: { scheme: 'key', secret: 'env:SHOP' } } },
    s => { delete s.upstream.credential },
  ],

  // ── expressions
  ['expression-syntax', 'half an expression', s => { s.write.scope[0].require = 'args.customer_id ==' }, () => {}],
  [
    'expression-type',
    'a comparison of text with a number',
    s => { s.write.scope[0].require = 'args.customer_id == 3' },
    s => { s.write.scope[0].require = 'args.customer_id == "3"' },
  ],
  [
    'expression-not-bool', 'a rule that is a text', s => { s.write.scope[0].require = 'args.customer_id' },
    s => { s.write.scope[0].require = 'caller.claims.admin' },
  ],
  ['unknown-field', 'a misspelt field of an answer', s => { s.write.values.city = '${reads.customer.body.shiping_address.city}' }, () => {}],
  ['unknown-field', 'a misspelt argument', s => { s.write.target.id = '${args.custmer_id}' }, () => {}],
  [
    'unknown-field',
    'a read that comes later',
    s => { s.write.reads = { first: { operation: 'getCustomer', path: { id: '${reads.customer.body.id}' } }, ...s.write.reads } },
    s => { s.write.reads.second = { operation: 'getCustomer', path: { id: '${reads.customer.body.id}' } } },
  ],
  [
    'unknown-variable',
    'reads in scope',
    s => { s.write.scope[0].require = 'reads.customer.status == 200' },
    s => { s.write.checks.push({ require: 'reads.customer.status == 200' }) },
  ],
  ['unknown-variable', 'a target in a check', s => { s.write.checks.push({ require: 'target.id == "x"' }) }, () => {}],
  ['unknown-variable', 'the attempt in a value', s => { s.write.values.k = '${attempt.key}' }, () => {}],
  ['unknown-variable', 'the response in the request', s => { s.write.request.headers['X-A'] = '${response.status}' }, () => {}],
  [
    'unknown-variable',
    'reads in a look-up',
    s => { s.write.lookup.query.key = '${reads.customer.body.id}' },
    s => { s.write.lookup.outcomes[0].when += ' && values.city != ""' },
  ],
  [
    'unknown-variable',
    'found without find',
    s => { delete s.write.lookup.find; delete s.write.lookup.absent; s.write.lookup.outcomes = [{ when: 'found.hasValue()', outcome: 'completed' }] },
    () => {},
  ],
  ['unknown-variable', 'an attempt in an observation', s => { s.read.request.headers = { 'X-A': '${attempt.id}' } }, () => {}],
  [
    'optional-argument',
    'plain access to what may be absent',
    s => { s.write.values.c = '${args.destination.country}' },
    s => { s.write.values.c = '${has(args.destination.country) ? args.destination.country : ""}' },
  ],
  [
    'expression-nested-loop',
    'a loop in a loop',
    s => { s.write.checks.push({ require: 'reads.customer.body.tags.all(a, reads.customer.body.tags.exists(b, a == b))' }) },
    s => { s.write.checks.push({ require: 'reads.customer.body.tags.filter(a, a != "").all(b, b != "x")' }) },
  ],
  [
    'pattern-not-literal',
    'a pattern that an argument gives',
    s => { s.write.scope[0].require = '"x".matches(args.customer_id)' },
    s => { s.write.scope[0].require = 'args.customer_id.matches("^c_")' },
  ],
  [
    'pattern-invalid',
    'a pattern that backtracks',
    s => { s.write.scope[0].require = 'args.customer_id.matches("^(?=a)")' },
    s => { s.write.scope[0].require = 'args.customer_id.matches("^(a+)+$")' },
  ],
  ['expression-not-allowed', 'cel.bind', s => { s.write.scope[0].require = 'cel.bind(a, args.customer_id, a == a)' }, () => {}],
  [
    'header-name-case',
    'a header in capitals',
    s => { s.write.outcomes[0].when = 'response.headers["ETag"] == "x"' },
    s => { s.write.outcomes[0].when = 'response.headers["etag"] == "x"' },
  ],
  [
    'template-not-closed', 'a slot that does not end', s => { s.write.proposal.effect = 'x ${args.customer_id' },
    s => { s.write.proposal.effect = 'x $${args.customer_id' },
  ],
  ['template-empty', 'an empty slot', s => { s.write.proposal.effect = 'x ${ }' }, () => {}],
  ['template-not-text', 'an object inside a text', s => { s.write.proposal.effect = 'x ${args.destination}' }, () => {}],
  ['find-not-a-list', 'a search through what is no list', s => { s.write.lookup.find.in = 'response.status' }, () => {}],

  // ── rules and codes
  ['error-code-reserved', 'a code of the broker', s => { s.write.checks[0].error = 'INTERNAL' }, s => { s.write.checks[0].error = 'OUT_OF_SCOPE' }],
  [
    'error-code-reserved',
    'a code of another step',
    s => { s.write.outcomes[0].error = 'RATE_LIMITED' },
    s => { s.write.outcomes[0].error = 'UPSTREAM_RATE_LIMITED' },
  ],
  [
    'error-message-missing',
    'a code that nobody explains',
    s => { delete s.write.checks[0].message; delete s.write.checks[0].retryable },
    s => { delete s.write.checks[0].message; s.write.outcomes.push({
      when: 'false',
      outcome: 'rejected',
      error: 'CUSTOMER_DELETED',
      message: 'Gone.',
    }) },
  ],
  [
    'check-two-ends',
    'a check with an error and an outcome',
    s => { s.write.checks[0].outcome = 'already_in_desired_state'; },
    s => { s.write.checks.push({ require: 'true' }) },
  ],
  ['outcome-field', 'an error beside completed', s => { s.write.outcomes[0].outcome = 'completed' }, () => {}],
  [
    'outcome-not-for-observation',
    'an observation that is unknown',
    s => { s.read.outcomes = [{ when: 'true', outcome: 'unknown' }] },
    s => { s.read.outcomes = [{ when: 'true', outcome: 'completed' }] },
  ],
  ['pending-without-lookup', 'pending for ever', s => { s.write.lookup = 'none' }, s => { s.write.lookup = 'none'; s.write.outcomes.pop() }],
  [
    'result-without-schema',
    'a result that no schema allows',
    s => { delete s.write.result; delete s.write.examples },
    s => { delete s.write.result; delete s.write.examples; delete s.write.lookup.outcomes[0].result },
  ],
  [
    'example-refused', 'an example that the input refuses', s => { s.write.examples[0].arguments.customer_id = 'x' },
    s => { s.write.examples[0].arguments.customer_id = 'c_x' },
  ],
  ['example-refused', 'an example result with a field that is not shown', s => { s.write.examples[0].result.ssn = '1' }, () => {}],

  // ── absence
  [
    'absent-unprovable',
    'a look-up by business fields',
    s => { s.write.lookup.query = {}; s.write.lookup.find.where = 'item.state == "done"' },
    () => {},
  ],
  [
    'absent-unprovable',
    'an id that the request does not carry',
    s => { byId(s) },
    s => { byId(s, { note: '${attempt.id}' }) },
  ],
  [
    'absent-unprovable',
    'a natural write that does not compare versions',
    s => { natural(s, 'response.status == 200') },
    s => { natural(s, 'response.body.version == target.version') },
  ],
  [
    'absent-unprovable',
    'a natural write that compares something else with the target',
    s => { natural(s, 'response.body.id == target.id') },
    s => { natural(s, 'target.version == response.body.version') },
  ],
  [
    'absent-unprovable',
    'a natural write that does not carry the version',
    s => { natural(s, 'response.body.version == target.version'); delete s.write.request.headers },
    () => {},
  ],
]

function uploads (s: Shop, request: object): void {
  Object.assign(s.write, { operation: 'upload', request, result: undefined, examples: [], outcomes: [], lookup: 'none' })
}

/** The getElsewhere operation as a read, served by another. */
function servedBy (s: Shop, url: string): void {
  s.write.reads.where = { operation: 'getElsewhere' }
  s.document.paths['/elsewhere'].get.servers[0].url = url
}

/** Looked up by the id of the attempt. */
function byId (s: Shop, more: object = {}): void {
  s.write.lookup.query.key = '${attempt.id}'
  s.write.lookup.find.where = 'item.key == attempt.id'
  Object.assign(s.write.request.body, more)
}

function natural (s: Shop, when: string): void {
  s.write.retry = 'natural'
  delete s.write.idempotency
  s.write.lookup = {
    operation: 'getCustomer',
    path: { id: '${args.customer_id}' },
    outcomes: [{ when: 'response.body.shipping_address == args.destination', outcome: 'completed' }],
    absent: { when, settles_after: '30s' },
  }
}

test('the sheets that the cases start from load', async t => {
  assert.deepEqual(await rulesOf(t, () => {}), [])
})

for (const [rule, what, bad, good] of CASES) {
  test(`a load is refused with ${rule} for ${what}`, async t => {
    assert.deepEqual(await rulesOf(t, bad), [rule])
    assert.deepEqual(await rulesOf(t, good), [])
  })
}
