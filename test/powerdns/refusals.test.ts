// What must not reach PowerDNS, and what comes back that is no answer: hostile names, ids written its own way, a wrong key, plain text, nobody there.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startPowerDns, type PowerDns } from '../support/powerdns.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { heardSince, makeZone, openDnsSite, zoneOf, ZONES, type DnsSite } from './dns-site.ts'

const HOSTILE = [
  '..', '.', '../..', 'a/b.', '/', '//', '%2e%2e', '%2E%2E%2Fconfig', '..%2fconfig', 'a%2fb.', '=2E=2E', 'a=2Fb.', 'a\\b.', 'example.org',
  '.example.org.', 'example..org.', 'EXAMPLE.org.', 'example.org.\n', 'example.org.\r\nX-API-Key: other', 'example.org.?rrsets=false',
  'example.org.#', 'example.org.;a=b', 'example.org./../../config', ' example.org.', 'example.org. ', 'example.org.\u0000',
  'ex\u00e4mple.org.', 'example\uff0eorg.', '\u2025.', '*.example.org.',
  '', null, 5, true, ['example.org.'], { name: 'example.org.' }, 'a.'.repeat(101),
] as const

let powerDns: PowerDns
let redis: RedisServer

before(async () => {
  [powerDns, redis] = await Promise.all([startPowerDns(), startRedis()])
})
after(() => Promise.all([powerDns.stop(), redis.stop()]))

// Each broker has a key of its own, so each has a database of its own.
let databases = 0
const STORES: ReadonlyArray<readonly [name: string, parent: string, state: () => { AVAL_STATE?: string }]> = [
  ['the embedded store', 'sqlite.example.', () => ({})],
  ['Redis', 'redis.example.', () => ({ AVAL_STATE: `${redis.url}/${databases++}` })],
]

for (const [store, parent, state] of STORES) {
  describe(`what must not pass between PowerDNS and a broker on ${store}`, () => {
    let dns: DnsSite
    before(async () => { dns = await openDnsSite(powerDns, { env: state() }) })
    after(() => dns.close())

    test('a hostile name of a zone is refused by its field, and not a byte is sent', async () => {
      const { connections, received } = { ...dns.proxy.counts, received: { ...dns.proxy.counts.received } }
      const calls = (zone: any): ReadonlyArray<readonly [action: string, args: any]> => [
        ['read_zone.v1', { zone }],
        ['create_zone.v1', { zone, nameservers: ['ns1.example.net.'] }],
        ['replace_record_set.v1', { zone, name: 'www.example.org.', ttl: 60, address: '192.0.2.1' }],
        ['delete_zone.v1', { zone }],
      ]
      for (const hostile of HOSTILE) {
        for (const [action, args] of calls(hostile)) {
          const { status, body } = await dns.call(action, args)
          assert.deepEqual(
            [status, body.error?.code, body.error?.field, body.sent],
            [422, 'INVALID_ARGUMENTS', '/zone', false],
            `${action} ${JSON.stringify(hostile)}`
          )
        }
      }
      assert.deepEqual([dns.proxy.counts.connections, dns.proxy.counts.received.up], [connections, received.up])
    })

    test('a hostile name or address of a record is refused by its field, and not a byte is sent', async () => {
      const { connections } = dns.proxy.counts
      const good = { zone: 'example.org.', name: 'www.example.org.', ttl: 60, address: '192.0.2.1' }
      const wrong = [
        ...['..', 'a/b.', 'www.example.org', 'www.example.org.\n'].map(name => ['/name', { name }] as const),
        ...[
          '192.0.2.256', '192.0.2.1\n', '192.0.2', '192.0.2.1.', '0x7f.0.0.1', '192.0.02.1', '::1', '192.0.2.1 192.0.2.2',
        ].map(address => ['/address', { address }] as const),
        ...[59, 86_401, 60.5, '60'].map(ttl => ['/ttl', { ttl }] as const),
      ]
      for (const [field, change] of wrong) {
        const { status, body } = await dns.call('replace_record_set.v1', { ...good, ...change })
        assert.deepEqual([status, body.error?.code, body.error?.field, body.sent], [422, 'INVALID_ARGUMENTS', field, false], JSON.stringify(change))
      }
      assert.equal(dns.proxy.counts.connections, connections)
    })

    test('an id is one segment of the path, whatever it holds; the server\'s own way of writing a slash is left to it', async () => {
      const name = `0/25.2.0.192.${parent}`
      const id = `0=2F25.2.0.192.${parent}`
      assert.equal((await makeZone(powerDns, name)).id, id)
      const mark = powerDns.heard().length
      const listed = await dns.call('list_zones.v1', {})
      assert.ok(listed.body.result.some((zone: any) => zone.id === id && zone.name === name))
      const read = await dns.call('read_zone_by_id.v1', { zone_id: id })
      assert.deepEqual([read.body.outcome, read.body.result?.name], ['completed', name])
      assert.deepEqual(await heardSince(powerDns, mark, '25.2.0.192', 1), [`GET ${ZONES}/0%3D2F25.2.0.192.${parent} 200`])
    })

    test('no value leads to another path of the server: what could be taken for a separator or a step is refused, pattern or not', async () => {
      const { connections } = dns.proxy.counts
      for (const zoneId of [
        ...HOSTILE.filter(one => typeof one === 'string' && /^\.{1,2}$|[/\\%?#;\r\n\u0000]/.test(one)), `0/25.2.0.192.${parent}`, '..;/config',
        'x#y',
      ]) {
        const { status, body } = await dns.call('read_zone_by_id.v1', { zone_id: zoneId })
        assert.deepEqual([status, body.error.code, body.error.rule, body.sent], [422, 'INVALID_ARGUMENTS', 'path', false], JSON.stringify(zoneId))
      }
      assert.equal(dns.proxy.counts.connections, connections)
      const mark = powerDns.heard().length
      for (const zoneId of ['=2E=2E', '=2E=2E=2Fconfig', 'a b', 'a&b=c', '\u2025', 'A.']) {
        const { status, body } = await dns.call('read_zone_by_id.v1', { zone_id: zoneId })
        assert.deepEqual([status, body.outcome], [200, 'rejected'], zoneId)
      }
      const heard = await heardSince(powerDns, mark, `GET ${ZONES}/`, 6)
      assert.deepEqual(
        heard.map(line => line.split(' ')[1]!.slice(ZONES.length + 1)).sort(),
        ['%3D2E%3D2E', '%3D2E%3D2E%3D2Fconfig', '%E2%80%A5', 'A.', 'a%20b', 'a%26b%3Dc']
      )
    })

    test('a wrong key is refused once; then it rests, and a storm of calls sends nothing', async () => {
      const wrong = await openDnsSite(powerDns, { env: { ...state(), PDNS_KEY: 'not-the-key-of-powerdns' } })
      try {
        const zone = `wrong-key.${parent}`
        const first = await wrong.call('create_zone.v1', { zone, nameservers: ['ns1.example.net.'] })
        assert.deepEqual(
          [first.status, first.body.outcome, first.body.error.code, first.body.error.retryable],
          [200, 'rejected', 'CREDENTIAL_REFUSED', false]
        )
        const storm = await Promise.all(Array.from({ length: 30 }, (_, index) => index % 2 === 0
          ? wrong.call('list_zones.v1', {})
          : wrong.call('create_zone.v1', { zone: `n${index}.${zone}`, nameservers: ['ns1.example.net.'] })))
        for (const { status, body } of storm) {
          assert.deepEqual([status, body.error.code, body.sent], [503, 'CREDENTIAL_UNAVAILABLE', false])
          assert.ok(body.error.retry_after_seconds > 0 && body.error.retry_after_seconds <= 30)
        }
        assert.equal(wrong.proxy.counts.connections, 1)
        assert.equal(await zoneOf(powerDns, zone), null)
        for (const { body } of [first, ...storm]) assert.doesNotMatch(JSON.stringify(body), /not-the-key-of-powerdns/)
      } finally {
        await wrong.close()
      }
    })

    test('errors in plain text mean what their status says', async () => {
      const plain = await openDnsSite(powerDns, { env: state(), instead: { 'limits:': 'headers: {Accept: text/plain}\nlimits:' } })
      try {
        const zone = `plain.${parent}`
        await makeZone(powerDns, zone)
        assert.equal(await textOf(powerDns, `${ZONES}/nowhere.${parent}`), 'Not Found')
        const outcomes = []
        for (const [action, args] of [
          ['create_zone.v1', { zone, nameservers: ['ns1.example.net.'] }],
          ['read_zone.v1', { zone: `nowhere.${parent}` }],
          ['read_zone.v1', { zone }],
          ['replace_record_set.v1', { zone: `nowhere.${parent}`, name: `www.nowhere.${parent}`, ttl: 60, address: '192.0.2.1' }],
          ['delete_zone.v1', { zone }],
        ] as const) {
          const { status, body } = await plain.call(action, args as any)
          outcomes.push([action, status, body.outcome, body.error?.code ?? null])
          assert.doesNotMatch(JSON.stringify(body), /Conflict"|Not Found/)
        }
        assert.deepEqual(outcomes, [
          ['create_zone.v1', 200, 'already_in_desired_state', null],
          ['read_zone.v1', 200, 'rejected', 'UPSTREAM_NOT_FOUND'],
          ['read_zone.v1', 200, 'completed', null],
          ['replace_record_set.v1', 404, 'rejected', 'UPSTREAM_NOT_FOUND'],
          ['delete_zone.v1', 200, 'completed', null],
        ])
      } finally {
        await plain.close()
      }
    })

    test('a server that is gone is unreachable: nothing was sent, and the same call goes through once it is back', async () => {
      const own = await startPowerDns()
      const gone = await openDnsSite(own, { env: state(), direct: true })
      try {
        await own.kill9()
        const zone = `gone.${parent}`
        const create = ['create_zone.v1', { zone, nameservers: ['ns1.example.net.'] }] as const
        for (const [action, args] of [['list_zones.v1', {}], create] as const) {
          const { status, body } = await gone.call(action, args, { run: 'gone' })
          assert.deepEqual(
            [status, body.outcome, body.error.code, body.sent, body.error.retryable],
            [503, 'rejected', 'UPSTREAM_UNREACHABLE', false, true],
            action
          )
        }
        await own.restart()
        const { body } = await gone.call(...create, { run: 'gone' })
        assert.deepEqual([body.outcome, body.duplicate], ['completed', false])
        assert.equal((await zoneOf(own, zone))?.account, body.attempt_id)
      } finally {
        await gone.close()
        await own.stop()
      }
    })
  })
}

/** As PowerDNS answers who does not ask for JSON. */
async function textOf (server: PowerDns, path: string): Promise<string> {
  const answer = await fetch(`${server.url}${path}`, { headers: { 'x-api-key': server.apiKey, accept: 'text/plain' } })
  return answer.text()
}
