// `aval mock` as a program: what it says when it is up, what it tells of each request, and how it ends.
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { aval, startProgram } from '../support/program.ts'

test('it serves until it is told to end, and tells of each request', async t => {
  const program = startProgram(t, process.execPath, ['src/cli.ts', 'mock', 'openapi/shop.yaml', '--port', '0', '--json'])
  const { url, ledger } = JSON.parse((await program.says(/^\{.*\}$/m))[0])
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/v1$/)
  assert.equal((await fetch(`${url}/customers/cus_1`)).status, 200)
  await program.says(/1 GET \/v1\/customers\/cus_1 200/)
  assert.equal((await (await fetch(ledger)).json() as any).entries.length, 1)
  program.signal('SIGTERM')
  assert.equal((await program.ended()).code, 0)
})

test('what it cannot do, it says in one line, and ends with 2', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'aval-mock-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const scenario = join(folder, 'odd.yaml')
  writeFileSync(scenario, 'name: odd\nanswers: [{operation: nothing}]\n')
  const taken = createServer().listen(0, '127.0.0.1')
  t.after(() => taken.close())
  await new Promise(resolve => taken.once('listening', resolve))
  for (const [argv, said] of [
    [['absent.yaml'], /there is no file absent\.yaml/],
    [['openapi/shop.yaml', '--port', '99999'], /--port must be a number/],
    [['openapi/shop.yaml', '--base', 'v1 '], /--base must be like/],
    [['openapi/shop.yaml', '--port', String((taken.address() as { port: number }).port)], /cannot listen on 127\.0\.0\.1:\d+ \(EADDRINUSE\)/],
    [['openapi/shop.yaml', '--scenario', join(folder, 'none.yaml')], /the scenario cannot be read \(ENOENT\)/],
    [['openapi/shop.yaml', '--scenario', scenario], /odd\.yaml:2:23 operation-unknown[^]*nothing was started/],
  ] as const) {
    const { code, stdout, stderr } = await aval(t, ['mock', ...argv])
    assert.deepEqual([code, stdout], [2, ''], stderr)
    assert.match(stderr, said)
  }
})
