// `aval serve` as a process: how it starts, what stops it from starting, and how it ends.
import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { BUNDLED, placeSheets } from '../../src/commands/demo/sheets.ts'
import { makeSigningKey } from '../../src/commands/token.ts'
import { aval, startAval } from '../support/program.ts'

interface Place {
  readonly folder: string
  readonly env: { readonly [name: string]: string }
}

/** Everything that a broker needs, in a folder of its own. */
async function prepare (t: TestContext): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'aval-serve-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'jwks.json'), JSON.stringify((await makeSigningKey()).jwks))
  return {
    folder,
    env: {
      AVAL_AGENTS: '127.0.0.1:0',
      AVAL_OPERATIONS: '127.0.0.1:0',
      AVAL_ACTIONS: await placeSheets(folder, { url: 'http://127.0.0.1:4010/v1', apiKey: 'write-key', readKey: 'read-key-' }),
      AVAL_OPENAPI: BUNDLED.openapiFolder,
      AVAL_DATA: join(folder, 'data'),
      AVAL_ISSUER: 'https://issuer.example',
      AVAL_AUDIENCE: 'https://aval.example',
      AVAL_JWKS: `file:${join(folder, 'jwks.json')}`,
    },
  }
}

test('it makes its data folder for its owner alone, says where it listens, and ends with 0 when told to', async t => {
  const { env } = await prepare(t)
  const broker = startAval(t, ['serve'], { env })
  const [, agents, operations] = await broker.says(/serves agents on (\S+), operations on (\S+), control on/)
  assert.equal((await fetch(`${operations}/healthz`)).status, 200)
  assert.equal((await fetch(`${agents}/v1/actions`)).status, 401)
  const modeOf = (name: string): number => statSync(join(env['AVAL_DATA']!, name)).mode & 0o777
  assert.deepEqual(['.', 'aval.key', 'aval.db', 'control.sock', 'audit'].map(modeOf), [0o700, 0o600, 0o600, 0o600, 0o700])
  broker.signal('SIGTERM')
  assert.equal((await broker.ended()).code, 0)
  await assert.rejects(fetch(`${agents}/v1/actions`))
})

test('a second one on the same data is refused, and the first goes on', async t => {
  const { env } = await prepare(t)
  const first = startAval(t, ['serve'], { env })
  const [, operations] = await first.says(/operations on (\S+),/)
  const second = await aval(t, ['serve'], { env })
  assert.equal(second.code, 2)
  assert.match(second.stderr, /^aval serve: .+/m)
  assert.doesNotMatch(second.stderr, /^ +at /m, 'a person gets a sentence, not a stack')
  assert.equal((await fetch(`${operations}/readyz`)).status, 200)
})

test('sheets with faults are told one by one and nothing is started', async t => {
  const { env } = await prepare(t)
  appendFileSync(join(env['AVAL_ACTIONS']!, 'shop', 'get_customer.v1.yaml'), 'nonsense: true\n')
  writeFileSync(join(env['AVAL_ACTIONS']!, 'policy.yaml'), 'roles:\n  someone: [no_such.v1]\n')
  const { code, stderr } = await aval(t, ['serve'], { env })
  assert.equal(code, 2)
  assert.match(stderr, /^shop\/get_customer\.v1\.yaml:\d+:\d+ [a-z-]+ /m)
  assert.match(stderr, /^policy\.yaml:2:\d+ [a-z-]+ /m)
  assert.match(stderr, /the catalog has 2 faults; nothing was started/)
})

test('a key that is damaged, or is not the one that the state was made with, is refused', async t => {
  const { folder, env } = await prepare(t)
  mkdirSync(env['AVAL_DATA']!, { mode: 0o700 })
  writeFileSync(join(env['AVAL_DATA']!, 'aval.key'), 'damaged', { mode: 0o600 })
  const damaged = await aval(t, ['serve'], { env })
  assert.equal(damaged.code, 2)
  assert.match(damaged.stderr, /32 bytes in base64/)
  const keyed = async (fill: number): Promise<ReturnType<typeof startAval>> => {
    const path = join(folder, `key-${fill}`)
    writeFileSync(path, Buffer.alloc(32, fill).toString('base64'), { mode: 0o600 })
    return startAval(t, ['serve'], { env: { ...env, AVAL_KEY: `file:${path}` } })
  }
  const first = await keyed(1)
  await first.says(/serves agents/)
  first.signal('SIGINT')
  assert.equal((await first.ended()).code, 0)
  const other = await (await keyed(2)).ended()
  assert.equal(other.code, 2)
  assert.match(other.stderr, /another AVAL_KEY/)
})

test('SIGHUP brings a good set into force and leaves a bad one out', async t => {
  const { env } = await prepare(t)
  const broker = startAval(t, ['serve'], { env })
  const [, operations] = await broker.says(/operations on (\S+),/)
  const digest = async (): Promise<string> => /aval_catalog_info\{digest="([0-9a-f]+)"\}/.exec(await (await fetch(`${operations}/metrics`)).text())![1]!
  const before = await digest()
  const policy = join(env['AVAL_ACTIONS']!, 'policy.yaml')
  writeFileSync(policy, 'roles:\n  someone: [no_such.v1]\n')
  broker.signal('SIGHUP')
  await broker.says(/the catalog stays as it was:\npolicy\.yaml:2:/)
  assert.equal(await digest(), before)
  writeFileSync(policy, 'roles:\n  someone: [get_customer.v1]\n')
  broker.signal('SIGHUP')
  await broker.says(/the catalog was reloaded/)
  assert.notEqual(await digest(), before)
})
