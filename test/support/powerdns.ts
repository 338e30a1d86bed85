// A real PowerDNS authoritative server from Debian, with an empty SQLite database of its own: an upstream that nobody here wrote.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { createSocket } from 'node:dgram'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const SERVER = '/usr/sbin/pdns_server'
const SCHEMA = '/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql'

export interface PowerDns {
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  readonly port: number
  readonly apiKey: string
  /** Asks the server itself, beside Aval: its own word on what there is. */
  ask (method: string, path: string, body?: unknown): Promise<{ status: number, body: any }>
  /** Its own OpenAPI document, as JSON. */
  document (): Promise<string>
  /** Its own log of what it answered to others, `METHOD path status`, the path as it came and without its query. A line follows its answer. */
  heard (): readonly string[]
  /** Ends it at once. */
  kill9 (): Promise<void>
  /** Starts it again on the zones that it had, on the same port. */
  restart (): Promise<void>
  /** Ends it and removes its folder. */
  stop (): Promise<void>
}

/** Another program may take a port between its choice and its use. */
const TRIES = 5

export async function startPowerDns (): Promise<PowerDns> {
  if (!existsSync(SERVER) || !existsSync(SCHEMA)) {
    throw new Error('PowerDNS is not installed: apt-get install -y pdns-server pdns-backend-sqlite3 sqlite3')
  }
  for (let tries = 1; ; tries++) {
    try {
      return await launch()
    } catch (error) {
      if (tries === TRIES || !String(error).includes('bind')) throw error
    }
  }
}

async function launch (): Promise<PowerDns> {
  const folder = mkdtempSync(join(tmpdir(), 'aval-pdns-'))
  const apiKey = 'pdns-key-of-the-tests'
  const [port, dnsPort] = [await freeTcpPort(), await freeUdpPort()]
  const loaded = spawnSync('sqlite3', [join(folder, 'pdns.db')], { input: readFileSync(SCHEMA) })
  if (loaded.status !== 0) throw new Error(`sqlite3: ${loaded.stderr}`)
  writeFileSync(join(folder, 'pdns.conf'), [
    'launch=gsqlite3', `gsqlite3-database=${join(folder, 'pdns.db')}`, 'local-address=127.0.0.1', `local-port=${dnsPort}`,
    'api=yes', `api-key=${apiKey}`,
    'webserver=yes', 'webserver-address=127.0.0.1', `webserver-port=${port}`, 'webserver-allow-from=127.0.0.1', `socket-dir=${folder}`, 'daemon=no',
    'guardian=no', 'setuid=', 'setgid=', 'webserver-loglevel=normal', 'loglevel=6', '',
  ].join('\n'))
  const log = new RequestLog()
  const url = `http://127.0.0.1:${port}`
  const ask: PowerDns['ask'] = async (method, path, body) => {
    const answer = await askOnce(`${url}${path}`, method, apiKey, body, ownPort => log.leaveOut(ownPort))
    return { status: answer.status, body: answer.body === '' ? null : JSON.parse(answer.body) }
  }
  let child = await started(folder, log, ask).catch(error => {
    rmSync(folder, { recursive: true, force: true })
    throw error
  })
  return {
    url,
    port,
    apiKey,
    ask,
    document: async () => JSON.stringify((await ask('GET', '/api/docs')).body),
    heard: () => [...log.lines],
    kill9: () => ended(child),
    async restart () {
      await ended(child)
      child = await started(folder, log, ask)
    },
    async stop () {
      await ended(child)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The server, once it answers. */
async function started (folder: string, log: RequestLog, ask: PowerDns['ask']): Promise<ChildProcess> {
  const child = spawn(SERVER, [`--config-dir=${folder}`], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.on('data', chunk => {
    said = `${said}${chunk}`.slice(-4_000)
    log.take(String(chunk))
  })
  for (let tries = 0; tries < 200 && child.exitCode === null; tries++) {
    if (await ask('GET', '/api/v1/servers/localhost').then(answer => answer.status === 200, () => false)) return child
    await sleep(50)
  }
  await ended(child)
  throw new Error(`pdns_server does not answer: ${said}`)
}

/** One request on a connection of its own, whose port is told before anything is sent. */
function askOnce (
  url: string,
  method: string,
  apiKey: string,
  body: unknown,
  onPort: (port: number) => void
): Promise<{ status: number, body: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'x-api-key': apiKey, accept: 'application/json', 'content-type': 'application/json' }
    const asked = request(url, { method, headers, agent: false }, answer => {
      let text = ''
      answer.setEncoding('utf8').on('data', chunk => { text += chunk }).on('error', reject)
      answer.on('end', () => resolve({ status: answer.statusCode!, body: text }))
    })
    asked.on('error', reject)
    asked.on('socket', socket => socket.once('connect', () => onPort(socket.localPort!)))
    asked.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

/** Reads the requests out of PowerDNS's log as it comes. */
class RequestLog {
  readonly lines: string[] = []
  readonly #leftOut = new Set<string>()
  #rest = ''

  /** The next line that names this port is the test's own question. */
  leaveOut (port: number): void {
    this.#leftOut.add(String(port))
  }

  take (text: string): void {
    const lines = `${this.#rest}${text}`.split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) {
      const found = /\[webserver\] \S+ \S+:(\d+) "(\S+) (.*) HTTP\/1\.\d" (\d+)/.exec(line)
      if (found !== null && !this.#leftOut.delete(found[1]!)) this.lines.push(`${found[2]} ${found[3]} ${found[4]}`)
    }
  }
}

async function ended (child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const end = new Promise(resolve => child.once('exit', resolve))
  child.kill('SIGKILL')
  await end
}

function freeTcpPort (): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

function freeUdpPort (): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = createSocket('udp4').once('error', reject)
    socket.bind(0, '127.0.0.1', () => {
      const { port } = socket.address()
      socket.close(() => resolve(port))
    })
  })
}
