// The `aval` command itself: what it is given, what it says on which stream, and how it ends.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { main } from '../../src/cli.ts'
import type { Environment } from '../../src/config.ts'
import { SCHEMA_KINDS } from '../../src/commands/schema.ts'
import { aval } from '../support/program.ts'

const NAMES = [
  'serve', 'demo', 'token', 'call', 'import', 'mock', 'explain', 'probe', 'lint', 'schema', 'approvals list', 'approvals show', 'approvals approve', 'approvals deny',
  'approvals sign-out', 'attempts', 'resolve', 'reload', 'runs stop',
  'audit verify', 'audit missing', 'test', 'diff', 'lock', 'replay', 'eval',
]

interface Told { readonly code: number, readonly out: string, readonly err: string }

/** The command in this process: everything but what belongs to a process of its own. */
async function run (argv: readonly string[], env: Environment = {}): Promise<Told> {
  let [out, err] = ['', '']
  const code = await main(argv, {
    env,
    print: text => { out += `${text}\n` },
    tell: text => { err += `${text}\n` },
    startBroker: () => { throw new Error('nothing here starts a broker') },
  })
  return { code, out, err }
}

function folder (t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'aval-cli-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

test('the overview names every command; asked for it is an answer, unasked an error', async () => {
  for (const argv of [['--help'], ['help']]) {
    const { code, out, err } = await run(argv)
    assert.deepEqual([code, err], [0, ''])
    for (const name of NAMES) assert.match(out, new RegExp(`^  ${name} `, 'm'))
  }
  const { code, out, err } = await run([])
  assert.deepEqual([code, out], [2, ''])
  assert.match(err, /aval COMMAND/)
})

test('every command has help that names its flags, however wrong the rest of the line is', async () => {
  for (const name of NAMES) {
    const { code, out, err } = await run([...name.split(' '), '--help', 'a', 'b', 'c'])
    assert.deepEqual([code, err], [0, ''], name)
    assert.match(out, new RegExp(`^aval ${name}`))
    assert.match(out, /--json/)
  }
})

test('an unknown command or flag ends with 2 and says which was probably meant', async () => {
  for (const [argv, hint] of [
    [['serv'], 'did you mean aval serve?'],
    [['atempts'], 'did you mean aval attempts?'],
    [['runs', 'stpo'], 'did you mean aval runs stop?'],
    [['audit'], 'half a command: aval audit verify'],
    [['approvals', '--help'], 'half a command: aval approvals list'],
    [['attempts', '--unkown'], 'did you mean --unknown?'],
    [['call', 'x.v1', '--tokenfile', 'y'], 'did you mean --token-file?'],
  ] as const) {
    const { code, out, err } = await run(argv)
    assert.deepEqual([code, out], [2, ''], argv.join(' '))
    assert.ok(err.includes(hint), `${argv.join(' ')}: ${err}`)
  }
  assert.doesNotMatch((await run(['qqqqqqqqqq'])).err, /did you mean/)
})

test('words and values that are missing, too many or doubled end with 2', async () => {
  for (const line of [
    'call', 'call a.v1 b.v1 --token x', 'call a.v1 --token', 'call a.v1 --key --token x', 'call a.v1 --token x --token y',
    'call a.v1', 'call a.v1 --token x --token-file y', 'call a.v1 --token-file /there/is/nothing',
    'call a.v1 --token x --arg noequals', 'call a.v1 --token x --arg =v', 'call a.v1 --token x --arg a=1 --arg a=2',
    'call a.v1 --token x --arg a:=nope', 'call a.v1 --token x --url ftp://x', 'call a.v1 --token x --wait long',
    'attempts --unknown=yes', 'serve now', 'resolve', 'resolve att_1 --outcome done --note x', 'resolve att_1 --outcome completed',
    'resolve att_1 --outcome completed --code NOT_APPLIED --note x', 'runs stop', 'runs stop run-1 --sub a', 'audit verify', 'audit verify /there/is/nothing', 'schema', 'schema nothing',
    'token', 'token --key-file /there/is/nothing --issuer i --audience a --sub s',
  ]) {
    const { code, out, err } = await run(line.split(' '))
    assert.deepEqual([code, out], [2, ''], line)
    assert.notEqual(err, '', line)
  }
})

test('a word that is missing is named', async () => {
  for (const [line, word] of [['call', 'ACTION'], ['resolve', 'ATTEMPT'], ['runs stop', 'RUN'], ['audit verify', 'FOLDER'], ['schema', SCHEMA_KINDS.join('|')]] as const) {
    const { code, err } = await run(line.split(' '))
    assert.deepEqual([code, err], [2, `aval ${line}: ${word} is missing; see aval ${line} --help\n`])
  }
})

test('a command for the broker of this machine says that there is none', async t => {
  const env = { AVAL_DATA: folder(t) }
  for (const line of ['reload', 'attempts', 'resolve att_1 --outcome completed --note seen', 'runs stop r --sub s --issuer i']) {
    const { code, out, err } = await run(line.split(' '), env)
    assert.deepEqual([code, out], [2, ''])
    assert.match(err, /No broker runs here/)
  }
})

test('faults of the environment are told line by line and end with 2, for every command that reads it', async () => {
  for (const argv of [['serve'], ['reload'], ['attempts']]) {
    const { code, out, err } = await run(argv, { AVAL_AGENT: 'x', AVAL_LOG: 'loud' })
    assert.deepEqual([code, out], [2, ''])
    assert.match(err, /^AVAL_AGENT is not a setting of Aval; did you mean AVAL_AGENTS\?$/m)
    assert.match(err, /^AVAL_LOG must be one of/m)
  }
})

test('a call to where nobody answers ends with 2 and does not claim that it failed', async () => {
  const { code, err } = await run(['call', 'a.v1', '--token', 'x', '--url', 'http://127.0.0.1:9'])
  assert.equal(code, 2)
  assert.match(err, /not known/)
})

test('schema prints a JSON Schema of each kind', async () => {
  for (const kind of ['sheet', 'upstream', 'policy']) {
    const { code, out } = await run(['schema', kind])
    assert.equal(code, 0)
    assert.equal(JSON.parse(out).type, 'object')
  }
})

test('token makes a key once and signs with it what it is told', async t => {
  const path = join(folder(t), 'signing.jwk')
  assert.equal((await run(['token', '--new-key', '--key-file', path])).code, 0)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const again = await run(['token', '--new-key', '--key-file', path])
  assert.deepEqual([again.code, again.err], [2, `aval token: there is already a file ${path}, and a key is never overwritten\n`])
  const env = { AVAL_ISSUER: 'https://issuer.example', AVAL_AUDIENCE: 'https://aval.example' }
  const line = `token --key-file ${path} --sub agent-1 --role a --role b --run run-1 --ttl 15m --claim customers:=["cus_1"] --claim team=x`
  const { code, out } = await run(line.split(' '), env)
  assert.equal(code, 0)
  const claims = decodeJwt(out.trim())
  const { iss, aud, sub, roles, run_id, customers, team } = claims
  assert.deepEqual({ iss, aud, sub, roles, run_id, customers, team }, {
    iss: 'https://issuer.example', aud: 'https://aval.example', sub: 'agent-1', roles: ['a', 'b'], run_id: 'run-1', customers: ['cus_1'], team: 'x',
  })
  assert.equal(claims.exp! - claims.iat!, 900)
  const { keys } = JSON.parse(readFileSync(`${path}.jwks.json`, 'utf8'))
  assert.deepEqual([keys[0].kid, keys[0].d], [decodeProtectedHeader(out.trim()).kid, undefined])
  for (const wrong of ['--ttl 25h', '--claim sub=other', '--claim x:=nope', '--claim x=1 --claim x=2', '--ttl 0s', '--tenant ../x']) {
    assert.equal((await run(['token', '--key-file', path, '--sub', 'a', ...wrong.split(' ')], env)).code, 2, wrong)
  }
})

test('as a program, findings go to stdout, all else to stderr, and the exit code is that of the command', async t => {
  assert.equal((await aval(t, ['--help'])).code, 0)
  const { code, stdout, stderr } = await aval(t, ['serve'], { env: { AVAL_AUDIENCE: 'x' } })
  assert.deepEqual([code, stdout], [2, ''])
  assert.match(stderr, /AVAL_ISSUER is required/)
  assert.match(stderr, /AVAL_JWKS is required/)
})
