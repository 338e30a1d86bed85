// The encrypted file: who can open it, what its commands say, and how it is changed.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Decrypter, generateX25519Identity, identityToRecipient } from 'age-encryption'
import { main } from '../../src/cli.ts'
import { emptyVault, readKey, readVault, VaultFault, withSecret, writeVault } from '../../src/credentials/vault-file.ts'
import { createVault } from '../../src/credentials/vault.ts'
import { SecretUnavailable } from '../../src/credentials/secret-source.ts'
import { lockBeside } from '../../src/store/sqlite-file.ts'
import { PROCESS_ENV } from '../support/process-env.ts'

const VALUE = 'canary-4f1d9b7c2a60'

function folder (t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'aval-vault-'))
  t.after(() => rmSync(made, { recursive: true, force: true }))
  return made
}

interface Said { readonly code: number | null, readonly out: string, readonly err: string }

/** `aval …`: in this process, and where something stands on stdin in one of its own. */
async function aval (words: readonly string[], env: Readonly<Record<string, string>>, input: string | null = null): Promise<Said> {
  let [out, err] = ['', '']
  if (input === null) {
    const code = await main(words, {
      env, print: text => { out += `${text}\n` }, tell: text => { err += `${text}\n` }, startBroker: async () => assert.fail('no broker is started'),
    })
    return { code, out, err }
  }
  const child = spawn(process.execPath, ['src/cli.ts', ...words], { env: { ...PROCESS_ENV, ...env }, stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdout.on('data', chunk => { out += chunk })
  child.stderr.on('data', chunk => { err += chunk })
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  return new Promise(resolve => child.once('close', code => resolve({ code, out, err })))
}

const textFile = (path: string, text: string, mode = 0o600): string => {
  writeFileSync(path, text, { mode })
  return path
}

test('it is made, filled, listed and given another key, and no command ever shows a value', async t => {
  const at = folder(t)
  const env = { AVAL_DATA: join(at, 'data'), AVAL_VAULT: `file:${join(at, 'v.age')},identity=file:${join(at, 'v.key')}` }
  const said: Said[] = []
  const run = async (words: readonly string[], input: string | null = null): Promise<Said> => {
    const one = await aval(words, env, input)
    said.push(one)
    return one
  }
  assert.equal((await run(['vault', 'init'])).code, 0)
  assert.deepEqual([statSync(join(at, 'v.age')).mode & 0o777, statSync(join(at, 'v.key')).mode & 0o777], [0o600, 0o600])
  assert.match((await run(['vault', 'init'])).err, /is there already/)
  assert.equal((await run(['vault', 'set', 'shop'], `${VALUE}\n`)).code, 0)
  assert.match((await run(['vault', 'set', 'shop'], `${VALUE}-2\r\n`)).err, /vault:shop is set, version 2/)
  assert.deepEqual(JSON.parse((await run(['vault', 'list', '--json'])).out).secrets.map(({ name, version }: any) => [name, version]), [['shop', 2]])
  const passphrase = textFile(join(at, 'words'), 'correct horse battery staple\n')
  assert.equal((await run(['vault', 'rotate', '--new-passphrase-file', passphrase])).code, 0)
  assert.match((await run(['vault', 'list'])).err, /cannot be opened: the identity is another one, or the file is damaged/)
  assert.equal((await run(['vault', 'list', '--passphrase-file', passphrase])).out, 'shop  version 2  0 days old\n')
  assert.doesNotMatch(said.map(({ out, err }) => out + err).join(), /canary|correct horse|AGE-SECRET-KEY/)
  assert.deepEqual(readdirSync(at).filter(name => name.startsWith('.')), [], 'nothing half-written lies about')
  const decrypter = new Decrypter()
  decrypter.addPassphrase('correct horse battery staple')
  const text = await decrypter.decrypt(readFileSync(join(at, 'v.age')), 'text')
  assert.equal(JSON.parse(text).secrets.shop.value, `${VALUE}-2`, 'other tools of age open it')
})

test('what cannot be a secret, or its name, is refused', () => {
  const refused = (name: string, bytes: Buffer, why: RegExp): void => assert.throws(() => withSecret(emptyVault([]), name, bytes, new Date()), why)
  refused('short', Buffer.from('seven77\n'), /fewer than 8 bytes/)
  refused('long', Buffer.alloc(70_000, 65), /more than/)
  refused('bytes', Buffer.from([0xff, 0xfe, 1, 2, 3, 4, 5, 6, 7]), /no text in UTF-8/)
  for (const name of ['../up', '', 'a b', '-x', 'a'.repeat(129)]) refused(name, Buffer.from(VALUE), /a name begins with/)
})

test('a value is never taken from the command line', async t => {
  const at = folder(t)
  const said = await aval(['vault', 'set', 'shop', VALUE], { AVAL_VAULT: `file:${join(at, 'v.age')}`, AVAL_DATA: at })
  assert.equal(said.code, 2)
  assert.ok(!existsSync(join(at, 'v.age')))
})

test('while one command edits it another is refused, and so is one that has no key and no terminal', async t => {
  const at = folder(t)
  const path = join(at, 'v.age')
  const env = { AVAL_DATA: at, AVAL_VAULT: `file:${path},identity=file:${join(at, 'v.key')}` }
  assert.equal((await aval(['vault', 'init'], env)).code, 0)
  const before = readFileSync(path)
  const lock = lockBeside(`${path}.lock`)
  const said = await aval(['vault', 'set', 'shop'], env, VALUE)
  lock.close()
  assert.deepEqual([said.code, /being edited by another command/.test(said.err)], [2, true], said.err)
  assert.ok(readFileSync(path).equals(before))
})

test('what opens no vault says why, in words that hold nothing of it', async t => {
  const at = folder(t)
  const path = join(at, 'v.age')
  const key = { kind: 'identity', value: await generateX25519Identity() } as const
  await writeVault(path, withSecret(emptyVault([await identityToRecipient(key.value)]), 'shop', Buffer.from(VALUE), new Date()), null)
  const faults = async (work: Promise<unknown>): Promise<string> => {
    const error = await work.then(() => assert.fail('it was opened'), (fault: unknown) => fault)
    assert.ok(error instanceof VaultFault, String(error))
    assert.doesNotMatch(error.message, /canary|AGE-SECRET-KEY/)
    return error.message
  }
  assert.match(await faults(readVault(path, { kind: 'identity', value: await generateX25519Identity() })), /the identity is another one, or the file is damaged/)
  assert.match(await faults(readVault(path, { kind: 'passphrase', value: 'words' })), /the passphrase is another one, or the file is damaged/)
  assert.match(await faults(readVault(join(at, 'none'), key)), /is not there/)
  for (const mode of [0o640, 0o604, 0o620, 0o666]) {
    chmodSync(path, mode)
    assert.match(await faults(readVault(path, key)), /others may read or change it/, mode.toString(8))
  }
  chmodSync(path, 0o600)
  const bytes = readFileSync(path)
  for (const at of [10, Math.floor(bytes.length / 2), bytes.length - 1]) {
    const damaged = Buffer.from(bytes)
    damaged[at]! ^= 1
    writeFileSync(path, damaged)
    assert.match(await faults(readVault(path, key)), /damaged/, `byte ${at}`)
  }
  writeFileSync(path, bytes.subarray(0, -1))
  assert.match(await faults(readVault(path, key)), /damaged/)
  assert.match(await faults(readKey('identity', textFile(join(at, 'k'), '# nothing\n'))), /holds no identity/)
  assert.match(await faults(readKey('passphrase', textFile(join(at, 'p'), 'words', 0o644))), /others may read/)
})

test('an open vault takes what is set meanwhile; closed, nothing of it is left', async t => {
  const at = folder(t)
  const path = join(at, 'v.age')
  let nowMs = 0
  const identity = await generateX25519Identity()
  const one = withSecret(emptyVault([await identityToRecipient(identity)]), 'shop', Buffer.from(VALUE), new Date())
  await writeVault(path, one, null)
  const vault = createVault({ path, key: { kind: 'identity', path: textFile(join(at, 'key'), identity) }, nowMs: () => nowMs })
  const shop = vault.source('shop')
  await assert.rejects(shop.current(), SecretUnavailable)
  await vault.open(null)
  const first = await shop.current()
  assert.equal(first.reveal().toString(), VALUE)
  await assert.rejects(vault.source('bank').current(), /vault:bank is not in the vault/)
  await writeVault(path, withSecret(one, 'shop', Buffer.from('another value'), new Date()), null)
  assert.equal(await shop.current(), first, 'looked at a moment ago')
  nowMs += 2_000
  const second = await shop.current()
  assert.equal(second.reveal().toString(), 'another value')
  assert.deepEqual(shop.live(), [second, first], 'the one before is still looked for in answers')
  rmSync(path)
  nowMs += 2_000
  await assert.rejects(shop.current(), /is not there/)
  vault.close()
  assert.deepEqual([first.reveal().length, second.reveal().length, shop.live(), shop.isBlind!()], [0, 0, [], true])
  await assert.rejects(shop.current(), /the vault is closed/)
})

test('a vault that is closed while it is being opened stays closed', async t => {
  const at = folder(t)
  const path = join(at, 'v.age')
  const value = await generateX25519Identity()
  await writeVault(path, emptyVault([await identityToRecipient(value)]), null)
  const vault = createVault({ path, key: null })
  const opening = vault.open({ kind: 'identity', value })
  vault.close()
  await assert.rejects(opening, VaultFault)
  assert.equal(vault.isOpen(), false)
})
