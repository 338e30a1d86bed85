import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ok, startProbe } from '../hostile/probe.ts'
import { aval } from '../support/program.ts'

/** C1 controls, a bidirectional override, a zero-width space, a tag character: JSON leaves all of them as they are. */
const MARKS = '\u009b31mred\u202eder\u200b\u{e0041}\u2028end'
const RAW = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u{e0000}-\u{e007f}]/u

test('nothing that an upstream, an agent or a document wrote reaches a terminal as a control', async t => {
  const probe = await startProbe(t)
  const tokenFile = join(probe.site.folder, 'token')
  writeFileSync(tokenFile, probe.token)
  probe.answers.read = ok({ id: 'one', name: MARKS })
  const env = { AVAL_DATA: join(probe.site.folder, 'data') }
  for (const json of [[], ['--json']]) {
    const call = await aval(t, ['call', 'get_item.v1', '--arg', 'id=one', '--url', probe.agentsUrl, '--token-file', tokenFile, ...json])
    assert.equal(JSON.parse(call.stdout).result.name, MARKS, 'it is the same value for a program')
    assert.doesNotMatch(call.stdout + call.stderr, RAW)
  }
  const unknown = await aval(t, ['call', `a${MARKS}`, '--url', `ftp://${MARKS}`, '--token-file', tokenFile])
  assert.equal(unknown.code, 2)
  probe.rewrite(folder => { folder.sheets['get_item.v1'].input.properties[`x${MARKS}`] = { type: 'string', maxLength: 1 } })
  const reload = await aval(t, ['reload'], { env })
  assert.equal(reload.code, 1)
  for (const ended of [unknown, reload]) assert.doesNotMatch(ended.stdout + ended.stderr, RAW)
})
