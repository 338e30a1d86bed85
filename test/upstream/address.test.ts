// Which addresses may be dialled: the table, and the same table through the client, where nothing refused ever sees a connection.
import { after, before, describe, test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { parseNetworks, refuseAddress, sameAddress } from '../../src/upstream/address.ts'
import { createUpstreamClient } from '../../src/upstream/client.ts'
import type { Resolve } from '../../src/upstream/dial.ts'
import type { Reply } from '../../src/upstream/wire.ts'
import { startHostileUpstream, type HostileUpstream } from '../support/hostile-upstream.ts'
import { aRead, aWrite, hearing, postTo, requestTo, upstreamAt } from './upstream-fixture.ts'

const PUBLIC = parseNetworks(['public'])
const LOOPBACK = parseNetworks(['loopback'])

const NEVER_PUBLIC = [
  '127.0.0.1', '127.255.255.254', '::1', '::ffff:7f00:1', '::ffff:127.0.0.1', '0:0:0:0:0:ffff:7f00:0001',
  '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.0.1', '::ffff:10.0.0.1', '::ffff:c0a8:1',
  '0.0.0.0', '0.1.2.3', '::', '100.64.0.1', '100.100.100.200', '169.254.169.254', '168.63.129.16', '::ffff:168.63.129.16', '192.0.0.192', '192.0.2.1',
  '198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255',
  'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd00:ec2::254', 'ff02::1', '2001:db8::1', '64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::1',
  '2002:7f00:1::1', '2001::1', '5f00::1',
]

/** Not the usual form of an address: some resolver would read each as 127.0.0.1. */
const ODD_FORMS = [
  '0x7f.1', '0x7f000001', '2130706433', '017700000001', '0177.0.0.1', '127.1', '127。0。0。1', '１２７.0.0.1', '127.0.0.1.', '[::1]', '::1%', '',
  ' 127.0.0.1', 'localhost',
]

describe('an address', () => {
  for (const address of NEVER_PUBLIC) {
    test(`${address} is not public`, () => {
      assert.notEqual(refuseAddress(address, PUBLIC, false), null)
    })
  }

  for (const form of ODD_FORMS) {
    test(`${JSON.stringify(form)} is no address, whatever the networks`, () => {
      assert.equal(refuseAddress(form, parseNetworks(['public', 'loopback', '0.0.0.0/0', '::/0']), false), 'not an IP address')
    })
  }

  for (const address of ['8.8.8.8', '1.1.1.1', '2606:4700:4700::1111', '::ffff:8.8.8.8']) {
    test(`${address} is public, and only over TLS`, () => {
      assert.equal(refuseAddress(address, PUBLIC, false), null)
      assert.equal(refuseAddress(address, PUBLIC, true), 'a public address without TLS')
      assert.notEqual(refuseAddress(address, LOOPBACK, false), null)
    })
  }

  for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) {
    test(`${address} is loopback, with TLS and without`, () => {
      assert.equal(refuseAddress(address, LOOPBACK, true), null)
      assert.equal(refuseAddress(address, LOOPBACK, false), null)
    })
  }

  test('0.0.0.0 reaches this machine too, and is not loopback', () => {
    assert.notEqual(refuseAddress('0.0.0.0', LOOPBACK, true), null)
    assert.notEqual(refuseAddress('::', LOOPBACK, true), null)
  })

  test('a CIDR allows what is in it and nothing beside it, with TLS and without, however the address is written', () => {
    const networks = parseNetworks(['10.20.0.0/16', 'fd12::/32', '168.63.129.16/32'])
    for (const inside of ['10.20.0.1', '10.20.255.255', '::ffff:10.20.1.1', 'fd12::1', '168.63.129.16']) {
      assert.equal(refuseAddress(inside, networks, true), null, inside)
      assert.equal(refuseAddress(inside, networks, false), null, inside)
    }
    for (const outside of ['10.21.0.1', '10.19.255.255', 'fd13::1', '127.0.0.1', '8.8.8.8', '169.254.169.254']) {
      assert.notEqual(refuseAddress(outside, networks, false), null, outside)
    }
  })

  test('what is not a network is refused by name', () => {
    for (const word of ['private', '10.0.0.0', '10.0.0.0/33', 'example.com', '']) assert.throws(() => parseNetworks([word]), /not a network/)
  })

  test('any private IPv4 address is refused in each of its IPv6 disguises', () => {
    const octet = fc.integer({ min: 0, max: 255 })
    const first = fc.constantFrom([10], [127], [192, 168], [169, 254])
    const privately = fc.tuple(first, octet, octet, octet).map(([start, ...rest]) => [...start, ...rest].slice(0, 4))
    fc.assert(fc.property(privately, octets => {
      const hex = (at: number): string => ((octets[at]! << 8) | octets[at + 1]!).toString(16)
      const dotted = octets.join('.')
      for (const text of [dotted, `::ffff:${dotted}`, `::ffff:${hex(0)}:${hex(2)}`, `64:ff9b::${hex(0)}:${hex(2)}`, `2002:${hex(0)}:${hex(2)}::`]) {
        assert.notEqual(refuseAddress(text, PUBLIC, false), null, text)
      }
    }))
  })

  test('is the same as itself written otherwise', () => {
    assert.ok(sameAddress('::ffff:127.0.0.1', '127.0.0.1'))
    assert.ok(sameAddress('2001:DB8:0:0::1', '2001:db8::1'))
    assert.ok(!sameAddress('127.0.0.1', '127.0.0.2'))
    assert.ok(!sameAddress('localhost', 'localhost'))
  })
})

describe('a connection', () => {
  let server: HostileUpstream

  before(async () => { server = await startHostileUpstream() })
  after(async () => { await server.stop() })

  async function sendTo (origin: string, networks: readonly string[], resolve?: Resolve): Promise<Reply> {
    server.clear()
    const client = createUpstreamClient({ telemetry: hearing(), ...(resolve === undefined ? {} : { resolve }) })
    try {
      return await client.send(upstreamAt(origin, { networks }), postTo('/ok'), aWrite())
    } finally {
      await client.close(0)
    }
  }
  const refused = (reply: Reply): void => {
    assert.deepEqual([reply.kind, 'cause' in reply ? reply.cause : null], ['unsent', 'address_refused'])
    assert.deepEqual([server.connections, server.ledger.length, server.bytes], [0, 0, 0])
  }

  for (const host of ['127.0.0.1', '0x7f.1', '2130706433', '017700000001', '[::ffff:7f00:1]', '127。0。0。1', '127.1', 'localhost', '0.0.0.0']) {
    test(`to http://${host} is refused where only public addresses are allowed`, async () => {
      refused(await sendTo(`http://${host}:${server.port}`, ['public']))
    })
  }

  for (const host of ['fe80::1%eth0', 'user:pass@127.0.0.1', '127.0.0.1/path', '']) {
    test(`to http://${host} is refused, since that is no origin`, async () => {
      refused(await sendTo(`http://${host.includes('::') ? `[${host}]` : host}`, ['loopback']))
    })
  }

  test('to networks that cannot be read is refused', async () => {
    refused(await sendTo(server.origin, ['everything']))
  })

  test('to a name is refused if any of its addresses is, whichever stands first', async () => {
    for (const addresses of [['127.0.0.1', '10.0.0.1'], ['10.0.0.1', '127.0.0.1'], ['127.0.0.1', '8.8.8.8'], ['127.0.0.1', '127.1']]) {
      refused(await sendTo(`http://api.upstream.test:${server.port}`, ['loopback'], async () => addresses))
    }
  })

  test('to a name goes to the address that was checked', async () => {
    const asked: string[] = []
    const reply = await sendTo(`http://api.upstream.test:${server.port}`, ['loopback'], async name => {
      asked.push(name)
      return ['127.0.0.1']
    })
    assert.equal(reply.kind, 'answer')
    assert.deepEqual(asked, ['api.upstream.test'])
    assert.equal(server.ledger[0]!.headers['host'], `api.upstream.test:${server.port}`)
  })

  test('to a name with several addresses tries the next one where the first does not answer', async () => {
    const reply = await sendTo(`http://api.upstream.test:${server.port}`, ['loopback'], async () => ['127.0.0.9', '127.0.0.1'])
    assert.equal(reply.kind, 'answer')
  })

  test('to a name without addresses, or that the resolver fails on, is unsent', async () => {
    for (const resolve of [async () => [], async () => { throw Object.assign(new Error('no'), { code: 'ENOTFOUND' }) }]) {
      const reply = await sendTo(`http://api.upstream.test:${server.port}`, ['loopback'], resolve)
      assert.deepEqual([reply.kind, 'cause' in reply ? reply.cause : null], ['unsent', 'unresolved_name'])
    }
  })

  test('that the resolver never answers for ends at the time for connecting', async () => {
    server.clear()
    const client = createUpstreamClient({ telemetry: hearing(), resolve: () => new Promise(() => {}) })
    const shop = upstreamAt(`http://api.upstream.test:${server.port}`, { timeouts: { connectMs: 60, totalMs: 5_000 } })
    const reply = await client.send(shop, requestTo('/ok'), aRead(5_000))
    assert.deepEqual([reply.kind, 'cause' in reply ? reply.cause : null], ['unsent', 'connect_timeout'])
    await client.close(0)
  })

  test('is checked anew: a name that has moved to a refused address is not dialled again', async () => {
    server.clear()
    let addresses = ['127.0.0.1']
    const client = createUpstreamClient({ telemetry: hearing(), resolve: async () => addresses, connectionAgeMs: 30 })
    const shop = upstreamAt(`http://api.upstream.test:${server.port}`, { limits: { concurrency: 1, perSecond: null, tenantShare: 1 } })
    try {
      assert.equal((await client.send(shop, requestTo('/ok'), aRead())).kind, 'answer')
      addresses = ['10.0.0.1']
      await new Promise(resolve => setTimeout(resolve, 80))
      const moved = await client.send(shop, requestTo('/ok'), aRead())
      assert.deepEqual([moved.kind, 'cause' in moved ? moved.cause : null], ['unsent', 'address_refused'])
      addresses = ['127.0.0.1']
      assert.equal((await client.send(shop, requestTo('/ok'), aRead())).kind, 'answer')
      assert.equal(server.ledger.length, 2)
    } finally {
      await client.close(0)
    }
  })
})
