// A broker and its file of endpoints: what is wrong with it is told before anything is served.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { startBroker } from '../../src/main.ts'
import { makeShopSite } from '../support/broker.ts'

async function start (t: TestContext, yaml: string): Promise<void> {
  const site = await makeShopSite()
  t.after(() => { site.remove(); return site.shop.close() })
  const [hooks, secret] = [join(site.folder, 'hooks.yaml'), join(site.folder, 'hook.secret')]
  writeFileSync(secret, `whsec_${randomBytes(32).toString('base64')}`, { mode: 0o600 })
  writeFileSync(hooks, yaml.replaceAll('SECRET', `file:${secret}`))
  const broker = await startBroker(readConfig({ ...site.env, AVAL_WEBHOOKS: `file:${hooks}`, HOOK: 'not-a-webhook-secret' }))
  await broker.close()
}

test('a broker starts with endpoints whose secrets it can read', t => start(t, 'endpoints:\n  - {url: "https://hooks.example/x", secret: "SECRET"}\n'))

test('a broker does not start with a fault in the file, and says where', async t => {
  await assert.rejects(start(t, 'endpoints:\n  - {url: "https://10.0.0.1/x", secret: "SECRET"}\n'), /hooks\.yaml:2:11 webhook-url names an address of the range private/)
})

test('a broker does not start where a secret is none, and does not tell it', async t => {
  await assert.rejects(start(t, 'endpoints:\n  - {url: "https://hooks.example/x", secret: "env:HOOK"}\n'), error => {
    assert.match(String(error), /hooks\.example cannot be signed: env:HOOK is not whsec_/)
    assert.doesNotMatch(String(error), /not-a-webhook-secret/)
    return true
  })
})
