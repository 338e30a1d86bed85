// An upstream that nobody here wrote, end to end on both stores. What happened is always asked of PowerDNS itself.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { startPowerDns, type PowerDns } from '../support/powerdns.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { heardSince, makeZone, openDnsSite, records, zoneOf, ZONES, type DnsSite } from './dns-site.ts'

const NAMESERVERS = ['ns1.example.net.']

let powerDns: PowerDns
let redis: RedisServer

before(async () => {
  [powerDns, redis] = await Promise.all([startPowerDns(), startRedis()])
})
after(() => Promise.all([powerDns.stop(), redis.stop()]))

const STORES: ReadonlyArray<readonly [name: string, zones: string, state: () => { AVAL_STATE?: string }]> = [
  ['the embedded store', 'sqlite.example.', () => ({})],
  ['Redis', 'redis.example.', () => ({ AVAL_STATE: redis.url })],
]

for (const [store, parent, state] of STORES) {
  describe(`PowerDNS behind a broker on ${store}`, () => {
    let dns: DnsSite
    before(async () => {
      // A short timeout, so that the absence of an effect is proved soon.
      dns = await openDnsSite(powerDns, { env: state(), instead: { 'total: 5s': 'total: 2s' } })
    })
    after(() => dns.close())

    /** A call whose answer is lost on the way back, and what is learned of it. */
    async function lose (
      method: string,
      action: string,
      args: Parameters<DnsSite['call']>[1]
    ): Promise<{ told: any, learned: any, heard: readonly string[] }> {
      const run = randomUUID()
      const { faults } = dns.proxy.counts
      const mark = powerDns.heard().length
      dns.proxy.dropReplyTo(`${method} `)
      const told = await dns.call(action, args, { run })
      dns.proxy.pass()
      assert.equal(dns.proxy.counts.faults, faults + 1)
      assert.deepEqual([told.status, told.headers.get('location')], [202, `/v1/attempts/${told.body.attempt_id}`])
      const learned = await dns.outcome(told, run)
      return { told: told.body, learned, heard: await heardSince(powerDns, mark, `${method} `, 1) }
    }

    test('a zone is created, listed, read, changed and deleted, and the server says the same', async () => {
      const zone = `life.${parent}`
      const created = await dns.call('create_zone.v1', { zone, nameservers: NAMESERVERS })
      const made = await zoneOf(powerDns, zone)
      assert.ok(made !== null)
      assert.deepEqual([created.status, created.body.outcome], [200, 'completed'])
      assert.deepEqual(created.body.result, { id: zone, serial: made.edited_serial })
      assert.equal(made.account, created.body.attempt_id)
      assert.deepEqual(records(made, zone, 'NS'), NAMESERVERS)

      const listed = await dns.call('list_zones.v1', {})
      const { body: all } = await powerDns.ask('GET', ZONES)
      assert.deepEqual(listed.body.result, (all as any[]).map(({ id, name, kind, serial }) => ({ id, kind, name, serial })))
      assert.ok(listed.body.result.some((one: any) => one.name === zone))

      const name = `www.${zone}`
      const replaced = await dns.call('replace_record_set.v1', { zone, name, ttl: 300, address: '192.0.2.1' })
      const changed = await zoneOf(powerDns, zone)
      assert.deepEqual([replaced.status, replaced.body.outcome], [200, 'completed'])
      assert.deepEqual(records(changed, name, 'A'), ['192.0.2.1'])
      assert.deepEqual(replaced.body.result, { serial: changed!.edited_serial })
      assert.ok(changed!.edited_serial > made.edited_serial)

      const read = await dns.call('read_zone.v1', { zone })
      assert.deepEqual(
        [read.body.outcome, read.body.result.serial, records(read.body.result, name, 'A')],
        ['completed', changed!.edited_serial, ['192.0.2.1']]
      )
      // What the view does not name stays behind.
      assert.deepEqual(Object.keys(read.body.result).sort(), ['name', 'rrsets', 'serial'])

      const deleted = await dns.call('delete_zone.v1', { zone })
      assert.deepEqual([deleted.status, deleted.body.outcome, deleted.body.evidence.upstream_status], [200, 'completed', 204])
      assert.equal(await zoneOf(powerDns, zone), null)
    })

    test('a zone that is there already answers 409, which no document mentions: it is in the desired state, and stays whose it was', async () => {
      const zone = `twice.${parent}`
      const first = await dns.call('create_zone.v1', { zone, nameservers: NAMESERVERS })
      const mark = powerDns.heard().length
      const second = await dns.call('create_zone.v1', { zone, nameservers: ['ns9.example.net.'] })
      assert.deepEqual(
        [second.status, second.body.ok, second.body.outcome, second.body.evidence.upstream_status],
        [200, true, 'already_in_desired_state', 409]
      )
      assert.deepEqual(await heardSince(powerDns, mark, ' 409', 1), [`POST ${ZONES} 409`])
      const zoneNow = await zoneOf(powerDns, zone)
      assert.deepEqual([zoneNow?.account, records(zoneNow, zone, 'NS')], [first.body.attempt_id, NAMESERVERS])
    })

    test('a record set that is as asked for is not sent again, and the serial stays', async () => {
      const zone = `same.${parent}`
      await makeZone(powerDns, zone)
      const args = { zone, name: `www.${zone}`, ttl: 300, address: '192.0.2.7' }
      const mark = powerDns.heard().length
      const first = await dns.call('replace_record_set.v1', args)
      const { edited_serial: serial } = (await zoneOf(powerDns, zone))!
      const again = await dns.call('replace_record_set.v1', args)
      assert.deepEqual([first.body.outcome, again.status, again.body.outcome, again.body.sent], ['completed', 200, 'already_in_desired_state', false])
      assert.deepEqual(
        [...await heardSince(powerDns, mark, zone, 3)].sort(),
        ['GET 200', 'GET 200', 'PATCH 204'].map(line => line.replace(' ', ` ${ZONES}/${zone} `))
      )
      assert.equal((await zoneOf(powerDns, zone))!.edited_serial, serial)

      const other = await dns.call('replace_record_set.v1', { ...args, address: '192.0.2.8' })
      const moved = (await zoneOf(powerDns, zone))!
      assert.deepEqual(
        [other.body.outcome, other.body.result.serial, records(moved, args.name, 'A')],
        ['completed', moved.edited_serial, ['192.0.2.8']]
      )
      assert.ok(moved.edited_serial > serial)
    })

    test('records that the server refuses are refused in the words of the sheet, and nothing changes', async () => {
      const zone = `refused.${parent}`
      await makeZone(powerDns, zone)
      const name = `alias.${zone}`
      const alias = { name, type: 'CNAME', ttl: 60, changetype: 'REPLACE', records: [{ content: 'www.example.net.', disabled: false }] }
      assert.equal((await powerDns.ask('PATCH', `${ZONES}/${zone}`, { rrsets: [alias] })).status, 204)
      const answer = await dns.call('replace_record_set.v1', { zone, name, ttl: 60, address: '192.0.2.1' })
      assert.deepEqual([answer.status, answer.body.outcome, answer.body.error.code, answer.body.sent], [200, 'rejected', 'RECORDS_REFUSED', true])
      assert.equal(answer.body.error.message, 'The name server refused the records.')
      assert.doesNotMatch(JSON.stringify(answer.body), /Conflicts|pre-existing/i)
      const after = await zoneOf(powerDns, zone)
      assert.deepEqual([records(after, name, 'A'), records(after, name, 'CNAME')], [[], ['www.example.net.']])
      const outside = await dns.call('replace_record_set.v1', { zone, name: 'www.example.net.', ttl: 60, address: '192.0.2.1' })
      assert.deepEqual([outside.status, outside.body.error.code, outside.body.sent], [422, 'NAME_OUTSIDE_ZONE', false])
    })

    test('a delete whose answer is lost is unknown, then completed by a look-up, and was sent once', async () => {
      const zone = `lost-delete.${parent}`
      await makeZone(powerDns, zone)
      const { told, learned, heard } = await lose('DELETE', 'delete_zone.v1', { zone })
      assert.deepEqual([told.ok, told.outcome, told.error.code], [false, 'unknown', 'OUTCOME_UNKNOWN'])
      assert.deepEqual([learned.ok, learned.outcome, learned.evidence.source], [true, 'completed', 'lookup'])
      assert.equal(await zoneOf(powerDns, zone), null)
      assert.deepEqual(heard, [`DELETE ${ZONES}/${zone} 204`])
    })

    test('a create whose answer is lost is found by its own mark', async () => {
      const zone = `lost-create.${parent}`
      const { told, learned, heard } = await lose('POST', 'create_zone.v1', { zone, nameservers: NAMESERVERS })
      const made = (await zoneOf(powerDns, zone))!
      assert.equal(told.outcome, 'unknown')
      assert.deepEqual([learned.outcome, learned.evidence.source, learned.result], ['completed', 'lookup', { id: zone, serial: made.edited_serial }])
      assert.equal(made.account, told.attempt_id)
      assert.deepEqual(heard, [`POST ${ZONES} 201`])
    })

    test('a create whose refusal is lost does not take the zone of another for its own', async () => {
      const zone = `lost-refusal.${parent}`
      await makeZone(powerDns, zone)
      const { told, learned, heard } = await lose('POST', 'create_zone.v1', { zone, nameservers: NAMESERVERS })
      assert.deepEqual([told.outcome, learned.outcome, learned.evidence.source], ['unknown', 'already_in_desired_state', 'lookup'])
      assert.equal((await zoneOf(powerDns, zone))?.account, '')
      assert.deepEqual(heard, [`POST ${ZONES} 409`])
    })

    test('a replaced record set whose answer is lost is found by its records and the serial that moved on', async () => {
      const zone = `lost-replace.${parent}`
      const { edited_serial: before } = await makeZone(powerDns, zone)
      const name = `www.${zone}`
      const { told, learned, heard } = await lose('PATCH', 'replace_record_set.v1', { zone, name, ttl: 60, address: '192.0.2.3' })
      const changed = (await zoneOf(powerDns, zone))!
      assert.deepEqual(
        [told.outcome, learned.outcome, learned.evidence.source, learned.result],
        ['unknown', 'completed', 'lookup', { serial: changed.edited_serial }]
      )
      assert.deepEqual([records(changed, name, 'A'), changed.edited_serial > before], [['192.0.2.3'], true])
      assert.deepEqual(heard, [`PATCH ${ZONES}/${zone} 204`])
    })

    test('a create that never arrived is proved to have had no effect, and may be called again', async () => {
      const zone = `never-arrived.${parent}`
      const run = randomUUID()
      const mark = powerDns.heard().length
      const args = { zone, nameservers: NAMESERVERS }
      dns.proxy.cutAfter('up', 0)
      const told = await dns.call('create_zone.v1', args, { run })
      dns.proxy.pass()
      assert.deepEqual([told.status, told.body.outcome, told.body.sent], [202, 'unknown', true])
      const learned = await dns.outcome(told, run)
      assert.deepEqual(
        [learned.outcome, learned.error.code, learned.error.retryable, learned.evidence.source],
        ['rejected', 'NOT_APPLIED', true, 'lookup']
      )
      assert.equal(await zoneOf(powerDns, zone), null)
      assert.deepEqual(await heardSince(powerDns, mark, 'POST ', 0), [])
      const again = await dns.call('create_zone.v1', args, { run })
      assert.deepEqual([again.body.outcome, again.body.duplicate], ['completed', false])
      assert.equal((await zoneOf(powerDns, zone))?.account, again.body.attempt_id)
    })

    test('what is not there is not found, and deleting it needs no send', async () => {
      const zone = `nowhere.${parent}`
      const mark = powerDns.heard().length
      const read = await dns.call('read_zone.v1', { zone })
      assert.deepEqual(
        [read.status, read.body.outcome, read.body.error.code, read.body.error.retryable],
        [200, 'rejected', 'UPSTREAM_NOT_FOUND', false]
      )
      const replaced = await dns.call('replace_record_set.v1', { zone, name: `www.${zone}`, ttl: 60, address: '192.0.2.1' })
      assert.deepEqual([replaced.status, replaced.body.error.code, replaced.body.sent], [404, 'UPSTREAM_NOT_FOUND', false])
      const deleted = await dns.call('delete_zone.v1', { zone })
      assert.deepEqual([deleted.status, deleted.body.outcome, deleted.body.sent], [200, 'already_in_desired_state', false])
      assert.deepEqual(await heardSince(powerDns, mark, zone, 2), Array(2).fill(`GET ${ZONES}/${zone} 404`))
    })
  })
}
