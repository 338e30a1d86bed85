// The document that PowerDNS serves about itself: Swagger 2.0, written by hand by its makers, as it comes.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parse } from 'yaml'
import { loadCatalog } from '../../src/catalog/load.ts'
import { openDocuments } from '../../src/catalog/openapi/documents.ts'
import { lintFolder } from '../../src/curation/lint/lint.ts'
import { isFileKind, printSchema } from '../../src/commands/schema.ts'
import type { Site } from '../support/broker.ts'
import { startPowerDns, type PowerDns } from '../support/powerdns.ts'
import { dnsFolder, SHEETS } from './dns-site.ts'

const CPU_MS_MAX = 3_000

describe('the document of a running PowerDNS', () => {
  let powerDns: PowerDns
  let site: Site
  before(async () => {
    powerDns = await startPowerDns()
    site = await dnsFolder(powerDns, {})
  })
  after(async () => {
    site.remove()
    await powerDns.stop()
  })
  const cpuMs = async (work: () => Promise<void>): Promise<number> => {
    const from = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(from)
    return (user + system) / 1_000
  }

  test('is read whole: every operation, each with its answers, within its budget', async t => {
    const used = await cpuMs(async () => {
      const document = (await openDocuments(join(site.folder, 'openapi'))).open('powerdns.json')
      assert.equal(document.version, '2.0')
      const paths = (JSON.parse(readFileSync(join(site.folder, 'openapi/powerdns.json'), 'utf8')) as { paths: Record<string, object> }).paths
      const methods = Object.entries(paths).flatMap(([path, item]) =>
        Object.keys(item).filter(name => name !== 'parameters').map(method => `${method.toUpperCase()} ${path}`))
      assert.ok(methods.length >= 35)
      assert.deepEqual(document.operations().map(({ method, path }) => `${method} ${path}`).sort(), [...methods].sort())
      for (const selector of methods) assert.ok(document.operation(selector).responses.length > 0, selector)
      const { parameters, responses } = document.operation('listZone')
      assert.deepEqual(
        parameters.map(one => `${one.in} ${one.name}`),
        ['path server_id', 'path zone_id', 'query rrsets', 'query rrset_name', 'query rrset_type']
      )
      assert.ok(!document.operation('createZone').responses.some(({ status }) => status === '409'))
      assert.deepEqual(responses.map(({ status }) => status), ['200', '400', '404', '422', '500'])
    })
    t.diagnostic(`${Math.round(used)} ms of CPU`)
    assert.ok(used < CPU_MS_MAX, `${used} ms of CPU`)
  })

  test('and the sheets in front of it make one catalog, the same each time, within its budget', async t => {
    const digests: string[] = []
    const load = async (): Promise<void> => {
      const catalog = await loadCatalog({ actionsFolder: join(site.folder, 'actions'), openapiFolder: join(site.folder, 'openapi') })
      assert.deepEqual(
        [...catalog.actions.keys()],
        ['create_zone.v1', 'delete_zone.v1', 'list_zones.v1', 'read_zone.v1', 'read_zone_by_id.v1', 'replace_record_set.v1']
      )
      const { lookup } = catalog.actions.get('create_zone.v1')!
      // Its own mark makes absence provable; a record set has none that PowerDNS would carry.
      assert.deepEqual(
        [lookup?.ownId, lookup?.absent?.settlesAfterMs, catalog.actions.get('replace_record_set.v1')!.lookup?.absent],
        [true, 1_000, null]
      )
      digests.push(catalog.digest)
    }
    const used = await cpuMs(load)
    await load()
    assert.equal(digests[0], digests[1])
    t.diagnostic(`${Math.round(used)} ms of CPU`)
    assert.ok(used < CPU_MS_MAX, `${used} ms of CPU`)
  })

  test('the linter grades the sheets A', async () => {
    const folders = { actionsFolder: join(site.folder, 'actions'), openapiFolder: join(site.folder, 'openapi') }
    const { actions, findings } = await lintFolder({ ...folders, shownAs: 'actions', within: '' })
    assert.deepEqual(actions.map(({ grade }) => grade), Array(6).fill('A'))
    assert.deepEqual(findings.filter(({ accepted }) => accepted === null), [])
  })

  test('the schemas that an editor is given accept the files, and not what the loader would refuse', () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
    const check = (kind: string) => ajv.compile(JSON.parse(printSchema(isFileKind(kind) ? kind : 'sheet')) as object)
    const [sheet, upstream, policy] = [check('sheet'), check('upstream'), check('policy')]
    const read = (path: string): any => parse(readFileSync(join(SHEETS, path), 'utf8'))
    const sheets = readdirSync(join(SHEETS, 'powerdns')).filter(name => /\.v\d+\.yaml$/.test(name))
    assert.equal(sheets.length, 6)
    for (const name of sheets) {
      assert.ok(sheet(read(`powerdns/${name}`)), `${name}: ${ajv.errorsText(sheet.errors)}`)
      assert.ok(!sheet({ ...read(`powerdns/${name}`), retries: 3 }), name)
    }
    assert.ok(upstream(read('powerdns/upstream.yaml')), ajv.errorsText(upstream.errors))
    assert.ok(policy(read('policy.yaml')), ajv.errorsText(policy.errors))
    assert.ok(!upstream({ ...read('powerdns/upstream.yaml'), servers: [] }))
  })
})
