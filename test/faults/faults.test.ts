// The gate in its short form: brokers on SQLite and three on Redis are hurt for a minute or two, and nothing may be doubled, lost or invented.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { GATES, runGate, tellResult } from './gate.ts'
import { violationsOf } from './totals.ts'

test('nothing is doubled, lost or invented while processes, networks, the store and the upstream fail', { timeout: 600_000 }, async t => {
  const seed = process.env['SEED'] ?? randomBytes(6).toString('hex')
  const folder = mkdtempSync(join(tmpdir(), 'aval-faults-'))
  const say = (line: string): void => { t.diagnostic(line) }
  say(`seed ${seed}`)
  const result = await runGate({ ...GATES.short, seed, folder, stateFile: null, say })
  tellResult(result, GATES.short.minimum, say)
  const violations = violationsOf(result.totals)
  assert.deepEqual(violations.map(({ invariant, what, attempt, errand }) => ({ invariant, what, attempt, errand })), [], `kept in ${folder}`)
  assert.deepEqual(result.tallies.filter(({ fired, wanted }) => fired < wanted), [], 'too little fired for the result to say anything')
  assert.deepEqual(Object.keys(result.totals.fired).filter(name => name.startsWith('process:')), [], 'brokers end when they are told to, and not by themselves')
  rmSync(folder, { recursive: true })
})
