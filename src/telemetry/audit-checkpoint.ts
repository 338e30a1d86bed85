// Checkpoints: signed statements of how long a writer's chain is and what its head is, as C2SP signed notes (c2sp.org/signed-note, tlog-checkpoint).
// They are what shows that rows were cut off, so copies belong where whoever can write the audit folder cannot write.
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign, verify, type KeyObject } from 'node:crypto'
import { link, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The name beside each signature. */
const SIGNER = 'aval-audit'
const ORIGIN = 'aval/audit/'
/** Signature type of Ed25519 in a key id. */
const ED25519 = Buffer.from([0x01])

export const CHECKPOINT_KEY_FILE = 'checkpoint.key'
export const CHECKPOINT_PUBLIC_FILE = 'checkpoint.pub'

export interface Checkpoint {
  readonly writer: string
  /** The seq of the row that is the head; 0: none yet. */
  readonly size: number
  /** Its hash, in hexadecimal. */
  readonly head: string
  readonly time: string
}

export interface CheckpointSigner {
  /** First 4 bytes of SHA-256 over name and key, in hexadecimal: what a note calls the key. */
  readonly keyId: string
  readonly publicKeyPem: string
  /** The note, with the empty line after it. */
  sign (checkpoint: Checkpoint): string
}

/** The key of this folder; made when there is none, 0600, and never the key of anything else. */
export async function openCheckpointSigner (folder: string): Promise<CheckpointSigner> {
  const path = join(folder, CHECKPOINT_KEY_FILE)
  const privateKey = createPrivateKey(await readOrMake(path))
  if (privateKey.asymmetricKeyType !== 'ed25519') throw new Error(`${CHECKPOINT_KEY_FILE} is no Ed25519 key`)
  const publicKey = createPublicKey(privateKey)
  const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  await writeFile(join(folder, CHECKPOINT_PUBLIC_FILE), publicKeyPem, { mode: 0o644 })
  const id = keyIdOf(publicKey)
  return {
    keyId: id.toString('hex'),
    publicKeyPem,
    sign (checkpoint) {
      const text = noteText(checkpoint)
      const signature = Buffer.concat([id, sign(null, Buffer.from(text), privateKey)])
      return `${text}\n\u2014 ${SIGNER} ${signature.toString('base64')}\n\n`
    },
  }
}

/** Made beside its place and linked: two processes that start at once end with one key, and no crash leaves half of one. */
async function readOrMake (path: string): Promise<string> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(pem)
      await file.sync()
    } finally {
      await file.close()
    }
    await link(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(draft, { force: true })
  }
  return readFile(path, 'utf8')
}

export async function makeAuditFolder (folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
}

function noteText ({ writer, size, head, time }: Checkpoint): string {
  return `${ORIGIN}${writer}\n${size}\n${Buffer.from(head, 'hex').toString('base64')}\n${time}\n`
}

function keyIdOf (publicKey: KeyObject): Buffer {
  const jwk = publicKey.export({ format: 'jwk' })
  const raw = Buffer.from(jwk.x!, 'base64url')
  return createHash('sha256').update(`${SIGNER}\n`).update(ED25519).update(raw).digest().subarray(0, 4)
}

/** @throws Error where it is no Ed25519 public key in PEM */
export function publicKeyId (publicKeyPem: string): string {
  return keyIdOf(ed25519(publicKeyPem)).toString('hex')
}

function ed25519 (publicKeyPem: string): KeyObject {
  const key = createPublicKey(publicKeyPem)
  if (key.asymmetricKeyType !== 'ed25519') throw new Error('the public key is no Ed25519 key')
  return key
}

export type ReadNote =
  | { readonly kind: 'good', readonly checkpoint: Checkpoint }
  | { readonly kind: 'unknown_key', readonly checkpoint: Checkpoint, readonly keyId: string }
  | { readonly kind: 'bad', readonly reason: string }

/**
 * Reads a file of notes. `torn` where it ends in the middle of one, as after a crash.
 * @param publicKeyPem @throws Error where it is no Ed25519 public key
 */
export function readNotes (text: string, publicKeyPem: string): { readonly notes: readonly ReadNote[], readonly torn: boolean } {
  const publicKey = ed25519(publicKeyPem)
  const id = keyIdOf(publicKey)
  const notes: ReadNote[] = []
  const lines = text.split('\n')
  // Seven lines a note, the last one empty; after the last note stands the rest of the split, empty too.
  const whole = Math.floor((lines.length - 1) / 7)
  for (let index = 0; index < whole; index += 1) notes.push(readNote(lines.slice(index * 7, index * 7 + 7), publicKey, id))
  return { notes, torn: lines.length - 1 > whole * 7 || lines.at(-1) !== '' }
}

function readNote (lines: readonly string[], publicKey: KeyObject, id: Buffer): ReadNote {
  const [origin, size, head, time, gap, signatureLine, end] = lines as [string, string, string, string, string, string, string]
  const prefix = `\u2014 ${SIGNER} `
  if (!origin.startsWith(ORIGIN) || !/^(0|[1-9][0-9]{0,15})$/.test(size) || gap !== '' || end !== '' || !signatureLine.startsWith(prefix)) {
    return { kind: 'bad', reason: 'is no checkpoint' }
  }
  const bytes = exactBase64(head, 32)
  const signature = exactBase64(signatureLine.slice(prefix.length), 68)
  if (bytes === null || signature === null) return { kind: 'bad', reason: 'is no checkpoint' }
  const checkpoint: Checkpoint = { writer: origin.slice(ORIGIN.length), size: Number(size), head: bytes.toString('hex'), time }
  if (!signature.subarray(0, 4).equals(id)) return { kind: 'unknown_key', checkpoint, keyId: signature.subarray(0, 4).toString('hex') }
  const holds = verify(null, Buffer.from(noteText(checkpoint)), publicKey, signature.subarray(4))
  return holds ? { kind: 'good', checkpoint } : { kind: 'bad', reason: 'has a signature that does not hold' }
}

/** Base64 can spell the same bytes in two ways; the other one is a changed byte. */
function exactBase64 (text: string, length: number): Buffer | null {
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === length && bytes.toString('base64') === text ? bytes : null
}
