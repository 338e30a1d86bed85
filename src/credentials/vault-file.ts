// The file of the vault: JSON, encrypted in the format of age, so that other tools open it too. It is replaced whole and at once, and read only where
// nobody but its owner can.
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isObject, type Json } from '../catalog/catalog.ts'
import { SECRET_BYTES_MIN } from '../secret.ts'
import { inAgeThread, type AgeKey } from './age.ts'
import { SECRET_BYTES_MAX } from './secret-source.ts'

const FORMAT = 1
const FILE_BYTES_MAX = 16 * 1024 * 1024
const KEY_BYTES_MAX = 64 * 1024
export const VAULT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

export interface VaultEntry {
  readonly value: string
  /** Rises with each value. */
  readonly version: number
  /** ISO 8601. */
  readonly set_at: string
}

export interface VaultContents {
  readonly format: number
  /** Rises with each change of the file. */
  readonly revision: number
  /** Public keys that it is encrypted to; empty: a passphrase. */
  readonly recipients: readonly string[]
  readonly secrets: { readonly [name: string]: VaultEntry }
}

/** The vault cannot be opened or written. The message names the file and never what is in it. */
export class VaultFault extends Error {
  override readonly name = 'VaultFault'
}

export interface ReadVault {
  readonly contents: VaultContents
  /** What a stat says of the file that was read. */
  readonly mark: string
}

/** @throws VaultFault */
export async function readVault (path: string, key: AgeKey): Promise<ReadVault> {
  const { bytes, mark } = await readPrivate(path, FILE_BYTES_MAX, 0o077)
  const text = await inAgeThread({ what: 'open', bytes, key }).catch(() => null)
  if (text === null) throw new VaultFault(`${path} cannot be opened: the ${key.kind} is another one, or the file is damaged`)
  return { contents: contentsOf(path, text), mark }
}

/** @throws VaultFault */
export async function markOfVault (path: string): Promise<string> {
  return markOf(await stat(path, { bigint: true }).catch(error => { throw unreadable(path, error) }))
}

/** Whole and at once, 0600. @throws VaultFault */
export async function writeVault (path: string, contents: VaultContents, passphrase: string | null): Promise<void> {
  const text = `${JSON.stringify(contents, null, 2)}\n`
  const bytes = await inAgeThread({ what: 'seal', text, passphrase, recipients: contents.recipients })
    .catch(() => { throw new VaultFault('a recipient is no public key of age: it begins with age1') })
  await writePrivate(path, bytes)
}

/** @throws VaultFault */
export async function writePrivate (path: string, bytes: Uint8Array | string): Promise<void> {
  const beside = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`)
  try {
    const handle = await open(beside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
    try {
      await handle.writeFile(bytes)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(beside, path)
    const folder = await open(dirname(path), constants.O_RDONLY)
    await folder.sync().finally(() => folder.close())
  } catch (error) {
    await rm(beside, { force: true })
    throw new VaultFault(`${path} cannot be written: ${(error as NodeJS.ErrnoException).code ?? 'it failed'}`)
  }
}

/** The text of a file that holds an identity or a passphrase. @throws VaultFault */
export async function readKey (kind: AgeKey['kind'], path: string): Promise<AgeKey> {
  const { bytes } = await readPrivate(path, KEY_BYTES_MAX, 0o037)
  const text = bytes.toString('utf8')
  bytes.fill(0)
  // age-keygen writes comments above the identity.
  const value = kind === 'identity'
    ? text.split('\n').map(line => line.trim()).find(line => line.startsWith('AGE-SECRET-KEY-')) ?? ''
    : text.replace(/[\r\n]+$/, '')
  if (value === '') throw new VaultFault(`${path} holds no ${kind}`)
  return { kind, value }
}

/** @throws VaultFault */
async function readPrivate (path: string, bytesMax: number, refusedBits: number): Promise<{ readonly bytes: Buffer, readonly mark: string }> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(error => { throw unreadable(path, error) })
  try {
    const found = await handle.stat({ bigint: true })
    if (!found.isFile()) throw new VaultFault(`${path} is not a file`)
    if (found.size > BigInt(bytesMax)) throw new VaultFault(`${path} holds more than ${bytesMax} bytes`)
    const mode = Number(found.mode & 0o777n)
    if ((mode & refusedBits) !== 0) throw new VaultFault(`${path} has mode 0${mode.toString(8)}: others may read or change it; chmod 600 ${path}`)
    return { bytes: await handle.readFile(), mark: markOf(found) }
  } catch (error) {
    throw error instanceof VaultFault ? error : unreadable(path, error)
  } finally {
    await handle.close()
  }
}

function contentsOf (path: string, text: string): VaultContents {
  const damaged = (): VaultFault => new VaultFault(`${path} was opened, and what is in it is no vault of Aval`)
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch {
    throw damaged()
  }
  if (!isObject(value) || !isObject(value['secrets']) || !Array.isArray(value['recipients']) || !Number.isSafeInteger(value['revision'])) throw damaged()
  if (value['format'] !== FORMAT) throw new VaultFault(`${path} has format ${JSON.stringify(value['format'])}; this version of Aval knows ${FORMAT}`)
  const entries = Object.entries(value['secrets'])
  const fits = ([name, entry]: [string, unknown]): boolean => VAULT_NAME.test(name) && isObject(entry as Json) &&
    typeof (entry as unknown as VaultEntry).value === 'string' && Number.isSafeInteger((entry as unknown as VaultEntry).version) &&
    typeof (entry as unknown as VaultEntry).set_at === 'string'
  if (!entries.every(fits)) throw damaged()
  return value as unknown as VaultContents
}

export const emptyVault = (recipients: readonly string[]): VaultContents => ({ format: FORMAT, revision: 1, recipients, secrets: {} })

/** @throws VaultFault where the value cannot be a secret */
export function withSecret (contents: VaultContents, name: string, bytes: Buffer, now: Date): VaultContents {
  if (!VAULT_NAME.test(name)) throw new VaultFault('a name begins with a letter or digit and holds letters, digits, `.`, `_` and `-`, 128 at most')
  const value = bytes.toString('utf8').replace(/[\r\n]+$/, '')
  const length = Buffer.byteLength(value)
  if (!Buffer.from(bytes.toString('utf8')).equals(bytes)) throw new VaultFault('the value is no text in UTF-8')
  if (length < SECRET_BYTES_MIN) throw new VaultFault(`the value holds fewer than ${SECRET_BYTES_MIN} bytes`)
  if (length > SECRET_BYTES_MAX) throw new VaultFault(`the value holds more than ${SECRET_BYTES_MAX} bytes`)
  const version = (Object.hasOwn(contents.secrets, name) ? contents.secrets[name]!.version : 0) + 1
  const secrets = { ...contents.secrets, [name]: { value, version, set_at: now.toISOString() } }
  return { ...contents, revision: contents.revision + 1, secrets }
}

const markOf = (found: { readonly [Name in 'dev' | 'ino' | 'size' | 'mtimeNs' | 'ctimeNs']: bigint }): string =>
  [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(':')

function unreadable (path: string, error: unknown): VaultFault {
  const { code } = error as NodeJS.ErrnoException
  return new VaultFault(code === 'ENOENT' ? `${path} is not there` : `${path} cannot be read: ${code ?? 'it failed'}`)
}
