// A real redis-server for tests: its own folder, its own free port, stopped by whoever started it.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { createServer, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface RedisOptions {
  /** Append-only file; true by default. */
  readonly aof?: boolean
  /**
   * `always` by default, as the compose file has it. With `everysec` Redis may hold acknowledged writes back for two seconds while a sync of a busy
   * disk is under way, and what it holds back is lost with the process.
   */
  readonly appendfsync?: 'always' | 'everysec'
  /** More settings, as redis-server takes them: `['--maxmemory-policy', 'allkeys-lru']`. */
  readonly settings?: readonly string[]
  /** A cluster of this one node, which owns all slots. */
  readonly cluster?: boolean
}

export interface RedisServer {
  /** `redis://127.0.0.1:PORT`, or redis+cluster:// */
  readonly url: string
  readonly port: number
  /** What is on disk; gone after `stop`. */
  readonly folder: string
  readonly pid: () => number
  /** One command on a connection of its own; the raw reply. */
  readonly command: (...parts: readonly string[]) => Promise<string>
  /** Ends it at once, as a power cut of the process would; what is on disk stays. */
  readonly kill9: () => Promise<void>
  /** Bytes of the append-only file, and what a power cut leaves of it where nobody had waited for the disk. Only while it was never rewritten. */
  readonly logLength: () => number
  readonly truncateLog: (bytes: number) => void
  /** Starts it again on what is on disk, on the same port. */
  readonly restart: () => Promise<void>
  /** Ends it and removes its folder. */
  readonly stop: () => Promise<void>
}

const START_MS = 10_000

export async function startRedis (options: RedisOptions = {}): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'aval-redis-'))
  const port = await freePort()
  const settings = [
    '--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '',
    '--appendonly', options.aof === false ? 'no' : 'yes', '--appendfsync', options.appendfsync ?? 'always',
    ...(options.cluster === true ? ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'] : []),
    ...(options.settings ?? []),
  ]
  let child = await launch(settings, port)
  const server: RedisServer = {
    url: `${options.cluster === true ? 'redis+cluster' : 'redis'}://127.0.0.1:${port}`,
    port,
    folder,
    pid: () => child.pid!,
    command: (...parts) => askRedis(port, parts),
    kill9: () => end(child),
    logLength: () => statSync(logOf(folder)).size,
    truncateLog: bytes => truncateSync(logOf(folder), bytes),
    async restart () {
      await end(child)
      child = await launch(settings, port)
    },
    async stop () {
      await end(child)
      rmSync(folder, { recursive: true, force: true })
    },
  }
  if (options.cluster === true) await formCluster(server)
  return server
}

function logOf (folder: string): string {
  const name = readdirSync(join(folder, 'appendonlydir')).find(file => file.endsWith('.incr.aof'))
  if (name === undefined) throw new Error('there is no append-only file')
  return join(folder, 'appendonlydir', name)
}

async function formCluster (server: RedisServer): Promise<void> {
  await server.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  for (let tries = 0; tries < 200; tries++) {
    if ((await server.command('CLUSTER', 'INFO')).includes('cluster_state:ok')) return
    await sleep(25)
  }
  throw new Error('the cluster of one node did not form')
}

async function launch (settings: readonly string[], port: number): Promise<ChildProcess> {
  const child = spawn('redis-server', settings, { stdio: ['ignore', 'pipe', 'pipe'] })
  let told = ''
  child.stdout!.on('data', (chunk: Buffer) => { told = (told + chunk.toString()).slice(-2_000) })
  child.stderr!.on('data', (chunk: Buffer) => { told = (told + chunk.toString()).slice(-2_000) })
  let failed: Error | null = null
  child.on('error', error => { failed = error })
  const endsAtMs = performance.now() + START_MS
  while (performance.now() < endsAtMs) {
    if (failed !== null) throw new Error('redis-server is not installed; on Debian: apt-get install -y redis-server', { cause: failed })
    if (child.exitCode !== null) throw new Error(`redis-server ended at once:\n${told}`)
    if (await askRedis(port, ['PING']).then(reply => /^(\+PONG|-NOAUTH)/.test(reply), () => false)) return child
    await sleep(20)
  }
  await end(child)
  throw new Error(`redis-server did not answer:\n${told}`)
}

async function end (child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** One command over a socket of its own: no client library stands between a test and the server. */
export function askRedis (port: number, parts: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let reply = ''
    socket.setTimeout(5_000)
    socket.once('timeout', () => { socket.destroy(reply === '' ? new Error('redis-server did not answer') : undefined) })
    socket.on('error', reject)
    socket.on('close', () => { resolve(reply) })
    socket.on('data', chunk => {
      reply += chunk.toString()
      // A sentinel does not know QUIT.
      socket.setTimeout(200)
    })
    const text = [...parts].map(part => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join('')
    socket.write(`*${parts.length}\r\n${text}*1\r\n$4\r\nQUIT\r\n`)
  })
}

export async function freePort (): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  await new Promise(resolve => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port')
  // A cluster node also listens on its port + 10000.
  return address.port <= 55_000 ? address.port : freePort()
}
