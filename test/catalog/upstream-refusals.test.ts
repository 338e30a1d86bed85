// What upstream.yaml and policy.yaml may not say.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { load, rulesOf, type Shop } from './shop-folder.ts'

const server = (url: string) => (shop: Shop): void => { shop.upstream.server = url }

for (const url of [
  'api.shop.example', 'ftp://api.shop.example', 'https://', 'https://api.shop.example?x=1', 'https://api.shop.example/#a',
  'https://user@api.shop.example', 'https://u:p@api.shop.example', 'https://{region}.shop.example', 'https://api.shop.example.',
  'https://bücher.example', 'https://xn--bcher-kva.example', 'https://api.shop.example:22', 'https://api.shop.example:6379',
  'https://0x7f.1', 'https://2130706433', 'https://017700000001', 'https://127。0。0。1', 'https://api.shop.example/a/../b',
  'https://api.shop.example/%2e%2e', 'https://api.shop.example//b', 'https://api.shop.example\\b',
]) {
  test(`an upstream is refused with server-invalid for ${url}`, async t => {
    assert.deepEqual(await rulesOf(t, server(url)), ['server-invalid'])
  })
}

test('http is for loopback alone', async t => {
  for (const url of ['http://api.shop.example', 'http://10.0.0.1', 'http://localhost.shop.example', 'http://169.254.169.254']) {
    assert.deepEqual(await rulesOf(t, server(url)), ['server-insecure'], url)
  }
  for (const url of ['http://127.0.0.1:8081/v1', 'http://localhost:1234', 'http://[::1]:8080', 'http://127.8.8.8']) {
    assert.deepEqual(await rulesOf(t, shop => { server(url)(shop); shop.upstream.networks = ['loopback'] }), [], url)
  }
})

test('a server on loopback needs networks, which are public where none are named', async t => {
  for (const url of ['http://127.0.0.1:8081/v1', 'https://localhost:1234', 'https://[::1]:8080']) {
    assert.deepEqual(await rulesOf(t, server(url)), ['server-network'], url)
    assert.deepEqual(await rulesOf(t, shop => { server(url)(shop); shop.upstream.networks = ['127.0.0.0/8', '::1/128'] }), [], url)
  }
})

test('origin and base path are what was written', async t => {
  const parts = async (url: string): Promise<readonly string[]> => {
    const upstream = (await load(t, shop => { server(url)(shop); shop.upstream.networks = ['public', 'loopback'] })).upstreams.get('shop')!
    return [upstream.origin, upstream.basePath]
  }
  assert.deepEqual(await parts('https://API.shop.example:443/v1/'), ['https://api.shop.example', '/v1'])
  assert.deepEqual(await parts('https://api.shop.example'), ['https://api.shop.example', ''])
  assert.deepEqual(await parts('https://api.shop.example:8443/'), ['https://api.shop.example:8443', ''])
  assert.deepEqual(await parts('http://[::1]:8080/a/b'), ['http://[::1]:8080', '/a/b'])
})

const CASES: ReadonlyArray<readonly [rule: string, what: string, bad: (shop: Shop) => void, good: (shop: Shop) => void]> = [
  ['document-unknown', 'a document that is not there', s => { s.upstream.openapi = 'shp.json' }, () => {}],
  ['document-unknown', 'a document outside', s => { s.upstream.openapi = '../openapi/shop.json' }, () => {}],
  ['unknown-field', 'a misspelt field', s => { s.upstream.limit = {} }, s => { s.upstream.limits = {} }],
  ['missing-field', 'no server', s => { delete s.upstream.server }, () => {}],
  [
    'network-invalid',
    'a range that is none',
    s => { s.upstream.networks = ['private'] },
    s => { s.upstream.networks = ['public', 'loopback', '10.20.0.0/16', 'fd00::/8'] },
  ],
  [
    'network-invalid', 'a range that is too wide to be one', s => { s.upstream.networks = ['10.0.0.0/33'] },
    s => { s.upstream.networks = ['10.0.0.0/32'] },
  ],
  ['header-reserved', 'Host', s => { s.upstream.headers.Host = 'x' }, s => { s.upstream.headers.Accept = 'application/json' }],
  ['header-reserved', 'Cookie', s => { s.upstream.headers.cookie = 'x' }, () => {}],
  ['header-reserved', 'Authorization', s => { s.upstream.headers.AUTHORIZATION = 'x' }, () => {}],
  [
    'header-reserved', 'the header of the credential', s => { s.upstream.headers['x-API-key'] = 'x' },
    s => { s.upstream.headers['x-api-kind'] = 'x' },
  ],
  ['header-reserved', 'Accept-Encoding', s => { s.upstream.headers['Accept-Encoding'] = 'gzip' }, () => {}],
  ['header-twice', 'one header in two spellings', s => { s.upstream.headers['x-api-version'] = '4' }, () => {}],
  ['header-invalid', 'a line end', s => { s.upstream.headers['X-A'] = 'a\r\nb' }, () => {}],
  ['header-invalid', 'letters beyond ASCII', s => { s.upstream.headers['X-A'] = 'é' }, () => {}],
  [
    'secret-invalid', 'a secret in the file', s => { s.upstream.credential.secret = 'sk_live_123' },
    s => { s.upstream.credential.secret = 'env:SHOP_KEY' },
  ],
  [
    'secret-invalid', 'a variable that is none', s => { s.upstream.credential.secret = 'env:SHOP-KEY' },
    s => { s.upstream.credential.secret = 'env:SHOP_KEY' },
  ],
  [
    'secret-invalid',
    'a name that no vault has',
    s => { s.upstream.credential.secret = 'vault:shop/key' },
    s => { s.upstream.credential.secret = 'file:/run/secrets/{tenant}/key' },
  ],
  [
    'secret-invalid',
    'a variable by tenant',
    s => { s.upstream.credential.secret = 'env:KEY_{tenant}' },
    s => { s.upstream.credential.secret = 'file:/run/secrets/key_{tenant}' },
  ],
  [
    'secret-invalid',
    'a placeholder that nothing replaces',
    s => { s.upstream.credential.secret = 'file:/run/{run}/key' },
    s => { s.upstream.credential.secret = 'file:/run/{tenant}/key' },
  ],
  ['secret-invalid', 'a way up', s => { s.upstream.credential.secret = 'file:/run/../key' }, () => {}],
  ['secret-invalid', 'nothing', s => { s.upstream.credential.secret = 'file:' }, () => {}],
  [
    'credential-scheme-unknown', 'a scheme that the document lacks', s => { s.upstream.credential.scheme = 'apiKey' },
    s => { s.upstream.credential.scheme = 'bearerAuth' },
  ],
  ['credential-scheme-unsupported', 'digest', s => { s.upstream.credential.scheme = 'digest' }, s => { s.upstream.credential.scheme = 'bearer' }],
  [
    'credential-scheme-unsupported',
    'oauth2',
    s => { s.upstream.credential.scheme = 'oauth' },
    s => { s.upstream.credential.scheme = { in: 'query', name: 'api_key' } },
  ],
  [
    'credential-invalid',
    'basic and no user',
    s => { s.upstream.credential.scheme = 'basic' },
    s => { s.upstream.credential.scheme = 'basic'; s.upstream.credential.username = 'aval' },
  ],
  ['credential-invalid', 'a user beside a key', s => { s.upstream.credential.username = 'aval' }, () => {}],
  [
    'credential-invalid',
    'a credential as Host',
    s => { s.upstream.credential.scheme = { in: 'header', name: 'Host' } },
    s => { s.upstream.credential.scheme = { in: 'header', name: 'Authorization', prefix: 'Token ' } },
  ],
  [
    'credential-twice',
    'credential and credentials',
    s => { s.upstream.credentials = { read: s.upstream.credential, write: s.upstream.credential } },
    s => { s.upstream.credentials = { read: s.upstream.credential, write: s.upstream.credential }; delete s.upstream.credential },
  ],
  ['timeout-too-long', 'ten minutes', s => { s.upstream.timeouts = { total: '10m' } }, s => { s.upstream.timeouts = { connect: '1s', total: '5m' } }],
  [
    'wrong-value',
    'a share above all',
    s => { s.upstream.limits = { tenant_share: 1.5 } },
    s => { s.upstream.limits = { tenant_share: 0.5, per_second: 50, concurrency: 32 } },
  ],
  ['name-differs', 'a name that the folder denies', s => { s.upstream.upstream = 'shopp' }, () => {}],
  ['unknown-field', 'a misspelt field of a role', s => { s.policy.roles.support_agent.max_efect = 'observation' }, () => {}],
  [
    'wrong-value',
    'a consent level that is none',
    s => { s.policy.consent = { money: { level: 'always' } } },
    s => { s.policy.consent = { money: { level: 'call', approvers: ['finance'] }, irreversible_change: { level: 'call', quorum: 2 } } },
  ],
  ['wrong-name', 'a consequence that is none', s => { s.policy.consent = { mony: { level: 'call' } } }, () => {}],
  ['wrong-value', 'a pattern of actions', s => { s.policy.roles.reader = ['get_*'] }, () => {}],
]

for (const [rule, what, bad, good] of CASES) {
  test(`a load is refused with ${rule} for ${what}`, async t => {
    assert.deepEqual(await rulesOf(t, bad), [rule])
    assert.deepEqual(await rulesOf(t, good), [])
  })
}

test('an upstream is frozen data with its defaults', async t => {
  const upstream = (await load(t)).upstreams.get('shop')!
  const credential = { scheme: { kind: 'apiKey', in: 'header', name: 'X-Api-Key' }, secret: 'file:/run/secrets/shop', username: null, prefix: '' }
  assert.deepEqual(upstream, {
    name: 'shop',
    origin: 'https://api.shop.example',
    basePath: '/v1',
    networks: ['public'],
    headers: { 'x-api-version': '3' },
    credentials: { read: credential, write: credential },
    timeouts: { connectMs: 2_000, totalMs: 10_000 },
    limits: { concurrency: 32, perSecond: null, tenantShare: 1 },
  })
  assert.ok(Object.isFrozen(upstream) && Object.isFrozen(upstream.credentials.read) && Object.isFrozen(upstream.headers))
})

test('the policy only ever makes consent stricter', async t => {
  const consent = async (own: string, table: object): Promise<string> =>
    (await load(t, shop => { shop.write.consent = own; shop.policy.consent = table })).actions.get('change_shipping_address.v2')!.consent
  assert.equal(await consent('none', {}), 'none')
  assert.equal(await consent('none', { personal_data: { level: 'session' } }), 'session')
  assert.equal(await consent('none', { personal_data: { level: 'session' }, reversible_change: { level: 'call' } }), 'call')
  assert.equal(await consent('call', { personal_data: { level: 'none' } }), 'call')
  assert.equal(await consent('session', { money: { level: 'call' } }), 'session')
})
