// The sheets and documents of a git revision, written out into a folder that is gone afterwards. The working tree and its index stay as they are.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import type { LoadOptions } from '../catalog/load.ts'
import type { Environment } from '../config.ts'
import { CommandFault } from './command.ts'

const run = promisify(execFile)

/** @throws CommandFault where there is no such revision, or it does not hold the folders */
export async function withRevision<Value> (
  revision: string, folders: LoadOptions, env: Environment, work: (folders: LoadOptions) => Promise<Value>
): Promise<Value> {
  const folder = await mkdtemp(join(tmpdir(), 'aval-revision-'))
  try {
    const git = async (args: readonly string[], more: Environment = {}): Promise<string> => {
      const { stdout } = await run('git', [...args], { cwd: folders.actionsFolder, env: { ...env, ...more }, maxBuffer: 64 * 1024 * 1024 })
      return stdout
    }
    const root = (await answered(git(['rev-parse', '--show-toplevel']), 'the folder of the sheets is in no git repository')).trim()
    const commit = (
      await answered(
        git(['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`]),
        `there is no folder, document or git revision ${revision}`
      )
    ).trim()
    const within = (path: string): string => {
      const place = relative(root, path)
      if (place.startsWith('..')) throw new CommandFault(`${path} is outside the git repository ${root}`)
      return place === '' ? '.' : place.split(sep).join('/')
    }
    // An index of its own, so that the one of the working tree is not touched.
    const own = { GIT_INDEX_FILE: join(folder, 'index') }
    await git(['read-tree', commit], own)
    const names = await git(['ls-files', '-z', '--full-name', '--', folders.actionsFolder, folders.openapiFolder], own)
    for (const chunk of chunked(names.split('\0').filter(name => name !== ''), 500)) {
      await git(['-C', root, 'checkout-index', `--prefix=${join(folder, 'tree')}/`, '--', ...chunk], own)
    }
    return await work({
      actionsFolder: join(folder, 'tree', within(folders.actionsFolder)),
      openapiFolder: join(folder, 'tree', within(folders.openapiFolder)),
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function answered (asked: Promise<string>, otherwise: string): Promise<string> {
  try {
    return await asked
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new CommandFault('git is not installed, and a revision was asked for')
    throw new CommandFault(otherwise)
  }
}

function chunked (names: readonly string[], size: number): ReadonlyArray<readonly string[]> {
  return Array.from({ length: Math.ceil(names.length / size) }, (_, index) => names.slice(index * size, (index + 1) * size))
}
