// A proxy in front of Redis that reads along: it knows which verb of the store each command is, and a test says what becomes of it. Connections are
// one per client of ioredis, so a command that is held holds everything behind it on its connection, as a network does.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { SCRIPTS } from '../../src/store/redis-scripts.ts'
import { reset } from '../support/reset.ts'

/**
 * `break`: the connection is reset, Redis never hears of it. `mute`: Redis does it, and the connection is reset instead of its reply. `hold`: it is
 * kept, and with it whatever comes behind it, until `release` or `discard`.
 */
export type Fate = 'pass' | 'break' | 'mute' | 'hold'

/** The name of a script; `change` is followed by the state that it writes: `change:dispatched`. Other commands are `other`. */
export type Rule = (verb: string, parts: readonly string[]) => Fate

export interface RedisTap {
  readonly port: number
  rule: Rule
  /** By how many seconds the clock of Redis is ahead for every script, from -9999 to 9999. */
  aheadS: number
  /** How often each verb came by. */
  readonly seen: ReadonlyMap<string, number>
  /** What is held goes on to Redis. */
  release (): void
  /** What is held is lost with its connection. */
  discard (): void
  stop (): Promise<void>
}

export const PASS: Rule = () => 'pass'

/** Long enough for Redis to do what it was told before its client is cut off. */
const MUTE_MS = 40

export async function startRedisTap (redisPort: number): Promise<RedisTap> {
  const links = new Set<Link>()
  const seen = new Map<string, number>()
  const tap: RedisTap = {
    port: 0,
    rule: PASS,
    aheadS: 0,
    seen,
    release () { for (const link of links) link.release() },
    discard () { for (const link of links) if (link.held) link.reset() },
    async stop () {
      for (const link of links) link.reset()
      await new Promise<void>(resolve => server.close(() => resolve()))
    },
  }
  const judge: Rule = (verb, parts) => {
    seen.set(verb, (seen.get(verb) ?? 0) + 1)
    return tap.rule(verb, parts)
  }
  const server = createServer(client => {
    const link = new Link(client, connect(redisPort, '127.0.0.1'), judge, command => withClock(command, tap.aheadS), () => links.delete(link))
    links.add(link)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(tap, { port: (server.address() as AddressInfo).port })
}

class Link {
  readonly #client: Socket
  readonly #redis: Socket
  readonly #judge: Rule
  readonly #rewrite: (command: Command) => Buffer
  readonly #closed: () => void
  #unread: Buffer = Buffer.alloc(0)
  readonly #waiting: Buffer[] = []
  #muted = false
  held = false

  constructor (client: Socket, redis: Socket, judge: Rule, rewrite: (command: Command) => Buffer, closed: () => void) {
    this.#client = client
    this.#redis = redis
    this.#judge = judge
    this.#rewrite = rewrite
    this.#closed = closed
    client.setNoDelay(true)
    redis.setNoDelay(true)
    client.on('data', data => this.#read(data))
    redis.on('data', data => { if (!this.#muted) client.write(data) })
    for (const socket of [client, redis]) {
      socket.on('error', () => this.reset())
      socket.on('close', () => this.reset())
    }
  }

  #read (data: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, data])
    for (let command = firstCommand(this.#unread); command !== null; command = firstCommand(this.#unread)) {
      this.#unread = command.rest
      if (this.held) this.#waiting.push(command.bytes)
      else this.#treat(command)
    }
  }

  #treat (command: Command): void {
    const { parts } = command
    const bytes = this.#rewrite(command)
    switch (this.#judge(verbOf(parts), parts)) {
      case 'pass':
        this.#redis.write(bytes)
        break
      case 'break':
        this.reset()
        break
      case 'mute':
        this.#muted = true
        this.#redis.write(bytes)
        setTimeout(() => this.reset(), MUTE_MS)
        break
      case 'hold':
        this.held = true
        this.#waiting.push(bytes)
        break
    }
  }

  release (): void {
    this.held = false
    for (const bytes of this.#waiting.splice(0)) this.#redis.write(bytes)
  }

  reset (): void {
    this.#closed()
    reset(this.#client)
    reset(this.#redis)
  }
}

/** Redis takes its clock from the machine. So each script is sent whole, with another clock in it, of the same length. */
function withClock ({ bytes, parts: [name = '', script = ''] }: Command, aheadS: number): Buffer {
  if (aheadS === 0 || !/^eval(sha)?(_ro)?$/i.test(name)) return bytes
  const text = bytes.toString('latin1')
  // Redis knows no script of this name, and is sent its text.
  if (/^evalsha/i.test(name)) return Buffer.from(text.replace(script, '0'.repeat(40)), 'latin1')
  const span = `(time[1]${aheadS < 0 ? '-' : '+'}${String(Math.abs(aheadS)).padStart(4, ' ')})*1000+math.floor(time[2]/1e3)`
  return Buffer.from(text.replace('time[1] * 1000 + math.floor(time[2] / 1000)', span), 'latin1')
}

interface Command {
  readonly bytes: Buffer
  readonly parts: readonly string[]
  readonly rest: Buffer
}

/** The first whole command (RESP: an array of bulk strings), or null. */
function firstCommand (buffer: Buffer): Command | null {
  const parts: string[] = []
  let at = 0
  const line = (): string | null => {
    const end = buffer.indexOf('\r\n', at)
    if (end === -1) return null
    const text = buffer.toString('latin1', at, end)
    at = end + 2
    return text
  }
  const count = line()
  if (count === null) return null
  for (let left = Number(count.slice(1)); left > 0; left--) {
    const size = line()
    if (size === null) return null
    const bytes = Number(size.slice(1))
    if (buffer.length < at + bytes + 2) return null
    parts.push(buffer.toString('utf8', at, at + bytes))
    at += bytes + 2
  }
  return { bytes: buffer.subarray(0, at), parts, rest: buffer.subarray(at) }
}

const NAMES: ReadonlyMap<string, string> = new Map(Object.entries(SCRIPTS).flatMap(([name, { sha1, text }]) => [[sha1, name], [text, name]]))

function verbOf (parts: readonly string[]): string {
  const [command = '', script = '', keys = '0'] = parts
  const name = /^eval(sha)?$/i.test(command) ? NAMES.get(script) : undefined
  if (name === undefined) return 'other'
  // The sixth argument of a change is the state that it writes.
  return name === 'change' ? `change:${parts[3 + Number(keys) + 5]}` : name
}
