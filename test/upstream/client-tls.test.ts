// TLS to an upstream: always verified, against the host's name, and nothing that is not verified sees a byte of a request.
import { after, before, describe, test } from 'node:test'
import assert from 'node:assert/strict'
import type { TlsOptions } from 'node:tls'
import type { Reply } from '../../src/upstream/wire.ts'
import { createUpstreamClient } from '../../src/upstream/client.ts'
import { assertTlsVerified } from '../../src/upstream/dial.ts'
import { AUTHORITY, serverCertificate } from '../support/certificates.ts'
import { startHostileUpstream, type HostileUpstream } from '../support/hostile-upstream.ts'
import { aWrite, hearing, postTo, upstreamAt } from './upstream-fixture.ts'

async function withServer (tls: TlsOptions, use: (server: HostileUpstream) => Promise<void>): Promise<void> {
  const server = await startHostileUpstream({ tls })
  try {
    await use(server)
  } finally {
    await server.stop()
  }
}

async function sendTo (server: HostileUpstream, host: string, ca: string | undefined = AUTHORITY): Promise<Reply> {
  const client = createUpstreamClient({ telemetry: hearing(), resolve: async () => ['127.0.0.1'], ...(ca === undefined ? {} : { ca }) })
  try {
    return await client.send(upstreamAt(`https://${host}:${server.port}`), postTo('/echo'), aWrite())
  } finally {
    await client.close(0)
  }
}

describe('TLS', () => {
  test('to a server whose certificate is good for the name, or for the address, is answered over HTTP/1.1', async () => {
    await withServer({ ...serverCertificate('valid'), ALPNProtocols: ['h2', 'http/1.1'] }, async server => {
      for (const host of ['api.upstream.test', '127.0.0.1']) {
        const reply = await sendTo(server, host)
        assert.equal(reply.kind, 'answer', host)
      }
      assert.deepEqual(server.ledger.map(entry => entry.headers['host']), [`api.upstream.test:${server.port}`, `127.0.0.1:${server.port}`])
    })
  })

  const old: TlsOptions = { ...serverCertificate('valid'), minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' }
  const bad: ReadonlyArray<readonly [string, TlsOptions, string, string | undefined]> = [
    ['whose certificate has expired', serverCertificate('expired'), 'api.upstream.test', AUTHORITY],
    ['whose certificate is for another name', serverCertificate('elsewhere'), 'api.upstream.test', AUTHORITY],
    ['whose certificate is for another name than the address', serverCertificate('elsewhere'), '127.0.0.1', AUTHORITY],
    ['whose certificate is signed by itself', serverCertificate('self-signed'), 'api.upstream.test', AUTHORITY],
    ['whose authority is not trusted', serverCertificate('valid'), 'api.upstream.test', serverCertificate('self-signed').cert],
    ['that speaks no more than TLS 1.0', { ...old, maxVersion: 'TLSv1' }, 'api.upstream.test', AUTHORITY],
    ['that speaks no more than TLS 1.1', { ...old, maxVersion: 'TLSv1.1' }, 'api.upstream.test', AUTHORITY],
  ]
  for (const [what, tls, host, ca] of bad) {
    test(`to a server ${what} is refused before a byte of the request`, async () => {
      await withServer(tls, async server => {
        const reply = await sendTo(server, host, ca)
        assert.deepEqual([reply.kind, 'cause' in reply ? reply.cause : null], ['unsent', 'tls'])
        assert.deepEqual([server.ledger.length, server.bytes], [0, 0])
      })
    })
  }

  test('is verified even where the environment says not to', async () => {
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    try {
      await withServer(serverCertificate('self-signed'), async server => {
        assert.equal((await sendTo(server, 'api.upstream.test')).kind, 'unsent')
        assert.equal(server.ledger.length, 0)
      })
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before
    }
  })

  test('switched off for the process is refused with the name of the switch', () => {
    assert.throws(() => assertTlsVerified({ NODE_TLS_REJECT_UNAUTHORIZED: '0' }), /NODE_TLS_REJECT_UNAUTHORIZED/)
    for (const value of [undefined, '', '1']) assertTlsVerified({ NODE_TLS_REJECT_UNAUTHORIZED: value })
  })
})

describe('a peer that never finishes a handshake', () => {
  let server: HostileUpstream
  before(async () => {
    server = await startHostileUpstream()
    server.accepting = 'silent'
  })
  after(async () => { await server.stop() })

  test('is given up at the time for connecting, and nothing was sent', async () => {
    const client = createUpstreamClient({ telemetry: hearing() })
    const silent = upstreamAt(`https://127.0.0.1:${server.port}`, { timeouts: { connectMs: 100, totalMs: 5_000 } })
    const reply = await client.send(silent, postTo('/ok'), aWrite(5_000))
    assert.deepEqual([reply.kind, 'cause' in reply ? reply.cause : null], ['unsent', 'connect_timeout'])
    assert.equal(server.ledger.length, 0)
    await client.close(0)
  })

  test('and that ends the connection instead is unsent too', async () => {
    server.accepting = 'end'
    const client = createUpstreamClient({ telemetry: hearing() })
    const reply = await client.send(upstreamAt(`https://127.0.0.1:${server.port}`), postTo('/ok'), aWrite())
    assert.equal(reply.kind, 'unsent')
    assert.equal(server.ledger.length, 0)
    await client.close(0)
  })
})
