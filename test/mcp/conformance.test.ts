// The official conformance suite against a whole broker, for both revisions. Both are runs with bearer authentication, and there are no others: no mode of
// the broker lets a request in without an access token. The suite has no option for one, so a proxy adds it.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { startBearerProxy } from '../support/bearer-proxy.ts'
import { makeShopSite, startTestBroker, type TestBroker } from '../support/broker.ts'
import { startProgram, type Ended } from '../support/program.ts'
import { conformanceFixture } from './conformance/fixture.ts'

const SUITE = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js')

async function runSuite (t: TestContext, revision: string, more: readonly string[] = []): Promise<Ended> {
  const site = await makeShopSite()
  t.after(async () => {
    await site.shop.close()
    site.remove()
  })
  let broker: TestBroker | null = null
  const changeTools = async (): Promise<void> => {
    const sheet = join(site.folder, 'actions/shop/add_order_note.v1.yaml')
    writeFileSync(sheet, readFileSync(sheet, 'utf8').replace(/^title: .*$/m, `title: Write a note, changed at ${performance.now()}`))
    await broker!.reload()
  }
  broker = await startTestBroker(site, {}, { mcp: { extend: conformanceFixture(changeTools) } })
  t.after(() => broker.close())
  const proxy = await startBearerProxy(broker.agentsUrl, await site.token())
  t.after(() => proxy.close())
  const words = ['server', '--url', `${proxy.url}/mcp`, '--requirements', revision, ...more]
  return startProgram(t, process.execPath, [SUITE, ...words], { cwd: site.folder }).ended()
}

const passed = (said: Ended, scenario: string): number => Number(new RegExp(`^[✓✗] ${scenario}: (\\d+) passed`, 'm').exec(said.stdout)?.[1] ?? 0)

test('2026-07-28: everything that the revision requires passes', async t => {
  const said = await runSuite(t, '2026-07-28')
  assert.equal(said.code, 0, `${said.stdout.slice(-6000)}\n${said.stderr}`)
  // Not vacuously: these count what they looked at. The 29th is that a reload is told on an open stream.
  assert.equal(passed(said, 'server-stateless'), 29, said.stdout)
  assert.equal(passed(said, 'http-header-validation'), 14)
  assert.equal(passed(said, 'caching'), 8)
})

test('2025-11-25: everything that the revision requires passes, but for what needs a session', async t => {
  const said = await runSuite(t, '2025-11-25', ['--expected-failures', join(import.meta.dirname, 'conformance/baseline-2025-11-25.yml')])
  assert.equal(said.code, 0, `${said.stdout.slice(-6000)}\n${said.stderr}`)
  assert.ok(passed(said, 'server-initialize') > 0)
})
