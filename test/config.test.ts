// Configuration: what is read, what is refused, and that README tells the same table.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test, type TestContext } from 'node:test'
import fc from 'fast-check'
import { ConfigFaults, configTable, readConfig, readLocalConfig, type Environment } from '../src/config.ts'
import { KeyFault, openKey } from '../src/key.ts'

const COMPLETE: Environment = {
  AVAL_ISSUER: 'https://issuer.example',
  AVAL_AUDIENCE: 'https://aval.example',
  AVAL_JWKS: 'https://issuer.example/jwks',
}

function faultsOf (env: Environment): ReadonlyMap<string, string> {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof ConfigFaults) return new Map(error.faults.map(fault => [fault.name, fault.message]))
    throw error
  }
  return new Map()
}

function folder (t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'aval-config-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

test('the three names of token trust are all that serve requires, and everything else has its default', () => {
  const config = readConfig(COMPLETE)
  assert.deepEqual({ ...config, environment: null }, {
    actionsFolder: resolve('actions'),
    openapiFolder: resolve('openapi'),
    dataFolder: resolve('data'),
    controlPath: resolve('data/control.sock'),
    state: `sqlite:${resolve('data/aval.db')}`,
    agents: { host: '127.0.0.1', port: 8080, loopback: true },
    operations: { host: '127.0.0.1', port: 9090, loopback: true },
    people: null,
    hosts: null,
    tokens: { issuer: 'https://issuer.example', audience: 'https://aval.example', jwks: { kind: 'url', url: 'https://issuer.example/jwks' } },
    rates: { tokenPerSecond: 100, addressPerSecond: 200, burstSeconds: 5 },
    key: { kind: 'file', path: resolve('data/aval.key') },
    keyMayBeMade: true,
    auditFolder: resolve('data/audit'),
    trustProxy: [],
    tls: null,
    lock: 'off',
    logLevel: 'info',
    webhooksFile: null,
    vault: null,
    principalsFile: null,
    failpoints: null,
    environment: null,
  })
  assert.ok(Object.isFrozen(config))
})

test('store, key and audit follow the data folder, also where its name holds what a replacement pattern would mean', () => {
  const config = readConfig({ ...COMPLETE, AVAL_DATA: '/srv/a$&b' })
  assert.deepEqual([config.state, config.auditFolder], ['sqlite:/srv/a$&b/aval.db', '/srv/a$&b/audit'])
  assert.deepEqual(config.key, { kind: 'file', path: '/srv/a$&b/aval.key' })
})

test('all faults are told at once, and none repeats the value', () => {
  const faults = faultsOf({ AVAL_AGENTS: 'pa55word', AVAL_LOG: 'pa55word', AVAL_RATE: 'pa55word', AVAL_NOPE: 'pa55word', AVAL_STATE: 'pa55word' })
  const named = ['AGENTS', 'AUDIENCE', 'ISSUER', 'JWKS', 'LOG', 'NOPE', 'RATE', 'STATE'].map(name => `AVAL_${name}`)
  assert.deepEqual([...faults.keys()].sort(), named)
  assert.ok(![...faults.values()].some(message => message.includes('pa55word')))
})

test('an unknown AVAL_ name is refused with the one that was probably meant', () => {
  assert.match(faultsOf({ ...COMPLETE, AVAL_AUDIANCE: 'x' }).get('AVAL_AUDIANCE')!, /did you mean AVAL_AUDIENCE\?/)
  assert.doesNotMatch(faultsOf({ ...COMPLETE, AVAL_QQQQQQQQQQQQQ: 'x' }).get('AVAL_QQQQQQQQQQQQQ')!, /did you mean/)
  assert.equal(faultsOf({ ...COMPLETE, AVALANCHE: 'x', HOME: '/' }).size, 0, 'other programs keep their names')
})

test('the vault is a file, and what opens it at start another one or a person', () => {
  const vault = (text: string) => readConfig({ ...COMPLETE, AVAL_VAULT: text }).vault
  assert.deepEqual(vault('file:/etc/v,1.age'), { path: '/etc/v,1.age', key: null })
  assert.deepEqual(vault('file:/etc/v.age,identity=file:/run/key'), { path: '/etc/v.age', key: { kind: 'identity', path: '/run/key' } })
  assert.deepEqual(vault('file:/etc/v.age,passphrase=file:/run/words'), { path: '/etc/v.age', key: { kind: 'passphrase', path: '/run/words' } })
  for (const wrong of ['/etc/v.age', 'file:', 'file:v.age,identity=/run/key', 'file:v.age,passphrase=hunter22', 'env:VAULT']) {
    assert.match(faultsOf({ ...COMPLETE, AVAL_VAULT: wrong }).get('AVAL_VAULT') ?? '', /must be file:PATH/, wrong)
  }
})

test('failpoints are refused with a listener that others can reach', () => {
  const armed = { ...COMPLETE, AVAL_FAILPOINTS: 'after_mark:kill' }
  assert.equal(faultsOf(armed).size, 0)
  assert.match(faultsOf({ ...armed, AVAL_AGENTS: '0.0.0.0:8080' }).get('AVAL_FAILPOINTS')!, /not on loopback/)
  assert.match(faultsOf({ ...armed, AVAL_OPERATIONS: '[::]:9090' }).get('AVAL_FAILPOINTS')!, /not on loopback/)
})

const SIGN_IN = { AVAL_PEOPLE_ISSUER: 'https://login.example', AVAL_PEOPLE_CLIENT: 'aval', AVAL_PEOPLE_ORIGIN: 'https://approvals.example' }

test('without an issuer there is no people listener; with one, all that a sign-in needs is asked for', () => {
  assert.equal(readConfig(COMPLETE).people, null)
  assert.deepEqual(readConfig({ ...COMPLETE, ...SIGN_IN }).people, {
    address: { host: '127.0.0.1', port: 8081, loopback: true }, issuer: 'https://login.example', client: 'aval', secret: null,
    origin: 'https://approvals.example', roles: null,
  })
  for (const name of Object.keys(SIGN_IN)) assert.match(faultsOf({ ...COMPLETE, ...SIGN_IN, [name]: undefined }).get(name)!, /is required where AVAL_PEOPLE_/)
  for (const [name, text] of [['AVAL_PEOPLE', ':8081'], ['AVAL_PEOPLE_SECRET', 'env:OURS'], ['AVAL_PEOPLE_ROLES', 'claim=groups,a=b']] as const) {
    assert.deepEqual([...faultsOf({ ...COMPLETE, [name]: text }).keys()].sort(), Object.keys(SIGN_IN).sort(), name)
  }
  const refused = (over: Record<string, string>) => faultsOf({ ...COMPLETE, ...SIGN_IN, ...over })
  assert.match(refused({ AVAL_PEOPLE: ':8080', AVAL_AGENTS: ':8080' }).get('AVAL_PEOPLE')!, /AVAL_AGENTS/)
  assert.match(refused({ AVAL_PEOPLE: ':9090' }).get('AVAL_PEOPLE')!, /AVAL_OPERATIONS/)
  assert.match(refused({ AVAL_PEOPLE: '0.0.0.0:8081', AVAL_FAILPOINTS: 'after_mark:kill' }).get('AVAL_FAILPOINTS')!, /not on loopback/)
})

test('values of a claim become roles, several of them where that is said', () => {
  const { people } = readConfig({ ...COMPLETE, ...SIGN_IN, AVAL_PEOPLE_ROLES: 'claim=/realm_access/roles, cn%3Dleads%2Cdc%3Dx=support_lead,ops=operator,ops=finance' })
  assert.equal(people!.roles!.claim, '/realm_access/roles')
  assert.deepEqual([...people!.roles!.roles], [['cn=leads,dc=x', ['support_lead']], ['ops', ['operator', 'finance']]])
})

const REFUSED_OF_PEOPLE: { readonly [name: string]: readonly string[] } = {
  AVAL_PEOPLE_ISSUER: ['', 'login.example', 'http://login.example', 'https://u:p@login.example', 'https://login.example?x', 'https://login.example#x', 'ftp://x'],
  AVAL_PEOPLE_ORIGIN: ['', 'approvals.example', 'https://approvals.example/', 'https://approvals.example:443', 'https://Approvals.example', 'http://approvals.example', 'null'],
  AVAL_PEOPLE_SECRET: ['', 'pa55word', 'env:', 'env:AVAL_KEY', 'file:', 'vault:'],
  AVAL_PEOPLE_ROLES: ['', 'groups', 'claim=groups', 'a=b,claim=groups', 'claim=,a=b', 'claim=groups,a', 'claim=groups,a=', 'claim=groups,=b', 'claim=groups,a=b=c', 'claim=groups,a=b c', 'claim=groups,%=b'],
  AVAL_PEOPLE_CLIENT: ['', 'a b'],
}

for (const [name, texts] of Object.entries(REFUSED_OF_PEOPLE)) {
  for (const text of texts) test(`${name} may not be ${JSON.stringify(text)}`, () => assert.ok(faultsOf({ ...COMPLETE, ...SIGN_IN, [name]: text }).has(name)))
}

test('a process that verifies no certificate does not start', () => {
  assert.ok(faultsOf({ ...COMPLETE, NODE_TLS_REJECT_UNAUTHORIZED: '0' }).has('NODE_TLS_REJECT_UNAUTHORIZED'))
  assert.equal(faultsOf({ ...COMPLETE, NODE_TLS_REJECT_UNAUTHORIZED: '1' }).size, 0)
})

const ACCEPTED: ReadonlyArray<readonly [name: string, text: string, read: (config: ReturnType<typeof readConfig>) => unknown, value: unknown]> = [
  ['AVAL_AGENTS', '0.0.0.0:80', config => config.agents, { host: '0.0.0.0', port: 80, loopback: false }],
  ['AVAL_AGENTS', ':0', config => config.agents, { host: '127.0.0.1', port: 0, loopback: true }],
  ['AVAL_AGENTS', '[::1]:8080', config => config.agents, { host: '::1', port: 8080, loopback: true }],
  ['AVAL_AGENTS', '[::]:8080', config => config.agents, { host: '::', port: 8080, loopback: false }],
  ['AVAL_AGENTS', 'localhost:8080', config => config.agents, { host: 'localhost', port: 8080, loopback: true }],
  ['AVAL_OPERATIONS', '127.8.0.1:9', config => config.operations, { host: '127.8.0.1', port: 9, loopback: true }],
  ['AVAL_HOSTS', 'Broker.example, broker,[::1]', config => config.hosts, ['broker.example', 'broker', '[::1]']],
  ['AVAL_RATE', 'burst=2s,token=7/s', config => config.rates, { tokenPerSecond: 7, addressPerSecond: 200, burstSeconds: 2 }],
  ['AVAL_TRUST_PROXY', '10.0.0.0/8,::1', config => config.trustProxy, ['10.0.0.0/8', '::1']],
  ['AVAL_STATE', 'sqlite:/x/y.db', config => config.state, 'sqlite:/x/y.db'],
  ['AVAL_JWKS', 'http://127.0.0.1:9/jwks', config => config.tokens.jwks, { kind: 'url', url: 'http://127.0.0.1:9/jwks' }],
  ['AVAL_JWKS', 'http://[::1]:9/jwks', config => config.tokens.jwks, { kind: 'url', url: 'http://[::1]:9/jwks' }],
  ['AVAL_LOCK', 'strict', config => config.lock, 'strict'],
  ['AVAL_LOG', 'silent', config => config.logLevel, 'silent'],
  ['AVAL_FAILPOINTS', 'after_mark:kill@0.01, before_settle:sleep(5000)', config => [...config.failpoints!], [
    ['after_mark', { action: 'kill', ms: 0, share: 0.01 }], ['before_settle', { action: 'sleep', ms: 5000, share: 1 }],
  ]],
  ['AVAL_FAILPOINTS', 'after_head:stall(20)@1,before_lookup:error@0', config => [...config.failpoints!], [
    ['after_head', { action: 'stall', ms: 20, share: 1 }], ['before_lookup', { action: 'error', ms: 0, share: 0 }],
  ]],
  ['AVAL_AUDIT', 'file:/var/audit', config => config.auditFolder, '/var/audit'],
]

for (const [name, text, read, value] of ACCEPTED) {
  test(`${name} may be ${text}`, () => assert.deepEqual(read(readConfig({ ...COMPLETE, [name]: text })), value))
}

const REFUSED: { readonly [name: string]: readonly string[] } = {
  AVAL_AGENTS: [
    '', '8080', 'host', 'host:', 'host:65536', 'host:-1', 'host:80:90', '::1:80', '[host]:80', '[::1]', 'http://host:80', 'ho st:80', 'host:8e1',
  ],
  AVAL_HOSTS: ['', 'a,,b', 'a,', 'a:80', 'http://a', '*', 'a b', '-a', '[a]'],
  AVAL_RATE: ['', '100', '100/s', 'token=0/s', 'token=-1/s', 'token=1.5/s', 'token=5/m', 'token=5/s,token=6/s', 'burst=0s', 'burst=5', 'token=5/s,'],
  AVAL_TRUST_PROXY: ['', 'proxy.example', '10.0.0.0/33', '0.0.0.0/0', '::/0', '1.2.3.4,', 'true'],
  AVAL_STATE: ['', 'sqlite:', 'data/aval.db', 'redis:', 'redis://', 'postgres://x', 'memory:', 'sqlite:?x'],
  AVAL_KEY: ['', 'file:', 'env:', 'env:A B', 'env:AVAL_SECRET', 'aGVsbG8=', 'vault:x'],
  AVAL_JWKS: [
    '', 'file:', 'file:/there/is/nothing', 'http://issuer.example/jwks', 'https://a:b@issuer.example/jwks', 'ftp://x/y', '/etc/passwd',
    'https://x/#y', 'http://127.0.0.1.example/',
  ],
  AVAL_ISSUER: ['', 'a b', 'é', 'a\n'],
  AVAL_AUDIENCE: ['', ' a'],
  AVAL_AUDIT: ['', 'file:', '/var/audit', 'syslog:'],
  AVAL_LOCK: ['', 'on', 'STRICT'],
  AVAL_LOG: ['', 'INFO', 'verbose'],
  AVAL_FAILPOINTS: [
    '', 'on', 'after_mark', 'after_mark:', 'after_mark:die', 'after_mrak:kill', 'after_mark:kill@2', 'after_mark:kill@', 'after_mark:sleep', 'after_mark:sleep(x)',
    'after_mark:sleep(-1)', 'after_mark:kill(5)', 'after_mark:kill,after_mark:error', 'after_mark:kill,', 'after_head:sleep(5)', 'constructor:kill',
  ],
  AVAL_TLS_CERT: ['', '/there/is/nothing'],
  AVAL_DATA: ['', 'a\0b'],
}

for (const [name, texts] of Object.entries(REFUSED)) {
  for (const text of texts) test(`${name} is refused as ${JSON.stringify(text)}`, () => assert.ok(faultsOf({ ...COMPLETE, [name]: text }).has(name)))
}

test('any text in any setting is either read or refused by its name, and never throws anything else', () => {
  const names = configTable.map(row => row.name)
  fc.assert(fc.property(fc.constantFrom(...names), fc.string(), (name, text) => {
    const faults = faultsOf({ ...COMPLETE, ...(name.startsWith('AVAL_PEOPLE') ? SIGN_IN : {}), [name]: text })
    assert.deepEqual([...faults.keys()].filter(other => other !== name), [])
  }))
})

test('the two listeners do not share an address, unless both pick a free port', () => {
  assert.ok(faultsOf({ ...COMPLETE, AVAL_AGENTS: ':9090' }).has('AVAL_OPERATIONS'))
  assert.equal(faultsOf({ ...COMPLETE, AVAL_AGENTS: ':0', AVAL_OPERATIONS: ':0' }).size, 0)
})

test('a certificate without its key is refused, and the other way round', t => {
  const file = join(folder(t), 'tls.pem')
  writeFileSync(file, 'x')
  assert.ok(faultsOf({ ...COMPLETE, AVAL_TLS_CERT: file }).has('AVAL_TLS_CERT'))
  assert.ok(faultsOf({ ...COMPLETE, AVAL_TLS_KEY: file }).has('AVAL_TLS_KEY'))
  assert.deepEqual(readConfig({ ...COMPLETE, AVAL_TLS_CERT: file, AVAL_TLS_KEY: file }).tls, { certFile: file, keyFile: file })
})

test('with Redis the key must be given and exist, because all replicas need the same', t => {
  const redis = { ...COMPLETE, AVAL_STATE: 'redis://127.0.0.1:6379' }
  assert.match(faultsOf(redis).get('AVAL_KEY')!, /must be given/)
  const path = join(folder(t), 'aval.key')
  assert.match(faultsOf({ ...redis, AVAL_KEY: `file:${path}` }).get('AVAL_KEY')!, /not there/)
  writeFileSync(path, 'x')
  assert.equal(readConfig({ ...redis, AVAL_KEY: `file:${path}` }).keyMayBeMade, false)
  assert.match(faultsOf({ ...redis, AVAL_KEY: 'env:KEY' }).get('AVAL_KEY')!, /not set/)
  assert.equal(readConfig({ ...redis, AVAL_KEY: 'env:KEY', KEY: 'x' }).keyMayBeMade, false)
})

test('secrets of sheets come from the environment as it was at start, and never from a setting', () => {
  const env = { ...COMPLETE, SHOP_KEY: 'shop-secret' }
  const { environment } = readConfig(env)
  assert.deepEqual(['SHOP_KEY', 'AVAL_ISSUER', 'NOTHING'].map(name => environment[name]), ['shop-secret', undefined, undefined])
})

test('a command over the control socket requires nothing, but takes no unknown or malformed setting either', () => {
  assert.deepEqual(readLocalConfig({ AVAL_DATA: '/srv/aval', AVAL_ACTIONS: '/srv/sheets' }), {
    actionsFolder: '/srv/sheets', openapiFolder: resolve('openapi'), dataFolder: '/srv/aval', controlPath: '/srv/aval/control.sock', vault: null,
  })
  assert.throws(() => readLocalConfig({ AVAL_DTA: '/srv/aval' }), ConfigFaults)
  assert.throws(() => readLocalConfig({ AVAL_LOG: 'loud' }), ConfigFaults)
})

test('the key is made once, for its owner alone, and is the same at every later start', async t => {
  const data = join(folder(t), 'new', 'data')
  const config = readConfig({ ...COMPLETE, AVAL_DATA: data })
  const keys = await Promise.all([openKey(config), openKey(config), openKey(config)])
  const first = keys[0]!.reveal()
  assert.equal(first.length, 32)
  assert.ok(keys.every(key => key.reveal().equals(first)), 'whoever starts at once agrees')
  assert.ok((await openKey(config)).reveal().equals(first))
  assert.equal(statSync(join(data, 'aval.key')).mode & 0o777, 0o600)
  assert.equal(readFileSync(join(data, 'aval.key'), 'utf8').trim(), first.toString('base64'))
})

test('a damaged key is refused and left as it is', async t => {
  const data = folder(t)
  for (const text of ['', 'short', 'A'.repeat(44), Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64'), 'ä'.repeat(32)]) {
    const saysNothing = (error: Error): boolean => error instanceof KeyFault && (text === '' || !error.message.includes(text))
    writeFileSync(join(data, 'aval.key'), text, { mode: 0o600 })
    await assert.rejects(openKey(readConfig({ ...COMPLETE, AVAL_DATA: data })), saysNothing)
    assert.equal(readFileSync(join(data, 'aval.key'), 'utf8'), text)
  }
})

test('a key that everyone on the machine can read is refused', async t => {
  const path = join(folder(t), 'aval.key')
  writeFileSync(path, Buffer.alloc(32, 7).toString('base64'), { mode: 0o644 })
  await assert.rejects(openKey(readConfig({ ...COMPLETE, AVAL_KEY: `file:${path}` })), /everyone/)
})

test('the key may stand in the environment', async () => {
  const key = Buffer.alloc(32, 7).toString('base64')
  const secret = await openKey(readConfig({ ...COMPLETE, AVAL_KEY: 'env:HMAC_KEY', HMAC_KEY: key }))
  assert.equal(secret.reveal().toString('base64'), key)
})

test('README tells every setting with its default and its meaning', () => {
  const readme = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8')
  for (const row of configTable) {
    assert.ok(readme.includes(`| \`${row.name}\` | ${readmeDefault(row)} | ${row.meaning} |`), row.name)
  }
})

function readmeDefault (row: (typeof configTable)[number]): string {
  if (row.required) return 'required'
  return row.default === null ? 'none' : `\`${row.default.replace('DATA', '$AVAL_DATA')}\``
}
