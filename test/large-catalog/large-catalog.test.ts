// Two hundred sheets in front of a real document of eleven megabytes. What is asserted is CPU time and memory, which other work on the machine does
// not change; the bounds are far above what was measured.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { makeSite } from '../support/broker.ts'
import { writeGithubSheets } from './github-sheets.ts'

const SHEETS = 200
const MEASURE = join(import.meta.dirname, 'measure.ts')

interface Measured {
  readonly start: { readonly cpuMs: number, readonly wallMs: number, readonly brokerMs: number, readonly memoryMib: number }
  readonly reloads: ReadonlyArray<{ readonly stallMs: number, readonly cpuMs: number, readonly wallMs: number }>
  readonly memoryMib: number
}

test('a broker with 200 sheets and a document of 11 MB starts soon, and its reloads never hold up the calls that are under way', async t => {
  const site = await makeSite({ env: { GITHUB_TOKEN_OF_THE_TEST: 'ghp_of-the-large-catalog' } })
  t.after(() => site.remove())
  const bytes = writeGithubSheets(site.folder, SHEETS)
  assert.ok(bytes > 10_000_000)
  assert.equal(readdirSync(join(site.folder, 'actions', 'github')).length, SHEETS + 1)
  const { stdout } = await promisify(execFile)(process.execPath, [MEASURE], { env: { PATH: process.env['PATH'], ...site.env } })
  const { start, reloads, memoryMib } = JSON.parse(stdout) as Measured
  const longestStallMs = Math.max(...reloads.map(({ stallMs }) => stallMs))
  const round = (value: number): number => Math.round(value)
  t.diagnostic(`start: ${round(start.wallMs)} ms, ${round(start.cpuMs)} ms of CPU, ${round(start.memoryMib)} MiB; ` +
    `reloads: ${reloads.map(({ wallMs, cpuMs }) => `${round(wallMs)} ms (${round(cpuMs)} ms of CPU)`).join(', ')}, ` +
    `the longest turn ${round(longestStallMs)} ms of CPU; at most ${round(memoryMib)} MiB`)
  assert.ok(start.cpuMs < 6_000, `the start took ${start.cpuMs} ms of CPU`)
  assert.ok(memoryMib < 700, `${memoryMib} MiB`)
  // How fast a machine is changes both: a reload is done in many turns.
  const reloadMs = Math.max(...reloads.map(({ cpuMs }) => cpuMs))
  assert.ok(longestStallMs < reloadMs / 6, `one turn took ${longestStallMs} of ${reloadMs} ms of CPU`)
  for (const { cpuMs } of reloads) assert.ok(cpuMs < 5_000, `a reload took ${cpuMs} ms of CPU`)
})
