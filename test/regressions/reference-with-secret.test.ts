import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { askControl } from '../../src/http/control.ts'
import { ok, SECRET, startProbe } from '../hostile/probe.ts'

test('a reference that holds the credential is not kept, shown to an operator or sent with a look-up', async t => {
  const probe = await startProbe(t, {
    change: folder => {
      const sheet = folder.sheets['create_item.v1']
      sheet.outcomes = [{ when: 'response.status == 202', outcome: 'pending', reference: '${response.body.id}' }]
      sheet.lookup.query = { key: '${attempt.reference}' }
    },
  })
  probe.answers.write = ok({ id: SECRET }, 202)
  const { status, body } = await probe.ask('create_item.v1', { name: 'x' })
  assert.deepEqual([status, body.outcome], [202, 'unknown'])
  const told = JSON.stringify(await askControl(join(probe.site.folder, 'data', 'control.sock'), { command: 'attempts', unknown: false }))
  assert.ok(told.includes(body.attempt_id) && told.includes('"reference":null') && !told.includes('sk-probe'), told)
  // One that holds none is what the look-up asks by.
  probe.answers.write = ok({ id: 'job-1' }, 202)
  const other = await probe.ask('create_item.v1', { name: 'y' })
  assert.deepEqual([other.status, other.body.outcome], [202, 'pending'])
  await probe.attempt(probe.token, other.body.attempt_id, 4_000)
  assert.ok(probe.arrived().includes('GET /created?key=job-1'), probe.arrived().join('\n'))
  assert.ok(probe.arrived().every(line => !line.includes('sk-probe')))
})
