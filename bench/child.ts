// What every server process of the benchmark has in common: it tells its port once it serves, its use of the machine whenever it is asked, and ends
// when its parent does.
import type { AddressInfo } from 'node:net'
import type { Server } from 'node:http'

export interface Usage {
  /** Of the whole process, its threads included, since it started. */
  readonly cpuMicros: number
  readonly rssBytes: number
  readonly heapBytes: number
  /** Sockets, timers, files that keep the process alive. */
  readonly handles: number
}

/** @param stop called once, before the process ends */
export function serveParent (port: number, stop: () => Promise<void> | void): void {
  const end = async (): Promise<void> => {
    await stop()
    process.exit(0)
  }
  process.once('disconnect', () => void end())
  process.on('message', message => {
    if (message === 'stop') void end()
    if (message === 'usage') process.send!(usage())
  })
  process.send!({ port })
}

function usage (): Usage {
  // Where it can be had, so that what is left to be collected is not taken for a leak.
  globalThis.gc?.()
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  return { cpuMicros: user + system, rssBytes: rss, heapBytes: heapUsed, handles: process.getActiveResourcesInfo().length }
}

export async function listen (server: Server): Promise<number> {
  server.keepAliveTimeout = 60_000
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}
