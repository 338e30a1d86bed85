// The generated cases of sheets for software that nobody here wrote: on the recording upstream, and on the real PowerDNS, whose own log says that
// it was never asked.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { loadCatalog } from '../../src/catalog/load.ts'
import { main } from '../../src/cli.ts'
import { argumentCasesOf } from '../../src/curation/test/argument-cases.ts'
import type { Report } from '../../src/curation/test/report.ts'
import { startBroker } from '../../src/main.ts'
import type { Site } from '../support/broker.ts'
import { startTestBroker } from '../support/broker.ts'
import { startPowerDns, type PowerDns } from '../support/powerdns.ts'
import { dnsFolder, heardSince } from '../powerdns/dns-site.ts'

let powerDns: PowerDns
let site: Site

before(async () => {
  powerDns = await startPowerDns()
  site = await dnsFolder(powerDns, { 'http://127.0.0.1:18081': powerDns.url })
})

after(async () => {
  site.remove()
  await powerDns.stop()
})

const folders = (): { actionsFolder: string, openapiFolder: string } => (
  { actionsFolder: join(site.folder, 'actions'), openapiFolder: join(site.folder, 'openapi') }
)

test('aval test: every wrong call is refused with nothing sent', async t => {
  let out = ''
  const { actionsFolder, openapiFolder } = folders()
  const code = await main(['test', '--json'], {
    env: { AVAL_ACTIONS: actionsFolder, AVAL_OPENAPI: openapiFolder }, print: text => { out += text }, tell: text => t.diagnostic(text), startBroker,
  })
  const { totals, actions } = JSON.parse(out) as Report
  t.diagnostic(JSON.stringify(totals))
  assert.equal(code, 0, JSON.stringify(actions.flatMap(action => action.cases.filter(one => one.fault !== null))))
  assert.deepEqual([totals.actions, totals.failed, totals.sent_by_refused, totals.gaps], [6, 0, 0, 0])
  assert.ok(totals.refused > 150, `${totals.refused} had to be refused`)
})

test('the real server hears of none of them', async () => {
  const { actions } = await loadCatalog(folders())
  const broker = await startTestBroker(site, { PDNS_KEY: powerDns.apiKey })
  try {
    const mark = powerDns.heard().length
    let refused = 0
    for (const action of actions.values()) {
      const token = await site.token({ roles: ['dns_operator'], run: randomUUID() })
      for (const { name, text, refusal } of argumentCasesOf(action).cases) {
        if (refusal === null) continue
        const answer = await fetch(`${broker.agentsUrl}/v1/actions/${action.id}`, {
          method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, body: `{"arguments":${text}}`,
        })
        const { error } = await answer.json() as { error: { code: string } }
        assert.ok(answer.status >= 400 && refusal.codes.includes(error.code), `${action.id} ${name}: ${answer.status} ${error.code}`)
        refused++
      }
    }
    assert.ok(refused > 120, String(refused))
    assert.deepEqual((await heardSince(powerDns, mark, '/zones', 0)), [])
  } finally {
    await broker.close()
  }
})
