// The server process: config → key → store → catalog → services → listeners. The only composition root: whatever runs is made here and handed on.
import { join } from 'node:path'
import type { Broker, BrokerOptions } from './commands/broker.ts'
import type { Config } from './config.ts'
import { armFailpoints, failpoint } from './failpoints.ts'
import { openCore } from './main/core.ts'
import { Opened } from './main/opened.ts'
import { openSurfaces } from './main/surfaces.ts'

/** Longer than the longest write: its total timeout, its grace, and the settlement. */
const DRAIN_MS = 30_000

export async function startBroker (config: Config, options: BrokerOptions = {}): Promise<Broker> {
  const opened = new Opened()
  try {
    return await openBroker(config, options, opened)
  } catch (error) {
    await opened.closeAll()
    throw error
  }
}

async function openBroker (config: Config, options: BrokerOptions, opened: Opened): Promise<Broker> {
  armFailpoints(config.failpoints, join(config.dataFolder, 'failpoints.log'))
  const core = await openCore(config, options, opened)
  const surfaces = await openSurfaces(config, options, core, opened)
  const { digest, actions } = core.catalog.current()
  core.logger.note('info', 'serving', { digest, count: actions.size })
  return {
    ...surfaces,
    controlPath: config.controlPath,
    reload: core.reload,
    async close () {
      // The listeners stay up meanwhile: whoever comes is told that nothing was sent, which a refused connection does not say.
      core.drain.abort()
      await failpoint('before_drain')
      if (!await core.background.drained(DRAIN_MS)) core.logger.note('warn', 'calls were still under way at the end of the drain; they will be looked up')
      await failpoint('after_drain')
      await opened.closeAll()
      core.logger.flush()
    },
  }
}
