// Where a terminal keeps its sign-in: one file of the person's own, which nobody else may read. It holds what a browser would keep in two cookies, for
// as long as the broker lets a session live, and nothing of the identity provider's.
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir, open, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Environment } from '../../config.ts'
import { CommandFault } from '../command.ts'

export interface Cookies {
  readonly view: string
  readonly decide: string
}

type Kept = { readonly [origin: string]: Cookies }

/** https://specifications.freedesktop.org/basedir-spec: state that is worth keeping and no configuration. */
export function sessionPath (env: Environment): string {
  const state = env['XDG_STATE_HOME'] ?? (env['HOME'] === undefined ? undefined : join(env['HOME'], '.local', 'state'))
  if (state === undefined || state === '') throw new CommandFault('there is no HOME to keep the sign-in in; give --session-file')
  return join(state, 'aval', 'approvals.json')
}

/** @throws CommandFault where others could read it */
export async function readSession (path: string, origin: string): Promise<Cookies | null> {
  const found = (await readAll(path))[origin]
  return typeof found?.view === 'string' && typeof found.decide === 'string' ? found : null
}

/** @param cookies null: the sign-in of this origin is forgotten */
export async function writeSession (path: string, origin: string, cookies: Cookies | null): Promise<void> {
  const { [origin]: _, ...others } = await readAll(path)
  const kept: Kept = cookies === null ? others : { ...others, [origin]: cookies }
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  const handle = await open(draft, 'wx', 0o600)
  try {
    await handle.writeFile(JSON.stringify(kept))
  } finally {
    await handle.close()
  }
  await rename(draft, path)
}

async function readAll (path: string): Promise<Kept> {
  let handle
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return {}
    throw new CommandFault(`${path} cannot be read: ${code ?? 'it failed'}`)
  }
  try {
    const found = await handle.stat()
    if (!found.isFile() || (found.mode & 0o077) !== 0) throw new CommandFault(`${path} must be a file that nobody but you may read (mode 0600)`)
    return JSON.parse(await handle.readFile('utf8')) as Kept
  } catch (error) {
    if (error instanceof SyntaxError) return {}
    throw error
  } finally {
    await handle.close()
  }
}
