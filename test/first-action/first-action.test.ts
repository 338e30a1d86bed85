// README, "Write your first action", as a newcomer would do it: every line of its shell, in an empty folder, in one bash with job
// control, as at a terminal. Only ports are others.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startProgram } from '../support/program.ts'

const ROOT = join(import.meta.dirname, '..', '..')

test('the commands of README lead from a document to an action that is scored, tried and served', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'aval-first-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'checkout'))
  const [mock, agents, operations] = await freePorts(3)
  const script = shellOf('Write your first action')
    // The checkout is this one; the folder beside it is a fresh one.
    .replace('export AVAL=$PWD PATH=$PWD/node_modules/.bin:$PATH', `export AVAL='${ROOT}' AVAL_AGENTS=127.0.0.1:${agents} AVAL_OPERATIONS=127.0.0.1:${operations}`)
    .replaceAll('4010', String(mock))
    .replaceAll('9090', String(operations))
    // A server that did not start would be waited for without end.
    .replace('do sleep 0.2; done', 'do kill -0 %2; sleep 0.2; done')
    .replaceAll('aval call ', `aval call --url http://127.0.0.1:${agents} `)
  writeFileSync(join(folder, 'first.sh'), `set -eum\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\ncd '${join(folder, 'checkout')}'\n${script}\nwait\necho DONE\n`)
  const program = startProgram(t, 'bash', [join(folder, 'first.sh')], { cwd: folder, env: { PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env['PATH']}` } })
  const { code, stdout, stderr } = await program.ended()
  assert.equal(code, 0, `${stdout}\n${stderr}`)
  assert.match(stdout, /^getTicket +GET \/tickets\/\{id\}/m)
  assert.match(stdout, /review-pending/)
  assert.match(stdout, /as it should be: nobody has judged it yet/)
  assert.match(stdout, /9\d A {2}get_ticket\.v1|100 A {2}get_ticket\.v1/)
  assert.match(stdout, /cases of 1 actions, 0 not as they should be; .*; refused arguments sent 0 requests; 0 gaps/)
  assert.match(stdout, /authorization: Bearer SECRET-OF-env-HELPDESK_SECRET/)
  assert.match(stdout, /"outcome": "completed"/)
  assert.match(stdout, /refused, as it should be/)
  const ledger = JSON.parse(/^\{"entries":.*?\]\}/m.exec(stdout)![0])
  assert.deepEqual(ledger.entries.map((entry: any) => [entry.operation, entry.path, entry.headers.authorization]), [['getTicket', '/api/tickets/1042', '‹secret›']])
  assert.match(stdout, /DONE\n$/)
  const first = join(folder, 'first')
  assert.ok(existsSync(join(first, 'actions/aval.lock')))
  assert.deepEqual(readdirSync(join(first, '.vscode')).sort(), [
    'aval-gold.json', 'aval-mock.json', 'aval-policy.json', 'aval-scenarios.json', 'aval-sheet.json', 'aval-upstream.json', 'settings.json',
  ])
  JSON.parse(readFileSync(join(first, '.vscode/settings.json'), 'utf8'))
})

/** All shell blocks of a section, in their order. */
function shellOf (title: string): string {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
  const start = readme.indexOf(`\n## ${title}\n`)
  assert.notEqual(start, -1)
  const section = readme.slice(start + 1, readme.indexOf('\n## ', start + 1))
  const blocks = [...section.matchAll(/^```sh\n([^]*?)^```$/gm)].map(match => match[1]!)
  assert.ok(blocks.length >= 5)
  return blocks.join('\n')
}

async function freePorts (count: number): Promise<readonly number[]> {
  const servers = await Promise.all(Array.from({ length: count }, async () => {
    const server = createServer()
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    return server
  }))
  const ports = servers.map(server => (server.address() as { port: number }).port)
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))))
  return ports
}
