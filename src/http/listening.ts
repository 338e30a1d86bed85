// How a listener is opened: what all of them share by the configuration, and where each is found afterwards.
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Config, ListenAddress } from '../config.ts'
import type { ListenerOptions, Plane } from './server.ts'

/** The limits of strangers are those of the agents' side, for people as well; nobody but operators reaches operations. */
const RATED: ReadonlySet<Plane> = new Set(['agents', 'people'])

export type OptionsOf = (plane: Plane, address: ListenAddress, moreHosts?: readonly string[]) => ListenerOptions

export async function listenerOptions (config: Config, shared: Pick<ListenerOptions, 'draining' | 'events'>): Promise<OptionsOf> {
  const tls = config.tls === null ? null : { cert: await readFile(config.tls.certFile), key: await readFile(config.tls.keyFile) }
  return (plane, address, moreHosts = []) => ({
    hosts: [...config.hosts ?? [address.host.includes(':') ? `[${address.host}]` : address.host, 'localhost'], ...moreHosts],
    trustProxy: config.trustProxy,
    tls,
    rates: RATED.has(plane) ? config.rates : null,
    ...shared,
  })
}

/** @returns its URL, with the port that was really taken */
export async function listen (app: FastifyInstance, { host, port }: ListenAddress, tls: boolean): Promise<string> {
  await app.listen({ host, port })
  const taken = app.addresses()[0] as AddressInfo
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${taken.port}`
}
