// The control socket: how commands on the same machine reach a running broker. A Unix socket that only its owner may connect to; one line of JSON
// asks, one line answers, and the connection ends. Whoever may connect may do everything here, so the file's mode is the whole authorization.
import { lstatSync, mkdirSync, statSync, unlinkSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { CatalogFaults, isObject, type Fault, type Json, type JsonObject } from '../catalog/catalog.ts'
import { Refusal } from '../errors.ts'
import type { VaultKey } from '../execution/operator-lock.ts'
import { decodeJson } from './decode.ts'

export type ControlCommand =
  | { readonly command: 'reload' }
  | { readonly command: 'attempts', readonly unknown: boolean }
  | {
    readonly command: 'resolve'
    readonly id: string
    readonly outcome: 'completed' | 'rejected'
    /** Of a rejection; null for `completed`. */
    readonly code: string | null
    /** Why, in the words of the person. */
    readonly note: string
  }
  /** `iss` null: the one whose tokens the broker takes. */
  | { readonly command: 'runs stop', readonly iss: string | null, readonly sub: string, readonly tenant: string, readonly run: string, readonly note?: string }
  /** `note`: why, in the words of the person. */
  | { readonly command: 'state accept-loss', readonly note: string }
  | { readonly command: 'vault lock', readonly note: string }
  /** `key`: opens the vault of this replica; without it its own key does, where it has one. */
  | { readonly command: 'vault unlock', readonly note: string, readonly key?: VaultKey | null }
  | { readonly command: 'vault status' }

type Of<Name extends ControlCommand['command']> = Extract<ControlCommand, { command: Name }>

/** What the broker does for each command. A Refusal, CatalogFaults or other error that one throws becomes the answer. */
export interface ControlHandlers {
  readonly reload: (command: Of<'reload'>) => Promise<Json>
  readonly attempts: (command: Of<'attempts'>) => Promise<Json>
  readonly resolve: (command: Of<'resolve'>) => Promise<Json>
  readonly 'runs stop': (command: Of<'runs stop'>) => Promise<Json>
  readonly 'state accept-loss': (command: Of<'state accept-loss'>) => Promise<Json>
  readonly 'vault lock': (command: Of<'vault lock'>) => Promise<Json>
  readonly 'vault unlock': (command: Of<'vault unlock'>) => Promise<Json>
  readonly 'vault status': (command: Of<'vault status'>) => Promise<Json>
}

export type ControlAnswer =
  | { readonly ok: true, readonly result: Json }
  | { readonly ok: false, readonly error: { readonly code: string, readonly message: string, readonly faults?: readonly Fault[] } }

export interface ControlServer {
  close (): Promise<void>
}

/** The socket cannot be served or reached; the message is for whoever typed the command. */
export class ControlUnavailable extends Error {
  override readonly name = 'ControlUnavailable'
}

const QUESTION_BYTES_MAX = 64 * 1024
const ANSWER_BYTES_MAX = 16 * 1024 * 1024
/** For a client that connects and says nothing. */
const QUESTION_TIMEOUT_MS = 5_000
/** Linux: `sun_path` holds 108 bytes, the last one a zero. Node cuts a longer path without a word. */
const PATH_BYTES_MAX = 107

/**
 * Serves until closed; closing removes the socket file.
 * @param onFault told what a handler threw that is no refusal; the answer says it too
 * @throws ControlUnavailable where another broker serves there, or the place is not safe
 */
export async function serveControl (path: string, handlers: ControlHandlers, onFault: (error: unknown) => void): Promise<ControlServer> {
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) {
    throw new ControlUnavailable(`The path of the control socket is longer than ${PATH_BYTES_MAX} bytes: ${path}`)
  }
  prepareFolder(dirname(path))
  await removeStale(path)
  // Connections that have not asked yet; those that have are answered before the socket closes.
  const quiet = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, socket => {
    quiet.add(socket)
    socket.once('close', () => quiet.delete(socket))
    void converse(socket, line => {
      quiet.delete(socket)
      return answerTo(line, handlers, onFault)
    })
  })
  await listenPrivately(server, path)
  return {
    async close () {
      // Node removes the file as it closes.
      const closed = new Promise<void>(resolve => { server.close(() => { resolve() }) })
      for (const socket of quiet) socket.destroy()
      await closed
    },
  }
}

/** The folder is made for the owner alone. One that others may write to is refused: they could put a socket of their own in the place of ours. */
function prepareFolder (folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const writableByOthers = (statSync(folder).mode & 0o022) !== 0
  if (writableByOthers) throw new ControlUnavailable(`The folder of the control socket must not be writable by others: chmod go-w ${folder}`)
}

/** A broker that was killed leaves its file behind. Only a socket that nobody answers on is removed. */
async function removeStale (path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isSocket()) throw new ControlUnavailable(`There is something at ${path} that is no socket.`)
  const code = await new Promise<string | null>(resolve => {
    const probe = connect(path, () => {
      probe.destroy()
      resolve(null)
    }).once('error', (error: NodeJS.ErrnoException) => { resolve(error.code ?? '') })
  })
  if (code === null) throw new ControlUnavailable(`Another broker serves ${path}.`)
  if (code !== 'ECONNREFUSED' && code !== 'ENOENT') throw new ControlUnavailable(`The control socket ${path} cannot be looked at: ${code}`)
  if (code === 'ECONNREFUSED') unlinkSync(path)
}

async function listenPrivately (server: Server, path: string): Promise<void> {
  // The file is made before `listen` returns, so that the mask covers it and no moment is left in which others could connect.
  const mask = process.umask(0o177)
  const listening = new Promise<void>((resolve, reject) => { server.once('error', reject).listen(path, resolve) })
  process.umask(mask)
  try {
    await listening
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ControlUnavailable(code === 'EADDRINUSE' ? `Another broker serves ${path}.` : `The control socket ${path} cannot be served: ${code}`)
  }
}

async function converse (socket: Socket, answerLine: (line: Buffer) => Promise<ControlAnswer>): Promise<void> {
  socket.on('error', () => { socket.destroy() })
  socket.setTimeout(QUESTION_TIMEOUT_MS, () => { socket.destroy() })
  try {
    const line = await readLine(socket, QUESTION_BYTES_MAX)
    socket.setTimeout(0)
    const answer = await answerLine(line)
    if (!socket.destroyed) socket.end(`${JSON.stringify(answer)}\n`)
  } catch {
    socket.destroy()
  }
}

async function answerTo (line: Buffer, handlers: ControlHandlers, onFault: (error: unknown) => void): Promise<ControlAnswer> {
  try {
    const command = readCommand(decodeJson(line))
    const handle = handlers[command.command] as (given: ControlCommand) => Promise<Json>
    return { ok: true, result: await handle(command) }
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, error: { code: error.code, message: error.details.hint ?? error.message } }
    if (error instanceof CatalogFaults) return { ok: false, error: { code: 'CATALOG_FAULTS', message: error.message, faults: error.faults } }
    onFault(error)
    return { ok: false, error: { code: 'INTERNAL', message: error instanceof Error ? error.message : 'The broker met a fault of its own.' } }
  }
}

type Fits = (value: Json | undefined, given: JsonObject) => boolean

/** The form of each command: its fields and what each must be. Nothing else may stand in a question. */
const FORMS: { readonly [Name in ControlCommand['command']]: { readonly [Field in keyof Omit<Of<Name>, 'command'>]: Fits } } = {
  reload: {},
  attempts: { unknown: value => typeof value === 'boolean' },
  resolve: {
    id: isText,
    outcome: value => value === 'completed' || value === 'rejected',
    code: (value, given) => value === null || (given['outcome'] === 'rejected' && typeof value === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(value)),
    note: isText,
  },
  'runs stop': { iss: value => value === null || isText(value), sub: isText, tenant: isText, run: isText, note: value => value === undefined || isText(value) },
  'state accept-loss': { note: isText },
  'vault lock': { note: isText },
  'vault unlock': { note: isText, key: isVaultKey },
  'vault status': {},
}

function isVaultKey (value: Json | undefined): boolean {
  if (value === undefined || value === null) return true
  return isObject(value) && (value['kind'] === 'passphrase' || value['kind'] === 'identity') && isText(value['value']) && Object.keys(value).length === 2
}

function isText (value: Json | undefined): boolean {
  return typeof value === 'string' && value !== '' && value.length <= 2_000
}

function readCommand (asked: Json): ControlCommand {
  const malformed = (hint: string): Refusal => Refusal.of('MALFORMED_REQUEST', { hint })
  if (!isObject(asked)) throw malformed('A command is a JSON object.')
  const { command, ...given } = asked as JsonObject & { readonly command?: Json }
  if (typeof command !== 'string' || !Object.hasOwn(FORMS, command)) {
    throw malformed(`The broker knows no such command; it knows ${Object.keys(FORMS).join(', ')}.`)
  }
  const form = FORMS[command as ControlCommand['command']] as Readonly<Record<string, Fits>>
  for (const [name, fits] of Object.entries(form)) {
    if (!fits(given[name], given)) throw malformed(`The field "${name}" of "${command}" is missing or malformed.`)
  }
  const surplus = Object.keys(given).find(name => !Object.hasOwn(form, name))
  if (surplus !== undefined) throw malformed(`The command "${command}" has no field "${surplus}".`)
  return asked as unknown as ControlCommand
}

/** Everything up to the first line feed. @throws ControlUnavailable where the other side ends without one, or says too much */
function readLine (socket: Socket, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const lost = (): void => { reject(new ControlUnavailable('The connection to the broker ended before the answer was whole.')) }
    socket.on('error', lost).on('end', lost).on('close', lost)
    socket.on('data', (chunk: Buffer) => {
      const end = chunk.indexOf(0x0a)
      chunks.push(end === -1 ? chunk : chunk.subarray(0, end))
      size += chunks.at(-1)!.length
      if (size > bytesMax) reject(new ControlUnavailable('The line is too long.'))
      else if (end !== -1) resolve(Buffer.concat(chunks))
    })
  })
}

/**
 * Asks a running broker. The answer may take as long as the broker needs.
 * @throws ControlUnavailable where no broker answers there
 */
export async function askControl (path: string, command: ControlCommand): Promise<ControlAnswer> {
  const socket = connect(path)
  try {
    await new Promise<void>((resolve, reject) => { socket.once('connect', resolve).once('error', reject) })
    socket.write(`${JSON.stringify(command)}\n`)
    return JSON.parse((await readLine(socket, ANSWER_BYTES_MAX)).toString('utf8')) as ControlAnswer
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ECONNREFUSED') throw new ControlUnavailable(`No broker runs here: nothing answers at ${path}.`)
    if (code === 'EACCES') throw new ControlUnavailable(`Only the owner of the broker may use ${path}.`)
    if (error instanceof ControlUnavailable) throw error
    throw new ControlUnavailable(`The broker cannot be asked: ${code ?? 'its answer is not understood'}`)
  } finally {
    socket.destroy()
  }
}
