// `aval demo`: the tour goes as told, what it prints can be pasted, and it leaves nothing behind.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { aval, startAval, startProgram } from '../support/program.ts'

const FREE = { AVAL_AGENTS: '127.0.0.1:0', AVAL_PEOPLE: '127.0.0.1:0', AVAL_OPERATIONS: '127.0.0.1:0' }

/** Where a demo puts its folder, so that what it leaves behind can be told from what others do at the same moment. */
function ownTemp (t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'aval-tour-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('the tour goes as told, step by step, and ends with 0', async t => {
  const { code, stdout, stderr } = await aval(t, ['demo', '--once'], { env: FREE })
  assert.equal(code, 0, stdout + stderr)
  assert.doesNotMatch(stdout, /✗|did not go as told/)
  const marks = ['1  The catalog', '2  A read', '3  A refusal', '4  A write', '5  A lost answer', '6  A duplicate', 'All ']
  assert.deepEqual(marks.map(mark => stdout.indexOf(mark) >= 0), marks.map(() => true))
  assert.deepEqual(marks.map(mark => stdout.indexOf(mark)), marks.map(mark => stdout.indexOf(mark)).toSorted((a, b) => a - b))
  assert.match(stdout, /outcome +unknown[^]*outcome +completed/, 'unknown comes first, then the truth')
  assert.match(stdout, /INVALID_ARGUMENTS at \/quantity by type/)
  assert.match(stdout, /pending +on the consent of a person, who is shown: Pay 5\.00 EUR[^]*its token opens nothing[^]*signs in as Lena Hart[^]*POST \/v1\/proposals\/prop_[^]*one refund, of what was shown/)
  assert.match(stdout, /tools\/call place_order_v1[^]*revision +2026-07-28[^]*duplicate +true/)
  assert.match(stdout, /aval_calls_total\{/)
  assert.doesNotMatch(stdout, /\x1b/, 'no colour where nobody looks')
})

test('with --json the tour is one value', async t => {
  const { code, stdout } = await aval(t, ['demo', '--once', '--json'], { env: FREE })
  const told = JSON.parse(stdout)
  assert.equal(code, 0)
  assert.equal(told.ok, true)
  assert.ok(told.steps.length >= 8 && told.steps.every((step: { ok: boolean, fault: string | null }) => step.ok && step.fault === null))
})

test('every line that it prints for pasting works, and Ctrl-C ends it without a trace', async t => {
  const temp = ownTemp(t)
  const demo = startAval(t, ['demo'], { env: { ...FREE, TMPDIR: temp } })
  await demo.says(/Ctrl-C ends it/)
  const lines = demo.stdout().split('\n').filter(line => line.startsWith('curl '))
  assert.ok(lines.length >= 5)
  const answers: string[] = []
  for (const line of lines) {
    const { code, stdout, stderr } = await startProgram(t, 'sh', ['-c', line]).ended()
    assert.equal(code, 0, `${line}\n${stderr}`)
    answers.push(stdout)
  }
  const envelopes = answers.filter(answer => answer.startsWith('{')).map(answer => JSON.parse(answer))
  assert.equal(envelopes.length, lines.length - 1, 'all but the metrics are envelopes')
  assert.ok(envelopes.every(({ error }) => error === undefined || error.code === 'OUT_OF_STOCK'), answers.join('\n'))
  assert.equal(envelopes.filter(({ outcome }) => outcome === 'completed').length, 2, 'the read and the order')
  assert.match(answers.at(-1)!, /^aval_calls_total/m)
  const sheets = /^The sheets +(\S+)\/\*\.yaml /m.exec(demo.stdout())![1]!
  assert.ok(sheets.startsWith(temp) && readdirSync(sheets).includes('refund_order.v1.yaml'), 'it names the sheets that it goes by')
  const said: string[] = []
  for (const line of demo.stdout().split('\n').filter(line => line.startsWith('AVAL_DATA='))) {
    const { code, stderr } = await startProgram(t, 'sh', ['-c', line]).ended()
    assert.equal(code, 0, `${line}\n${stderr}`)
    said.push(stderr.trim())
  }
  assert.deepEqual([said.length, /nothing is different$/.test(said.at(-1)!)], [4, true], said.join('\n'))
  const [decide] = /^npm .* approvals list .*$/m.exec(demo.stdout())!
  await startProgram(t, 'sh', ['-c', `exec ${decide} --session-file ${temp}/session.json`]).says(/enter the code/)
  assert.equal(readdirSync(temp).length, 1)
  demo.signal('SIGINT')
  assert.equal((await demo.ended()).code, 0)
  assert.deepEqual(readdirSync(temp), [])
})

test('the usual ports are taken where they are free, others where they are not', async t => {
  // Whoever else has them already serves as well.
  const squatters = [8080, 9090].map(port => createServer().listen(port, '127.0.0.1'))
  t.after(() => squatters.forEach(squatter => squatter.close()))
  await Promise.allSettled(squatters.map(squatter => once(squatter, 'listening')))
  const { code, stdout } = await aval(t, ['demo', '--once', '--json'])
  assert.equal(code, 0)
  assert.ok(!/:(8080|9090)\b/.test(`${JSON.parse(stdout).agents} ${JSON.parse(stdout).operations}`))
})

test('settings of a real broker are refused by their name, not overridden in silence', async t => {
  const { code, stdout, stderr } = await aval(t, ['demo', '--once'], { env: { AVAL_STATE: 'redis://127.0.0.1:1', AVAL_ISSUER: 'x' } })
  assert.deepEqual([code, stdout], [2, ''])
  assert.match(stderr, /AVAL_STATE, AVAL_ISSUER/)
  assert.equal((await aval(t, ['demo', '--once'], { env: { AVAL_LOG: 'loud' } })).code, 2)
})

test('a listener that others can reach is refused: the demo signs people in without a password', async t => {
  const temp = ownTemp(t)
  for (const [name, address] of [['AVAL_AGENTS', '0.0.0.0:0'], ['AVAL_OPERATIONS', '[::]:0'], ['AVAL_PEOPLE', '0.0.0.0:0'], ['AVAL_PEOPLE', 'people.example:1']] as const) {
    const { code, stderr } = await aval(t, ['demo', '--once'], { env: { ...FREE, TMPDIR: temp, [name]: address } })
    assert.equal(code, 2, `${name}=${address}`)
    assert.match(stderr, /without a password/)
  }
  assert.deepEqual(readdirSync(temp), [])
})

test('ports that cannot be had end it with 2 and leave nothing behind', async t => {
  const temp = ownTemp(t)
  const squatter = createServer().listen(0, '127.0.0.1')
  await once(squatter, 'listening')
  t.after(() => squatter.close())
  const { port } = squatter.address() as { port: number }
  const { code, stderr } = await aval(t, ['demo', '--once'], { env: { ...FREE, TMPDIR: temp, AVAL_AGENTS: `127.0.0.1:${port}` } })
  assert.equal(code, 2)
  assert.match(stderr, /EADDRINUSE/)
  assert.deepEqual(readdirSync(temp), [])
})

test('the key of the tour is no key for serve', async t => {
  const demo = startAval(t, ['demo'], { env: { ...FREE, TMPDIR: ownTemp(t) } })
  const [, folder] = await demo.says(/cat ([^)]*)\/token\)/)
  await demo.says(/Ctrl-C ends it/)
  assert.ok(existsSync(`${folder}/jwks.json`))
  const served = startAval(t, ['serve'], {
    env: {
      AVAL_AGENTS: FREE.AVAL_AGENTS, AVAL_OPERATIONS: FREE.AVAL_OPERATIONS, AVAL_DATA: `${folder}/other`, AVAL_ACTIONS: `${folder}/actions`, AVAL_JWKS: `file:${folder}/jwks.json`,
      AVAL_ISSUER: 'https://issuer.demo.aval.example', AVAL_AUDIENCE: 'https://demo.aval.example',
    },
  })
  const [, url] = await served.says(/serves agents on (\S+),/)
  const line = `call get_customer.v1 --arg customer_id=cus_1001 --url ${url} --token-file ${folder}/token --json`
  const { code, stdout } = await aval(t, line.split(' '))
  assert.equal(code, 1)
  assert.equal(JSON.parse(stdout).error.code, 'UNAUTHENTICATED')
})

test('Ctrl-C in the middle of the tour ends it soon, without a trace, also where it arrives twice', async t => {
  const temp = ownTemp(t)
  const demo = startAval(t, ['demo'], { env: { ...FREE, TMPDIR: temp } })
  await demo.says(/4 {2}A write/)
  demo.signal('SIGINT')
  demo.signal('SIGINT')
  const { code, stdout } = await demo.ended()
  assert.equal(code, 1, 'the tour was not shown whole')
  assert.match(stdout, /The tour was ended before its last \d of \d+ steps/)
  assert.doesNotMatch(stdout, /Ctrl-C ends it/)
  assert.deepEqual(readdirSync(temp), [])
})
