// Where the Redis is: redis://, rediss:// (TLS), redis+sentinel://host:port,host:port/master-name/db and redis+cluster://host:port,host:port.
// No fault that is told here repeats the text: it may hold a password.
import { StateRefused } from './store.ts'

export interface RedisAddress {
  readonly topology: 'single' | 'sentinel' | 'cluster'
  readonly tls: boolean
  readonly nodes: ReadonlyArray<{ readonly host: string, readonly port: number }>
  /** The name that the sentinels know the master by. */
  readonly master: string | null
  readonly db: number
  readonly username: string | null
  readonly password: string | null
  /** The operator knows that this Redis may forget, and wants it so. */
  readonly volatile: boolean
}

const FORM = /^redis(s?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/?#]*)@)?([^@/?#]+)(\/[^?#]*)?(?:\?([^#]*))?$/

/** @throws StateRefused */
export function parseRedisUrl (url: string): RedisAddress {
  const match = FORM.exec(url)
  if (match === null) {
    throw refused('it must be redis://[user:password@]host[:port][/db], rediss://…, redis+sentinel://host:port,…/master-name[/db] ' +
      'or redis+cluster://host:port,…; write @ / ? # in a password percent-encoded')
  }
  const [, secure, variant, user, hosts, path, query] = match
  const topology = (variant ?? 'single') as RedisAddress['topology']
  const nodes = hosts!.split(',').map(host => parseNode(host, topology === 'sentinel' ? 26379 : 6379))
  if (topology === 'single' && nodes.length > 1) throw refused('several hosts need redis+sentinel:// or redis+cluster://')
  return { topology, tls: secure === 's', nodes, ...parsePath(topology, path ?? ''), ...parseUser(user), volatile: parseQuery(query ?? '') }
}

function parseNode (text: string, defaultPort: number): { host: string, port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::([0-9]{1,5}))?$/.exec(text)
  const port = match?.[3] === undefined ? defaultPort : Number(match[3])
  if (match === null || port < 1 || port > 65_535) throw refused('a host must be NAME, NAME:PORT or [IPV6]:PORT')
  return { host: match[1] ?? match[2]!, port }
}

function parsePath (topology: RedisAddress['topology'], path: string): { master: string | null, db: number } {
  const parts = path.split('/').filter(part => part !== '').map(decode)
  if (topology === 'sentinel') {
    const [master, db, ...more] = parts
    if (master === undefined || more.length > 0) throw refused('redis+sentinel:// needs the name of the master after the hosts: /name or /name/db')
    return { master, db: parseDb(db) }
  }
  if (parts.length > 1) throw refused('after the host comes the number of the database, if any')
  const db = parseDb(parts[0])
  if (topology === 'cluster' && db !== 0) throw refused('a cluster has database 0 only')
  return { master: null, db }
}

function parseDb (text: string | undefined): number {
  if (text === undefined) return 0
  if (!/^[0-9]{1,5}$/.test(text)) throw refused('the database must be a number')
  return Number(text)
}

function parseUser (user: string | undefined): { username: string | null, password: string | null } {
  if (user === undefined) return { username: null, password: null }
  const colon = user.indexOf(':')
  if (colon === -1) throw refused('user and password are written user:password@, a password alone :password@')
  const username = decode(user.slice(0, colon))
  const password = decode(user.slice(colon + 1))
  return { username: username === '' ? null : username, password: password === '' ? null : password }
}

function parseQuery (query: string): boolean {
  const parameters = new URLSearchParams(query)
  for (const [name, value] of parameters) {
    if (name !== 'volatile') throw refused(`it has no parameter ${JSON.stringify(name.slice(0, 40))}; volatile=yes is the only one`)
    if (value !== 'yes') throw refused('volatile can only be yes')
  }
  return parameters.has('volatile')
}

function decode (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw refused('it holds a % that begins no percent-encoded character')
  }
}

const refused = (why: string): StateRefused => new StateRefused(`the URL of the state is not usable: ${why}`)
