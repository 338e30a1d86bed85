// `aval lock`: writes down what is served, with digests, for a review and for AVAL_LOCK=strict.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CatalogFaults } from '../catalog/catalog.ts'
import { LOCK_NAME, readLock } from '../catalog/lock.ts'
import { readLocalConfig } from '../config.ts'
import { inOrder } from '../curation/diff/finding.ts'
import { diffText, PLAIN_DIFF } from '../curation/diff/report.ts'
import { readSnapshot } from '../curation/diff/snapshot.ts'
import { compareLocks, lockOf, lockText } from '../curation/lock/lock.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'
import { progressOf } from './progress.ts'
import { started } from './starting.ts'

export const lock: Command = {
  name: 'lock',
  summary: 'Write actions/aval.lock: names, effects, consents and digests of what is served. With --check, exit code 1 where it differs.',
  usage: '[--check]',
  flags: { check: { type: 'boolean', about: 'write nothing, and tell what differs' } },
  words: { min: 0, max: 0 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const folders = readLocalConfig(ask.env)
  const now = await started(ask, async () => lockOf(await readSnapshot({ ...folders, progress: progressOf(ask) })))
  const path = join(folders.actionsFolder, LOCK_NAME)
  if (ask.flags.on('check')) {
    const findings = inOrder(
      compareLocks((await started(ask, () => readLock(folders.actionsFolder))).lock, now)
    ).filter(one => one.class !== 'cosmetic')
    ask.print(ask.json ? JSON.stringify({ ok: findings.length === 0, findings }) : diffText(findings, PLAIN_DIFF))
    return findings.length === 0 ? 0 : 1
  }
  const before = await readLock(folders.actionsFolder).catch((error: unknown) => {
    if (error instanceof CatalogFaults) return null
    throw error
  })
  await writeFile(path, lockText(now)).catch((error: NodeJS.ErrnoException) => { throw new CommandFault(`${path} cannot be written: ${error.code}`) })
  const findings = before === null ? [] : inOrder(compareLocks(before.lock, now))
  if (ask.json) ask.print(JSON.stringify({ path, catalog: now.catalog, actions: Object.keys(now.actions).length, findings }))
  else ask.print(`${path}: ${Object.keys(now.actions).length} actions${before === null ? '' : `\n${diffText(findings, PLAIN_DIFF)}`}`)
  return 0
}
