// rediss://: the certificate is checked, by authority and by name, before anything is said over the connection.
import assert from 'node:assert/strict'
import { before, test, type TestContext } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { openRedis } from '../../src/store/redis.ts'
import { StateUnavailable } from '../../src/store/store.ts'
import { AUTHORITY, certificateFiles, type Name } from '../support/certificates.ts'
import { freePort, startRedis } from '../support/redis.ts'
import { begun } from './drafts.ts'

async function startTlsRedis (t: TestContext, name: Name): Promise<{ url: string, commands: () => Promise<number> }> {
  const tlsPort = await freePort()
  const { cert, key, authority } = certificateFiles(name)
  const server = await startRedis({
    settings: ['--tls-port', String(tlsPort), '--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', authority, '--tls-auth-clients', 'no'],
  })
  t.after(() => server.stop())
  return {
    url: `rediss://127.0.0.1:${tlsPort}`,
    commands: async () => Number(/cmdstat_info:calls=(\d+)/.exec(await server.command('INFO', 'commandstats'))?.[1] ?? 0),
  }
}

before(() => { setDefaultCACertificates([...getCACertificates('bundled'), AUTHORITY]) })

test('a server with a certificate of a trusted authority is used', async t => {
  const { url } = await startTlsRedis(t, 'valid')
  const store = await openRedis(url)
  t.after(() => store.close())
  const record = await begun(store, { args: { over: 'tls' } })
  assert.equal(record.state, 'prepared')
})

for (const name of ['expired', 'elsewhere', 'self-signed'] as const) {
  test(`a server whose certificate is ${name} is not talked to`, async t => {
    const { url, commands } = await startTlsRedis(t, name)
    const opening = openRedis(url, { startMs: 1_000 })
    t.after(() => opening.then(store => store.close(), () => {}))
    await assert.rejects(opening, StateUnavailable)
    assert.equal(await commands(), 0, 'the broker asks INFO first of all')
  })
}
