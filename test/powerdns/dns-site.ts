// PowerDNS behind a broker: the server's own document as it serves it, the sheets beside this file, and a proxy between the two that can spoil it.
import { randomUUID } from 'node:crypto'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Json } from '../../src/catalog/catalog.ts'
import type { Environment } from '../../src/config.ts'
import { makeSite, startTestBroker, type Reached, type Site, type TestBroker } from '../support/broker.ts'
import { startPowerDns, type PowerDns } from '../support/powerdns.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

export const SHEETS = join(import.meta.dirname, 'actions')
/** Where its zones are. */
export const ZONES = '/api/v1/servers/localhost/zones'

export interface DnsSite {
  readonly powerDns: PowerDns
  readonly proxy: TcpProxy
  readonly broker: TestBroker
  /** A call in a run of its own, unless one is named. */
  call (action: string, args: Json, options?: { readonly run?: string }): Promise<Reached>
  /** What became of it, in the run that called it. */
  outcome (called: Reached, run: string): Promise<Reached['body']>
  close (): Promise<void>
}

export interface DnsOptions {
  readonly env?: Environment
  /** What upstream.yaml says instead: text → text. */
  readonly instead?: Readonly<Record<string, string>>
  /** Without the proxy, which takes a connection also where nobody is behind it. */
  readonly direct?: boolean
}

/** @param powerDns stays the caller's, who stops it */
export async function openDnsSite (powerDns: PowerDns, options: DnsOptions = {}): Promise<DnsSite> {
  const proxy = await startTcpProxy({ port: powerDns.port })
  const site = await dnsFolder(
    powerDns,
    { 'http://127.0.0.1:18081': options.direct === true ? powerDns.url : `http://127.0.0.1:${proxy.port}`, ...options.instead }
  )
  const broker = await startTestBroker(site, { PDNS_KEY: powerDns.apiKey, ...options.env }).catch(async error => {
    site.remove()
    await proxy.stop()
    throw error
  })
  const token = (run: string): Promise<string> => site.token({ roles: ['dns_operator'], run })
  return {
    powerDns,
    proxy,
    broker,
    call: async (action, args, { run = randomUUID() } = {}) => broker.call(await token(run), action, args),
    async outcome (called, run) {
      const answer = await broker.attempt(await token(run), called.body.attempt_id as string)
      return answer.body
    },
    async close () {
      await broker.close()
      await proxy.stop()
      site.remove()
    },
  }
}

export async function dnsFolder (powerDns: PowerDns, instead: Readonly<Record<string, string>>): Promise<Site> {
  const site = await makeSite({ files: { 'openapi/powerdns.json': await powerDns.document() } })
  cpSync(SHEETS, join(site.folder, 'actions'), { recursive: true })
  const file = join(site.folder, 'actions/powerdns/upstream.yaml')
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, Object.entries(instead).reduce((changed, [from, to]) => changed.replace(from, to), text))
  return site
}

export interface Zone {
  readonly id: string
  readonly account: string
  readonly edited_serial: number
  readonly rrsets: ReadonlyArray<{
    readonly name: string, readonly type: string, readonly ttl: number, readonly records: ReadonlyArray<{ readonly content: string }>,
  }>
}

/** The server's own word on a zone; null: it has none of this name. */
export async function zoneOf (powerDns: PowerDns, name: string): Promise<Zone | null> {
  const { status, body } = await powerDns.ask('GET', `${ZONES}/${name}`)
  return status === 200 ? body as Zone : null
}

/** Made beside the broker. */
export async function makeZone (powerDns: PowerDns, name: string): Promise<Zone> {
  const { status, body } = await powerDns.ask('POST', ZONES, { name, kind: 'Native', nameservers: ['ns1.example.net.'] })
  if (status !== 201) throw new Error(`PowerDNS: ${status} ${JSON.stringify(body)}`)
  return body as Zone
}

export const records = (zone: Zone | null, name: string, type: string): readonly string[] =>
  zone?.rrsets.find(set => set.name === name && set.type === type)?.records.map(({ content }) => content) ?? []

/**
 * What PowerDNS says that the broker asked of it since, once it has said so many lines of it: its log follows its answers.
 * @param mark how many lines there were before
 * @param about what stands in the lines that are meant
 */
export async function heardSince (powerDns: PowerDns, mark: number, about: string, lines: number): Promise<readonly string[]> {
  const heard = (): readonly string[] => powerDns.heard().slice(mark).filter(line => line.includes(about))
  for (let tries = 0; tries < 100 && heard().length < lines; tries++) await sleep(20)
  // Whatever was asked before this is in the log by now, or will never be.
  await powerDns.ask('GET', '/api/v1/servers/localhost')
  await sleep(20)
  return heard()
}
