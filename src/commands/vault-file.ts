// `aval vault init`, `set`, `list` and `rotate`: the encrypted file itself. No value is ever printed, and none is taken from the command line, which
// others on the machine can read.
import { existsSync } from 'node:fs'
import { generateX25519Identity, identityToRecipient } from 'age-encryption'
import type { AgeKey } from '../credentials/age.ts'
import { emptyVault, readKey, readVault, withSecret, writePrivate, writeVault, type VaultContents } from '../credentials/vault-file.ts'
import { readLocalConfig } from '../config.ts'
import type { VaultPlace } from '../config-values.ts'
import { lockBeside } from '../store/sqlite-file.ts'
import { StateRefused } from '../store/store.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'
import { faultless, KEY_FLAGS, keyOfFlags, typedPassphrase } from './vault-key.ts'

const STDIN_BYTES_MAX = 1 << 20
const RECIPIENT = { type: 'string', multiple: true, value: 'AGE1…', about: 'a public key that can open it too' } as const

export const vaultInit: Command = {
  name: 'vault init',
  summary: 'Make the encrypted file that AVAL_VAULT names. An identity file that it names and that is not there is made.',
  usage: '[--identity-file PATH | --passphrase-file PATH] [--recipient AGE1…]…',
  flags: { ...KEY_FLAGS, recipient: RECIPIENT },
  words: { min: 0, max: 0 },
  run: init,
}

export const vaultSet: Command = {
  name: 'vault set',
  summary: 'Put a secret into the vault, or give it another value, which is read from stdin. A running broker takes it within a second.',
  usage: 'NAME [--identity-file PATH | --passphrase-file PATH] < VALUE',
  flags: KEY_FLAGS,
  words: { min: 1, max: 1 },
  run: set,
}

export const vaultList: Command = {
  name: 'vault list',
  summary: 'List the names in the vault, with the version and the age of each, and no value.',
  usage: '[--identity-file PATH | --passphrase-file PATH]',
  flags: KEY_FLAGS,
  words: { min: 0, max: 0 },
  run: list,
}

export const vaultRotate: Command = {
  name: 'vault rotate',
  summary: 'Encrypt the vault anew, so that another key opens it and the one before does not.',
  usage: '[--identity-file PATH | --passphrase-file PATH] --new-identity-file PATH | --new-passphrase-file PATH [--recipient AGE1…]…',
  flags: {
    ...KEY_FLAGS,
    'new-identity-file': { type: 'string', value: 'PATH', about: 'the identity that opens it from now on' },
    'new-passphrase-file': { type: 'string', value: 'PATH', about: 'the passphrase that opens it from now on' },
    recipient: RECIPIENT,
  },
  words: { min: 0, max: 0 },
  run: rotate,
}

async function init (ask: Ask): Promise<ExitCode> {
  const place = placeOf(ask)
  return edited(place, async () => {
    if (existsSync(place.path)) throw new CommandFault(`${place.path} is there already`)
    const key = await keyOfFlags(ask) ?? await madeOrOwn(ask, place) ?? await twice()
    await writeVault(place.path, emptyVault(await recipientsOf(ask, key)), passphraseOf(key))
    ask.tell(`${place.path} is made; it is empty`)
    return 0
  })
}

async function set (ask: Ask): Promise<ExitCode> {
  const place = placeOf(ask)
  const name = ask.words[0]!
  const value = await stdin()
  return edited(place, async () => {
    const { contents, key } = await opened(ask, place)
    const next = withSecret(contents, name, value, new Date())
    value.fill(0)
    await writeVault(place.path, next, passphraseOf(key))
    ask.tell(`vault:${name} is set, version ${next.secrets[name]!.version}`)
    return 0
  })
}

async function list (ask: Ask): Promise<ExitCode> {
  const { contents } = await faultless(() => opened(ask, placeOf(ask)))
  const secrets = Object.entries(contents.secrets).sort(([one], [other]) => one < other ? -1 : 1)
    .map(([name, { version, set_at: setAt }]) => ({ name, version, set_at: setAt, age_days: Math.max(0, Math.floor((Date.now() - Date.parse(setAt)) / 86_400_000)) }))
  if (ask.json) ask.print(JSON.stringify({ revision: contents.revision, secrets }))
  else for (const { name, version, age_days: days } of secrets) ask.print(`${name}  version ${version}  ${days} ${days === 1 ? 'day' : 'days'} old`)
  return 0
}

async function rotate (ask: Ask): Promise<ExitCode> {
  const place = placeOf(ask)
  const next = await keyOfFlags(ask, 'new-')
  if (next === null) throw new CommandFault('--new-identity-file or --new-passphrase-file is missing: what is to open it from now on')
  return edited(place, async () => {
    const { contents } = await opened(ask, place)
    const recipients = await recipientsOf(ask, next)
    await writeVault(place.path, { ...contents, revision: contents.revision + 1, recipients }, passphraseOf(next))
    ask.tell(`${place.path} is encrypted anew; copies of the file before are still opened by the key before`)
    return 0
  })
}

/** One edit at a time: of two that read the same file, the second would undo the first. */
async function edited (place: VaultPlace, work: () => Promise<ExitCode>): Promise<ExitCode> {
  let lock: { close (): void }
  try {
    lock = lockBeside(`${place.path}.lock`)
  } catch (error) {
    if (!(error instanceof StateRefused)) throw error
    throw new CommandFault(`${place.path} is being edited by another command, or its folder cannot be used`)
  }
  try {
    return await faultless(work)
  } finally {
    lock.close()
  }
}

async function opened (ask: Ask, place: VaultPlace): Promise<{ readonly contents: VaultContents, readonly key: AgeKey }> {
  const key = await keyOfFlags(ask) ?? await ownKey(place) ?? await typedPassphrase('passphrase of the vault: ')
  return { contents: (await readVault(place.path, key)).contents, key }
}

const ownKey = async ({ key }: VaultPlace): Promise<AgeKey | null> => key === null ? null : readKey(key.kind, key.path)

async function madeOrOwn (ask: Ask, { key, path }: VaultPlace): Promise<AgeKey | null> {
  if (key === null) return null
  if (key.kind === 'identity' && !existsSync(key.path)) {
    const identity = await generateX25519Identity()
    await writePrivate(key.path, `# opens ${path}\n# public key: ${await identityToRecipient(identity)}\n${identity}\n`)
    ask.tell(`${key.path} is made: whoever has it can open the vault, and without it nobody can`)
  }
  return readKey(key.kind, key.path)
}

async function twice (): Promise<AgeKey> {
  const key = await typedPassphrase('passphrase of the new vault: ')
  const again = await typedPassphrase('once more: ')
  if (key.value !== again.value) throw new CommandFault('the two differ; nothing was made')
  return key
}

/** @throws CommandFault where age knows no file that a passphrase and a public key both open */
async function recipientsOf (ask: Ask, key: AgeKey): Promise<readonly string[]> {
  const more = ask.flags.texts('recipient')
  if (key.kind === 'identity') {
    const own = await identityToRecipient(key.value).catch(() => { throw new CommandFault('the identity is none of age: it begins with AGE-SECRET-KEY-1') })
    return [...new Set([own, ...more])]
  }
  if (more.length > 0) throw new CommandFault('a vault that a passphrase opens has no recipients: give an identity')
  return []
}

const passphraseOf = (key: AgeKey): string | null => key.kind === 'passphrase' ? key.value : null

function placeOf (ask: Ask): VaultPlace {
  const { vault } = readLocalConfig(ask.env)
  if (vault === null) throw new CommandFault('AVAL_VAULT is not set: it names the file, as in file:/etc/aval/vault.age')
  return vault
}

async function stdin (): Promise<Buffer> {
  if (process.stdin.isTTY) throw new CommandFault('the value is read from stdin: aval vault set NAME < FILE')
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of process.stdin) {
    size += (chunk as Buffer).length
    if (size > STDIN_BYTES_MAX) throw new CommandFault('the value is too long')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks)
}
