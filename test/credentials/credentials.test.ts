// Where secrets come from, who gets which, how they change, and how they rest.
import { after, before, describe, test } from 'node:test'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CredentialDeclaration } from '../../src/catalog/catalog.ts'
import { Refusal } from '../../src/errors.ts'
import type { CredentialUse } from '../../src/credentials/credential.ts'
import { createCredentials, REST_MS, type CheckedCredentials } from '../../src/credentials/credentials.ts'
import { POLL_MS } from '../../src/credentials/file.ts'
import { OVERLAP_MS, SECRET_BYTES_MAX } from '../../src/credentials/secret-source.ts'
import { basic, bearer, shopWith } from './declarations.ts'

let folder: string
let files = 0

before(async () => { folder = await mkdtemp(join(tmpdir(), 'aval-credentials-')) })
after(async () => { await rm(folder, { recursive: true }) })

async function secretFile (content: string | Buffer, mode = 0o600): Promise<string> {
  files += 1
  const path = join(folder, `secret-${files}`)
  await writeFile(path, content)
  await chmod(path, mode)
  return path
}

/** A clock that stands until it is moved. */
function standing (): { nowMs: () => number, pass: (ms: number) => void } {
  let atMs = 1_000_000
  return { nowMs: () => atMs, pass: ms => { atMs += ms } }
}

type Declared = CredentialDeclaration

async function token (
  credentials: CheckedCredentials, declaration: Declared, tenant = 'default', use: CredentialUse = 'read', other: Declared | null = declaration,
): Promise<string> {
  const shop = use === 'read' ? shopWith(declaration, other) : shopWith(other, declaration)
  const credential = await credentials.obtain(shop, tenant, use)
  return credential.apply({ method: 'GET', path: '/', headers: {}, body: null }).headers['authorization']!.replace('Bearer ', '')
}

const unavailable = (internal: RegExp) => (error: unknown): boolean => {
  assert.ok(error instanceof Refusal)
  assert.deepEqual([error.code, error.status, error.retryable], ['CREDENTIAL_UNAVAILABLE', 503, true])
  assert.match(error.details.internal ?? '', internal)
  return true
}

describe('env:', () => {
  test('gives the variable of the environment that was handed in, and of no other', async () => {
    const credentials = createCredentials({ env: { SHOP_KEY: 'abcdefgh' } })
    assert.equal(await token(credentials, bearer('env:SHOP_KEY')), 'abcdefgh')
    await assert.rejects(token(credentials, bearer('env:PATH')), unavailable(/env:PATH is not set/))
    await assert.rejects(token(credentials, bearer('env:toString')), unavailable(/not set/))
  })

  test('refuses what is too short to be looked for, once the line end is off', async () => {
    await assert.rejects(token(createCredentials({ env: { K: 'abcdefg\n' } }), bearer('env:K')), unavailable(/fewer than 8 bytes/))
    assert.equal(await token(createCredentials({ env: { K: 'abcdefgh\r\n' } }), bearer('env:K')), 'abcdefgh')
  })

  test('takes no tenant', async () => {
    await assert.rejects(token(createCredentials({ env: {} }), bearer('env:K_{tenant}')), unavailable(/cannot stand/))
  })
})

describe('a reference', () => {
  const wrong = ['vault:shop', 'https://vault/shop', 'shop', '', ':x', 'env:', 'file:', 'env:A B', '__proto__:x', 'constructor:x', 'ENV:A']
  for (const reference of wrong) {
    test(`${JSON.stringify(reference)} gives nothing`, async () => {
      const credentials = createCredentials({ env: { 'A B': 'abcdefgh', A: 'abcdefgh' } })
      await assert.rejects(token(credentials, bearer(reference)), unavailable(/./))
      assert.equal((await credentials.check([shopWith(bearer(reference))])).length, 1)
    })
  }
})

describe('file:', () => {
  test('gives what the file holds without the line end', async () => {
    for (const end of ['', '\n', '\r\n\n']) {
      assert.equal(await token(createCredentials({ env: {} }), bearer(`file:${await secretFile(`abcd efgh${end}`)}`)), 'abcd efgh')
    }
  })

  test('that is not there, too short, too long, or no file gives nothing', async () => {
    const credentials = createCredentials({ env: {} })
    await assert.rejects(token(credentials, bearer(`file:${folder}/missing`)), unavailable(/ENOENT/))
    await assert.rejects(token(credentials, bearer(`file:${await secretFile('abcdefg')}`)), unavailable(/fewer than 8/))
    await assert.rejects(token(credentials, bearer(`file:${await secretFile('a'.repeat(SECRET_BYTES_MAX + 1))}`)), unavailable(/more than/))
    await assert.rejects(token(credentials, bearer(`file:${folder}`)), unavailable(/not a file|EISDIR/))
    const pipe = join(folder, 'pipe')
    execFileSync('mkfifo', ['-m', '600', pipe])
    await assert.rejects(token(credentials, bearer(`file:${pipe}`)), unavailable(/not a file/))
  })

  for (const mode of [0o600, 0o400, 0o640, 0o440]) {
    test(`of mode 0${mode.toString(8)} is taken`, async () => {
      assert.equal(await token(createCredentials({ env: {} }), bearer(`file:${await secretFile('abcdefgh', mode)}`)), 'abcdefgh')
    })
  }

  for (const mode of [0o644, 0o604, 0o444, 0o660, 0o620, 0o650, 0o666, 0o602, 0o777]) {
    test(`of mode 0${mode.toString(8)} is refused, and the fault says which modes are taken`, async () => {
      const path = await secretFile('abcdefgh', mode)
      const told = new RegExp(`mode 0${mode.toString(8)}.*0440`)
      await assert.rejects(token(createCredentials({ env: {} }), bearer(`file:${path}`)), unavailable(told))
    })
  }

  test('with {tenant} is one file a tenant', async () => {
    for (const tenant of ['acme', 'b-2_x']) {
      await writeFile(join(folder, `key-${tenant}`), `secret-of-${tenant}`, { mode: 0o600 })
    }
    const credentials = createCredentials({ env: {} })
    const declaration = bearer(`file:${folder}/key-{tenant}`)
    assert.equal(await token(credentials, declaration, 'acme'), 'secret-of-acme')
    assert.equal(await token(credentials, declaration, 'b-2_x'), 'secret-of-b-2_x')
    await assert.rejects(token(credentials, declaration, 'other'), unavailable(/ENOENT/))
    assert.equal(credentials.leaks(shopWith(declaration), 'acme', 'secret-of-acme'), true)
    assert.equal(credentials.leaks(shopWith(declaration), 'b-2_x', 'secret-of-acme'), false)
  })

  for (const tenant of ['..', '../x', 'a/b', '.', '', '-a', 'a\u0000', 'a'.repeat(65), 'ä', 'a.b', 'a\n', '{tenant}']) {
    test(`with {tenant} never looks for a tenant called ${JSON.stringify(tenant).slice(0, 20)}`, async () => {
      const credentials = createCredentials({ env: {} })
      await assert.rejects(token(credentials, bearer(`file:${folder}/{tenant}`), tenant), unavailable(/no name that can stand there/))
    })
  }

  test('is read again when it was written anew, within the second', async () => {
    const clock = standing()
    const credentials = createCredentials({ env: {}, nowMs: clock.nowMs })
    const path = await secretFile('first-secret')
    const declaration = bearer(`file:${path}`)
    assert.equal(await token(credentials, declaration), 'first-secret')
    await writeFile(path, 'other-secret')
    assert.equal(await token(credentials, declaration), 'first-secret')
    clock.pass(POLL_MS)
    assert.equal(await token(credentials, declaration), 'other-secret')
  })

  test('is read again when a link on the way to it was swapped, as mounted secrets are', async () => {
    const mount = await mkdtemp(join(folder, 'mount-'))
    for (const [version, secret] of [['v1', 'first-secret'], ['v2', 'other-secret']] as const) {
      await mkdir(join(mount, version))
      await writeFile(join(mount, version, 'key'), secret, { mode: 0o440 })
    }
    await symlink('v1', join(mount, '..data'))
    await symlink('..data/key', join(mount, 'key'))
    const clock = standing()
    const credentials = createCredentials({ env: {}, nowMs: clock.nowMs })
    const declaration = bearer(`file:${mount}/key`)
    assert.equal(await token(credentials, declaration), 'first-secret')
    await symlink('v2', join(mount, '..data_tmp'))
    await rename(join(mount, '..data_tmp'), join(mount, '..data'))
    clock.pass(POLL_MS)
    assert.equal(await token(credentials, declaration), 'other-secret')
  })

  test('that has gone or has become unreadable is a secret withdrawn, and one that comes back is taken again', async () => {
    const clock = standing()
    const credentials = createCredentials({ env: {}, nowMs: clock.nowMs })
    const path = await secretFile('first-secret')
    const declaration = bearer(`file:${path}`)
    await token(credentials, declaration)
    await unlink(path)
    clock.pass(POLL_MS)
    await assert.rejects(token(credentials, declaration), unavailable(/ENOENT/))
    assert.equal(credentials.leaks(shopWith(declaration), 'default', 'first-secret'), true)
    await writeFile(path, 'other-secret', { mode: 0o600 })
    clock.pass(POLL_MS)
    assert.equal(await token(credentials, declaration), 'other-secret')
    await chmod(path, 0o644)
    clock.pass(POLL_MS)
    await assert.rejects(token(credentials, declaration), unavailable(/mode/))
    await chmod(path, 0o600)
    clock.pass(POLL_MS)
    assert.equal(await token(credentials, declaration), 'other-secret')
  })

  test('looked for by many at once is read once, and all get the same', async () => {
    const path = await secretFile('first-secret')
    const credentials = createCredentials({ env: {} })
    const all = await Promise.all(Array.from({ length: 50 }, () => token(credentials, bearer(`file:${path}`))))
    assert.deepEqual(new Set(all), new Set(['first-secret']))
  })
})

describe('after a change', () => {
  test('both the old and the new secret are looked for in answers, the old one for five minutes', async () => {
    const clock = standing()
    const credentials = createCredentials({ env: {}, nowMs: clock.nowMs })
    const path = await secretFile('first-secret')
    const declaration = bearer(`file:${path}`)
    const shop = shopWith(declaration)
    await token(credentials, declaration)
    await writeFile(path, 'other-secret')
    clock.pass(POLL_MS)
    await token(credentials, declaration)
    clock.pass(OVERLAP_MS - 1)
    await token(credentials, declaration)
    const found = (...texts: string[]): boolean[] => texts.map(text => credentials.leaks(shop, 'default', `{"echo":"${text}"}`))
    assert.deepEqual(found('first-secret', 'other-secret', 'third-secret'), [true, true, false])
    clock.pass(POLL_MS)
    await token(credentials, declaration)
    assert.deepEqual(found('first-secret', 'other-secret'), [false, true])
  })

  test('that changed nothing but the time of the file the secret is the same', async () => {
    const clock = standing()
    const credentials = createCredentials({ env: {}, nowMs: clock.nowMs })
    const path = await secretFile('first-secret')
    const shop = shopWith(bearer(`file:${path}`))
    await credentials.obtain(shop, 'default', 'read')
    credentials.refused(shop, 'default', 'read')
    await writeFile(path, 'first-secret\n')
    clock.pass(POLL_MS)
    await assert.rejects(credentials.obtain(shop, 'default', 'read'), unavailable(/refused by shop/))
  })
})

describe('read and write', () => {
  test('each get their own, and an answer to one is searched for both', async () => {
    const credentials = createCredentials({ env: { READ: 'read-secret', WRITE: 'write-secret' } })
    const shop = shopWith(bearer('env:READ'), bearer('env:WRITE'))
    assert.equal(await token(credentials, bearer('env:READ'), 'default', 'read', bearer('env:WRITE')), 'read-secret')
    assert.equal(credentials.leaks(shop, 'default', 'a write-secret in it'), true)
    assert.equal(credentials.leaks(shop, 'default', 'a read-secret in it'), true)
    assert.equal(await token(credentials, bearer('env:WRITE'), 'default', 'write', bearer('env:READ')), 'write-secret')
  })

  test('a missing one keeps only its own use from working', async () => {
    const credentials = createCredentials({ env: { READ: 'read-secret' } })
    assert.equal(await token(credentials, bearer('env:READ'), 'default', 'read', bearer('env:WRITE')), 'read-secret')
    await assert.rejects(token(credentials, bearer('env:WRITE'), 'default', 'write', bearer('env:READ')), unavailable(/env:WRITE/))
  })

  test('an upstream is not searched for the secrets of another', async () => {
    const credentials = createCredentials({ env: { ONE: 'one-secret', OTHER: 'other-secret' } })
    const one = shopWith(bearer('env:ONE'), bearer('env:ONE'), 'one')
    await credentials.obtain(one, 'default', 'read')
    await credentials.obtain(shopWith(bearer('env:OTHER'), bearer('env:OTHER'), 'other'), 'default', 'read')
    assert.equal(credentials.leaks(one, 'default', 'other-secret'), false)
  })

  test('a secret sent in a pair is looked for as the pair, where only that shows it', async () => {
    const credentials = createCredentials({ env: { PASS: 'pass-word' } })
    const shop = shopWith(basic('env:PASS', 'someone'))
    await credentials.obtain(shop, 'default', 'read')
    assert.equal(credentials.leaks(shop, 'default', `Basic ${Buffer.from('someone:pass-word').toString('base64')}`), true)
  })
})

describe('a credential that was refused', () => {
  test('rests for 30 s, says until when, and is then tried again', async () => {
    const clock = standing()
    const credentials = createCredentials({ env: { K: 'abcdefgh' }, nowMs: clock.nowMs })
    const shop = shopWith(bearer('env:K'))
    await credentials.obtain(shop, 'default', 'read')
    credentials.refused(shop, 'default', 'read')
    clock.pass(10_500)
    await assert.rejects(credentials.obtain(shop, 'default', 'read'), (error: unknown) => {
      assert.ok(error instanceof Refusal)
      assert.deepEqual([error.code, error.details.retryAfterSeconds], ['CREDENTIAL_UNAVAILABLE', 20])
      return true
    })
    clock.pass(REST_MS - 10_500)
    await credentials.obtain(shop, 'default', 'read')
  })

  test('rests at that upstream, for every use of the same secret, and nowhere else', async () => {
    const credentials = createCredentials({ env: { K: 'abcdefgh', W: 'write-secret' } })
    const shop = shopWith(bearer('env:K'), bearer('env:W'))
    await credentials.obtain(shop, 'default', 'read')
    await credentials.obtain(shop, 'default', 'write')
    credentials.refused(shop, 'default', 'read')
    await assert.rejects(credentials.obtain(shop, 'default', 'read'), unavailable(/refused/))
    await assert.rejects(credentials.obtain(shop, 'other', 'read'), unavailable(/refused/))
    await credentials.obtain(shop, 'default', 'write')
    await credentials.obtain(shopWith(bearer('env:K'), null, 'elsewhere'), 'default', 'read')
  })

  test('ends its rest when the secret is replaced, and a late refusal of the old one does not touch the new', async () => {
    const clock = standing()
    const credentials = createCredentials({ env: {}, nowMs: clock.nowMs })
    const path = await secretFile('first-secret')
    const shop = shopWith(bearer(`file:${path}`))
    await credentials.obtain(shop, 'default', 'read')
    credentials.refused(shop, 'default', 'read')
    await writeFile(path, 'other-secret')
    // No second passes: a refusal makes it look anew at once.
    await credentials.obtain(shop, 'default', 'read')
    credentials.refused(shop, 'default', 'read')
    await credentials.obtain(shop, 'default', 'read')
    // Later it can only be about the new one.
    clock.pass(shop.timeouts.totalMs)
    credentials.refused(shop, 'default', 'read')
    await assert.rejects(credentials.obtain(shop, 'default', 'read'), unavailable(/refused/))
  })

  test('that nobody ever obtained is no matter', () => {
    const credentials = createCredentials({ env: { K: 'abcdefgh' } })
    credentials.refused(shopWith(bearer('env:K')), 'default', 'read')
    credentials.refused(shopWith(null), 'default', 'write')
    credentials.refused(shopWith(bearer('file:/x/{tenant}')), '../..', 'write')
    assert.equal(credentials.leaks(shopWith(bearer('file:/x/{tenant}')), '../..', 'abcdefgh'), false)
  })
})

describe('a line of the log', () => {
  test('that holds a secret of any upstream or tenant, however written, is replaced by a line that says so', async () => {
    const credentials = createCredentials({ env: { ONE: 'one-secret', OTHER: 'other "secret"' } })
    await credentials.obtain(shopWith(bearer('env:ONE'), null, 'one'), 'a', 'read')
    await credentials.obtain(shopWith(bearer('env:OTHER'), null, 'other'), 'b', 'read')
    const quoted = JSON.stringify('other "secret"')
    const lines = ['one-secret', quoted, JSON.stringify(quoted), Buffer.from('one-secret').toString('base64')]
    for (const line of lines) {
      const scrubbed = credentials.scrub(`{"msg":"upstream said","text":${JSON.stringify(line)}}`)
      assert.equal((JSON.parse(scrubbed) as { level: string }).level, 'error')
      assert.doesNotMatch(scrubbed, /secret""|one-secret|other|b25l/)
    }
    assert.equal(credentials.scrub('{"msg":"nothing in it"}'), '{"msg":"nothing in it"}')
  })
})

describe('checking what upstreams declare', () => {
  test('names every fault once, and knows that a tenant comes later', async () => {
    const credentials = createCredentials({ env: { SHORT: 'abc', GOOD: 'abcdefgh' } })
    const faults = await credentials.check([
      shopWith(bearer('env:GOOD'), bearer('env:SHORT'), 'one'),
      shopWith(bearer('env:MISSING'), bearer('env:MISSING'), 'two'),
      shopWith({ ...bearer('env:GOOD'), scheme: { kind: 'http', scheme: 'negotiate' } }, null, 'three'),
      shopWith(basic('env:GOOD', null), bearer('file:/nowhere/{tenant}'), 'four'),
      shopWith(bearer('vault:x'), null, 'five'),
      shopWith(null, null, 'six'),
    ])
    assert.deepEqual(faults.map(fault => fault.split(':')[0]), ['one', 'two', 'three', 'four', 'five'])
    assert.ok(faults.every(fault => !fault.includes('abcdefgh')))
  })
})
