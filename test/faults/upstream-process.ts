// The hostile upstream as a process of its own: raw sockets, a ledger that is written before a byte of an answer is, and a control channel over which
// the nemesis says how bad it is.
import { join } from 'node:path'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { reset } from '../support/reset.ts'
import { argsHash, draw, type Arrival, type Effect, type Partial } from './folder.ts'
import { LineFile } from './line-file.ts'
import { HONEST, modeOf, type Behaviour, type Mode } from './replies.ts'
import { RequestReader } from './request-reader.ts'
import { DOWN, LYING } from './status.ts'
import type { Orders, Reported, StatusOrder, UpstreamOptions } from './upstream.ts'
import { createHttp2Yard } from './yard-http2.ts'
import { readWrite, Yard, type Request, type Said, type Write } from './yard.ts'

const options = JSON.parse(process.argv[2]!) as UpstreamOptions
const ledger = new LineFile(join(options.folder, 'ledger.jsonl'))
const yard = new Yard(options.lagMs)
const tenantOf = new Map(Object.entries(options.credentials).map(([tenant, credential]) => [credential, tenant]))
const behaviour: Behaviour = { seed: options.seed, faultShare: options.faultShare ?? 0.3, only: options.only ?? null }
const arrived = new Map<string, number>()
const fired: Record<string, number> = {}
let seq = 0
let connections = 0
let lookups = 0
let calm = false
let status: StatusOrder = 'mixed'

/** A write is done so long after it arrived, at the latest: well within what the sheets declare. */
const LATER_MS_MAX = 500
/** As long as the upstream may work at a request, whose sender waits no longer, and not longer than it declares beyond that. */
const LATE_MS = 1_100
const JOB_MS_MAX = 1_500
const ACCEPT_SHARE = 0.02

/** What a server would say that did something. */
const NOTHING = { id: 'nothing', key: 'nothing', item: 'nothing', amount: 0, state: 'done', version: 0, text: 'nothing' }

function fire (name: string): void {
  fired[name] = (fired[name] ?? 0) + 1
}

function answerWrite (socket: Socket, request: Request, write: Write, conn: number, tenant: string): void {
  const nth = arrived.get(write.errand) ?? 0
  arrived.set(write.errand, nth + 1)
  const mode = calm ? HONEST : modeOf(write, nth, behaviour)
  if (mode !== HONEST) fire(`upstream:${mode.name}`)
  const arrival = tellArrival(request, write, conn, tenant, mode.name)
  const said = undertake(write, mode, arrival)
  ledger.after(() => { if (!socket.destroyed && socket.writable) mode.reply(socket, said) })
}

function tellArrival (request: Request, write: Write, conn: number, tenant: string, mode: string): Arrival {
  const { attempt, key } = write
  const { method, path } = request
  const arrival: Arrival = { kind: 'arrival', seq: seq++, t: Date.now(), attempt, key, args: argsHash(write.args), method, path, conn, tenant, mode }
  ledger.write(arrival)
  return arrival
}

/** Does what the mode says; what is said is what a good server would say now. */
function undertake (write: Write, mode: Mode, arrival: Arrival): Said {
  const perform = (): Said => {
    const said = yard.perform(write)
    if (said.effect) tellEffect(write, arrival)
    return said
  }
  const nothing: Said = { status: write.kind === 'work' || write.kind === 'order' ? 201 : 200, body: { ...NOTHING }, effect: false }
  switch (mode.effect) {
    case 'now': return perform()
    case 'never': return nothing
    case 'later':
      yard.plan(200 + draw('later', write.errand) * (LATER_MS_MAX - 200), perform)
      return nothing
    case 'late':
      yard.plan(LATE_MS + draw('later', write.errand) * LATER_MS_MAX, perform)
      return nothing
    case 'job':
    case 'failing': {
      const { said, end } = yard.begin(write)
      yard.plan(100 + draw('job', write.errand) * (JOB_MS_MAX - 100), () => {
        if (mode.effect === 'job') tellEffect(write, arrival)
        end(mode.effect === 'job' ? 'done' : 'failed')
      })
      return said
    }
  }
}

function tellEffect (write: Write, { seq: of, attempt, args }: Arrival): void {
  const { object, version, errand } = write
  const effect: Effect = { kind: 'effect', seq: seq++, t: Date.now(), attempt, args, object, version, errand, of }
  ledger.write(effect)
}

function read (request: Request): Said {
  const url = new URL(request.path, 'http://yard')
  const key = url.searchParams.get('key')
  const body = key === null ? yard.item(decodeURIComponent(url.pathname.slice('/v1/items/'.length))) : { items: yard.worksOf(key) }
  return { status: 200, body, effect: false }
}

function answerRead (socket: Socket, request: Request): void {
  lookups += 1
  const said = read(request)
  const faults = faultsNow()
  const [name, reply] = faults[Math.floor(draw(options.seed, 'status', lookups) * faults.length)] ?? [null, HONEST.reply]
  if (name !== null) fire(`status:${name}`)
  ledger.after(() => { if (!socket.destroyed && socket.writable) reply(socket, said) })
}

function faultsNow (): ReadonlyArray<readonly [string, Mode['reply']]> {
  if (calm || status === 'honest') return []
  if (status === 'mixed' && draw(options.seed, 'bad status', lookups) >= (options.statusFaultShare ?? 0.15)) return []
  const all = [...status === 'lying' ? [] : Object.entries(DOWN), ...status === 'down' ? [] : Object.entries(LYING)]
  return all.filter(([name]) => options.statusOnly?.includes(name) ?? true)
}

function serve (socket: Socket): void {
  const conn = connections++
  const accepting = calm ? 1 : draw(options.seed, 'accept', conn) / ACCEPT_SHARE * (0.3 / Math.max(behaviour.faultShare, 1e-9))
  socket.setNoDelay(true)
  socket.on('error', () => {})
  if (accepting < 0.33) {
    fire('upstream:reset at accept')
    return reset(socket)
  }
  if (accepting < 0.66) {
    fire('upstream:silent at accept')
    socket.on('data', () => {})
    return
  }
  if (accepting < 1) {
    fire('upstream:end at accept')
    socket.end()
  }
  const reader = new RequestReader(request => {
    const tenant = tenantOf.get(request.headers['x-yard-key'] ?? '') ?? null
    if (tenant === null) socket.end('HTTP/1.1 401 Who\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}')
    else if (request.method === 'GET') answerRead(socket, request)
    else {
      const write = readWrite(request)
      if (write === null) throw new Error(`no sheet sends ${request.method} ${request.path}`)
      answerWrite(socket, request, write, conn, tenant)
    }
  })
  socket.on('data', data => reader.take(data))
  socket.on('end', () => socket.end())
  socket.on('close', () => {
    const rest = reader.unfinished()
    if (rest === null) return
    const partial: Partial = { kind: 'partial', seq: seq++, t: Date.now(), attempt: rest.attempt, bytes: rest.bytes, conn }
    ledger.write(partial)
  })
}

/** Honest in HTTP/1.1; in HTTP/2 it lies of every other write. */
function serveHttp2 (): Server {
  return createHttp2Yard({
    answer (request, conn, then, canLie) {
      const tenant = tenantOf.get(request.headers['x-yard-key'] ?? '') ?? null
      const write = tenant === null || request.method === 'GET' ? null : readWrite(request)
      if (tenant === null) return then(null, null)
      if (write === null) return then(read(request), null)
      const nth = arrived.get(write.errand) ?? 0
      arrived.set(write.errand, nth + 1)
      const lies = ['goaway, done', 'refused stream, done'] as const
      const lie = calm || !canLie || nth > 0 ? null : lies[Math.floor(draw(options.seed, 'lie', write.errand) * 4)] ?? null
      if (lie !== null) fire(`upstream:${lie}`)
      const arrival = tellArrival(request, write, conn, tenant, lie ?? HONEST.name)
      const said = undertake(write, HONEST, arrival)
      ledger.after(() => then(said, lie))
    },
  }) as unknown as Server
}

const server = options.http2 === true ? serveHttp2() : createServer({ allowHalfOpen: true }, serve)
server.listen(options.port ?? 0, '127.0.0.1', () => tell({ type: 'listening', port: (server.address() as AddressInfo).port }))

function tell (reported: Reported): void {
  process.send!(reported)
}

process.on('message', (order: Orders) => {
  switch (order.type) {
    case 'calm': calm = order.calm; break
    case 'status': status = order.status; break
    case 'fired': tell({ type: 'fired', fired, lookups }); break
    case 'stop':
      ledger.flush()
      process.exit(0)
  }
})
process.on('disconnect', () => process.exit(0))
