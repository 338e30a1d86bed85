// Opens one connection to an upstream: resolve, check every address, connect to a checked one, verify TLS against the host's name, and look at whom
// we are really connected to. undici calls it for every new connection; nothing of an earlier one is believed again.
import { lookup } from 'node:dns'
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { buildConnector } from 'undici'
import type { LostCause } from './wire.ts'
import { refuseAddress, sameAddress, type Networks } from './address.ts'
import { causeOf, isTlsCode, WireFault } from './fault.ts'

/** All addresses of a name, as the system resolves it. Errors carry the resolver's code. */
export type Resolve = (name: string) => Promise<readonly string[]>

export interface DialOptions {
  readonly networks: Networks
  /** From the start of the resolution until the connection stands, TLS included. */
  readonly connectMs: number
  readonly resolve: Resolve
  /** PEM certificates to trust instead of the built-in ones. */
  readonly ca: string | undefined
}

export const resolveBySystem: Resolve = name => new Promise((resolve, reject) => {
  lookup(name, { all: true, order: 'verbatim' }, (error, found) => {
    if (error === null) resolve(found.map(entry => entry.address))
    else reject(error)
  })
})

export function createDialler (options: DialOptions): buildConnector.connector {
  return (target, callback) => {
    const dialling = new Dialling(target, options, callback)
    void dialling.start()
  }
}

/** One connection being opened: whatever ends it first (the clock, a refusal, a fault, success) is what undici hears, once. */
class Dialling {
  readonly #target: buildConnector.Options
  readonly #options: DialOptions
  readonly #timer: NodeJS.Timeout
  #callback: buildConnector.Callback | null
  #socket: Socket | null = null

  constructor (target: buildConnector.Options, options: DialOptions, callback: buildConnector.Callback) {
    this.#target = target
    this.#options = options
    this.#callback = callback
    this.#timer = setTimeout(() => this.#fail('connect_timeout', 'no connection in time'), options.connectMs)
  }

  async start (): Promise<void> {
    const { hostname } = this.#target
    let addresses: readonly string[]
    try {
      // A resolver is never asked about literals: it would hand them back unchecked, or read them in a way of its own.
      addresses = isIP(hostname) === 0 ? await this.#options.resolve(hostname) : [hostname]
    } catch (error) {
      this.#fail('unresolved_name', error instanceof Error ? error.message : 'the resolver failed')
      return
    }
    if (this.#callback === null) return
    if (addresses.length === 0) {
      this.#fail('unresolved_name', 'the name has no address')
      return
    }
    const plain = this.#target.protocol !== 'https:'
    for (const address of addresses) {
      const refusal = refuseAddress(address, this.#options.networks, plain)
      if (refusal === null) continue
      // One bad address condemns the name: which of them would be dialled is a matter of luck.
      this.#fail('address_refused', `${hostname} is ${refusal}`)
      return
    }
    this.#connect(addresses, plain)
  }

  #connect (addresses: readonly string[], plain: boolean): void {
    const { hostname, port } = this.#target
    const found = addresses.map(address => ({ address, family: isIP(address) }))
    const pinned: LookupFunction = (_name, wanted, answer) => {
      if (wanted.all === true) answer(null, found)
      else answer(null, found[0]!.address, found[0]!.family)
    }
    const to = {
      host: hostname,
      port: Number(port) || (plain ? 80 : 443),
      lookup: pinned,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 60_000,
    }
    // No session is resumed: each connection verifies the certificate anew. rejectUnauthorized is said outright, so that the environment cannot
    // unsay it.
    const socket = plain
      ? connectTcp(to)
      : connectTls({
        ...to,
        servername: isIP(hostname) === 0 ? hostname : '',
        rejectUnauthorized: true,
        minVersion: 'TLSv1.2',
        ALPNProtocols: ['http/1.1'],
        ca: this.#options.ca,
      })
    this.#socket = socket
    socket.on('error', (error: Error) => this.#fail(connectCause(error, plain), error.message))
    // A peer that ends the connection in the middle of a handshake may do so without an error.
    socket.once('close', () => this.#fail('closed', 'closed while connecting'))
    socket.once(plain ? 'connect' : 'secureConnect', () => {
      const peer = socket.remoteAddress ?? ''
      if (addresses.some(address => sameAddress(address, peer))) this.#succeed(socket)
      else this.#fail('address_refused', 'connected to another address than was checked')
    })
  }

  #succeed (socket: Socket): void {
    const callback = this.#end()
    callback?.(null, socket)
  }

  #fail (cause: LostCause, message: string): void {
    const callback = this.#end()
    if (callback === null) return
    this.#socket?.destroy()
    callback(new WireFault(cause, message), null)
  }

  #end (): buildConnector.Callback | null {
    clearTimeout(this.#timer)
    const callback = this.#callback
    this.#callback = null
    return callback
  }
}

function connectCause (error: Error, plain: boolean): LostCause {
  const code = 'code' in error ? String(error.code) : ''
  if (!plain && isTlsCode(code)) return 'tls'
  const cause = causeOf(error)
  return cause === 'protocol' ? (plain ? 'refused' : 'tls') : cause
}

/** TLS is always verified here, but a process that was told not to verify would not verify elsewhere (tokens, sign-in): it does not start. */
export function assertTlsVerified (env: { readonly NODE_TLS_REJECT_UNAUTHORIZED?: string | undefined }): void {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    throw new Error('NODE_TLS_REJECT_UNAUTHORIZED=0 switches the verification of TLS certificates off: remove it from the environment')
  }
}
