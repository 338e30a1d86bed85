// The Redis of a run: the one that the brokers use, and where failovers are wanted a standby that follows it through a proxy and so may lag behind.
import { globSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { startFaultProxy, type FaultProxy } from './fault-proxy.ts'

const SETTINGS = ['--enable-debug-command', 'local', '--repl-diskless-sync-delay', '0', '--repl-timeout', '5']
const SYNCED_MS = 60_000

export class RedisPair {
  #primary: RedisServer
  #standby: RedisServer | null
  readonly #link: FaultProxy | null

  private constructor (primary: RedisServer, standby: RedisServer | null, link: FaultProxy | null) {
    this.#primary = primary
    this.#standby = standby
    this.#link = link
  }

  static async start (withStandby: boolean): Promise<RedisPair> {
    const primary = await startRedis({ settings: SETTINGS })
    if (!withStandby) return new RedisPair(primary, null, null)
    const link = await startFaultProxy({ port: primary.port, fate: () => null, fired: () => {}, random: () => 0 })
    const standby = await startRedis({ settings: SETTINGS })
    const pair = new RedisPair(primary, standby, link)
    await pair.#follow()
    return pair
  }

  get primary (): RedisServer { return this.#primary }
  get hasStandby (): boolean { return this.#standby !== null }

  /** The standby takes over while what the primary said last is not with it yet; the primary before becomes the standby. */
  /** @param during whatever is handed to it takes as long as no server takes anything */
  async failOver (lagMs: number, led: (port: number) => void, during: (work: () => Promise<void>) => Promise<void>): Promise<void> {
    const [old, next, link] = [this.#primary, this.#standby!, this.#link!]
    // What the partition holds back never arrives: acknowledged by the primary, unknown to the standby.
    const partition = link.partition('down', lagMs + 1_000)
    await sleep(lagMs)
    await during(async () => {
      await old.kill9()
      await next.command('REPLICAOF', 'NO', 'ONE')
      this.#primary = next
      this.#standby = old
      led(next.port)
    })
    link.lead(next.port)
    await partition
    await old.restart()
    await this.#follow()
  }

  /** What a power cut takes: the end of the append-only file, though it was acknowledged. Only while the server is dead. How many bytes were taken. */
  truncate (bytes: number): number {
    const [newest] = globSync('appendonlydir/*.incr.aof', { cwd: this.#primary.folder }).map(name => join(this.#primary.folder, name))
      .sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs)
    if (newest === undefined) return 0
    const { size } = statSync(newest)
    const taken = Math.min(bytes, size)
    truncateSync(newest, size - taken)
    return taken
  }

  async stop (): Promise<void> {
    await this.#link?.stop()
    await this.#standby?.stop()
    await this.#primary.stop()
  }

  async #follow (): Promise<void> {
    await this.#standby!.command('REPLICAOF', '127.0.0.1', String(this.#link!.port))
    const endsAtMs = performance.now() + SYNCED_MS
    while (!(await this.#standby!.command('INFO', 'replication')).includes('master_link_status:up')) {
      if (performance.now() > endsAtMs) throw new Error('the standby does not follow')
      await sleep(50)
    }
  }
}
