// The key of all HMACs (AVAL_KEY): 32 bytes in base64. Names of attempts and upstream idempotency keys come from it, so a key that changes unseen
// would let old calls run anew: a damaged one is refused, and one is made only where no other process can have another.
import { constants } from 'node:fs'
import { link, mkdir, open, rm, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { randomBytes } from 'node:crypto'
import { Secret } from './secret.ts'
import type { Config } from './config.ts'

const KEY_BYTES = 32

/** The key cannot be had: the message says why, and never holds the key. */
export class KeyFault extends Error {
  override readonly name = 'KeyFault'
}

/** @throws KeyFault */
export async function openKey (config: Pick<Config, 'key' | 'keyMayBeMade' | 'environment'>): Promise<Secret> {
  const source = config.key
  if (source.kind === 'env') {
    const text = Object.hasOwn(config.environment, source.name) ? config.environment[source.name] : undefined
    if (text === undefined) throw new KeyFault('AVAL_KEY names a variable that is not set')
    return decodeKey(`env:${source.name}`, text)
  }
  const made = config.keyMayBeMade ? await makeKey(source.path) : null
  return made ?? decodeKey(`file:${source.path}`, await readKeyFile(source.path))
}

/**
 * null where the file is already there. It is written beside its place and then linked, so that no crash leaves half a key; the folder is synced
 * too, since a key that a power loss forgets would be made anew.
 */
async function makeKey (path: string): Promise<Secret | null> {
  const folder = dirname(path)
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  const key = randomBytes(KEY_BYTES)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeDurably(draft, `${key.toString('base64')}\n`)
    await link(draft, path)
    await syncFolder(folder)
    return new Secret(`file:${path}`, key)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return null
    throw new KeyFault(`the key file cannot be made: ${code}`)
  } finally {
    await rm(draft, { force: true })
  }
}

async function writeDurably (path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function syncFolder (path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

async function readKeyFile (path: string): Promise<string> {
  let file: FileHandle
  try {
    file = await open(path, constants.O_RDONLY)
  } catch (error) {
    throw new KeyFault(`the key file cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
  try {
    // Readable by the group is how orchestrators hand secrets to a process that is not root; by everyone is a mistake.
    const { mode } = await file.stat()
    if ((mode & 0o007) !== 0) throw new KeyFault('the key file can be read by everyone on this machine: chmod 600 it')
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

function decodeKey (reference: string, text: string): Secret {
  const trimmed = text.trim()
  const bytes = Buffer.from(trimmed, 'base64')
  // Buffer.from takes what it can and drops the rest: only what encodes back to the same text was base64.
  if (bytes.length !== KEY_BYTES || bytes.toString('base64') !== trimmed) throw new KeyFault('AVAL_KEY must hold 32 bytes in base64')
  return new Secret(reference, bytes)
}
