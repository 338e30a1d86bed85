// `actions/aval.lock`: which actions, with which digests, a team has looked at and means to serve. Here it is read and held against a catalog;
// `aval lock` writes it.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CatalogFaults, isObject, type Action, type Catalog, type Consent, type Effect, type Fault, type Json } from './catalog.ts'

export const LOCK_NAME = 'aval.lock'
export const LOCK_FORMAT = 1

export interface LockedAction {
  readonly version: number
  readonly upstream: string
  readonly effect: Effect
  readonly consent: Consent
  /** Of the sheet, its upstream.yaml and the operations together: what `serve` compares. */
  readonly digest: string
  readonly sheet: string
  /** Of the closure of each operation that it rests on, by what it is for. */
  readonly operations: { readonly [use: string]: string }
  /** Of parts of the sheet, so that a difference can be told by what it means. */
  readonly parts: { readonly [part: string]: string }
}

export interface Lock {
  readonly format: number
  /** The libraries that judged. */
  readonly judges: { readonly [name: string]: string }
  /** Of the whole catalog, policy included. */
  readonly catalog: string
  readonly roles: { readonly [role: string]: readonly string[] }
  readonly actions: { readonly [id: string]: LockedAction }
}

export interface LockFile {
  readonly lock: Lock
  readonly text: string
}

/** @throws CatalogFaults where it is not there, or is none */
export async function readLock (actionsFolder: string): Promise<LockFile> {
  let text: string
  try {
    text = await readFile(join(actionsFolder, LOCK_NAME), 'utf8')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    throw refusal('lock-missing', code === 'ENOENT' ? 'there is no lock; `aval lock` writes one' : `the lock cannot be read (${String(code)})`)
  }
  const lock = parse(text)
  if (lock === null) throw refusal('lock-malformed', 'this is no lock of Aval; `aval lock` writes one')
  if (lock.format !== LOCK_FORMAT) {
    throw refusal('lock-format', `the lock has the format ${String(lock.format)}, and this version of Aval reads ${LOCK_FORMAT}`)
  }
  return { lock, text }
}

function parse (text: string): Lock | null {
  try {
    const value = JSON.parse(text) as Json
    return isObject(value) && isObject(value.actions) && isObject(value.roles) && typeof value.catalog === 'string' ? value as unknown as Lock : null
  } catch {
    return null
  }
}

const refusal = (rule: string, message: string): CatalogFaults => new CatalogFaults([{ file: LOCK_NAME, line: 1, column: 1, rule, message }])

/** What a catalog has that its lock has not, and the other way round; each at its line of the lock. */
export function differencesFromLock ({ lock, text }: LockFile, catalog: Catalog): readonly Fault[] {
  const lines = text.split('\n')
  const fault = (name: string, rule: string, message: string): Fault => {
    const line = lines.findIndex(one => one.trimStart().startsWith(`${JSON.stringify(name)}:`))
    return { file: LOCK_NAME, line: Math.max(line, 0) + 1, column: 1, rule, message }
  }
  const faults: Fault[] = []
  for (const [id, action] of catalog.actions) {
    const locked = Object.hasOwn(lock.actions, id) ? lock.actions[id]! : null
    const why = locked === null ? 'is not in the lock' : differenceOf(locked, action)
    if (why !== null) faults.push(fault(id, 'lock-differs', `${id} ${why}`))
  }
  for (const id of Object.keys(lock.actions)) if (!catalog.actions.has(id)) faults.push(fault(id, 'lock-differs', `${id} is in the lock and is gone`))
  for (const name of new Set([...catalog.roles.keys(), ...Object.keys(lock.roles)])) {
    const [locked, now] = [lock.roles[name] ?? [], [...catalog.roles.get(name)?.actions ?? []].sort()]
    if (JSON.stringify([...locked].sort()) !== JSON.stringify(now)) {
      faults.push(fault(name, 'lock-differs', `the role ${name} grants other actions than in the lock`))
    }
  }
  if (faults.length === 0 && lock.catalog !== catalog.digest) faults.push(fault('catalog', 'lock-differs', 'the policy has changed since the lock'))
  return faults
}

function differenceOf (locked: LockedAction, action: Action): string | null {
  if (locked.effect !== action.effect) return `is ${action.effect}, and ${locked.effect} in the lock`
  if (locked.consent !== action.consent) return `needs the consent ${action.consent}, and ${locked.consent} in the lock`
  return locked.digest === action.digest ? null : 'has changed, or what it rests on has'
}

/** @throws CatalogFaults with every difference */
export async function requireLock (actionsFolder: string, catalog: Catalog): Promise<void> {
  const faults = differencesFromLock(await readLock(actionsFolder), catalog)
  if (faults.length > 0) throw new CatalogFaults(faults)
}
