// The demo while it stays up: a proposal is approved at a terminal, by whoever enters the code at the demo's identity provider.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startAval } from '../support/program.ts'
import { atTerminal } from '../support/typist.ts'

test('a refund is asked for, approved at a terminal, and paid', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'aval-demo-terminal-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const demo = startAval(t, ['demo'], { env: { AVAL_AGENTS: '127.0.0.1:0', AVAL_PEOPLE: '127.0.0.1:0', AVAL_OPERATIONS: '127.0.0.1:0', TMPDIR: folder } })
  const [, people] = await demo.says(/Where people decide +(http\S+)\/approvals/)
  const [, agents] = await demo.says(/(http:\/\/127\.0\.0\.1:\d+)\/v1\/actions/)
  const [, tokenFile] = await demo.says(/\$\(cat (\S+)\)/)
  const headers = { authorization: `Bearer ${readFileSync(tokenFile!, 'utf8')}`, 'content-type': 'application/json' }
  const ask = async (path: string, body: object): Promise<any> => (await fetch(`${agents}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json()
  const asked = await ask('/v1/actions/refund_order.v1', { arguments: { customer_id: 'cus_1001', order_id: 'ord_1001', amount_minor: 700 } })
  assert.equal(asked.pending_on, 'consent', JSON.stringify(asked))
  const { id } = asked.proposal

  const { child, keyboard, stdout, stderr } = atTerminal(['src/cli.ts', 'approvals', 'approve', id, '--url', people!, '--session-file', join(folder, 'session.json')])
  let [told, shown] = ['', '']
  let signIn: Promise<Response> | null = null
  stdout.on('data', chunk => { shown += chunk })
  stderr.on('data', chunk => {
    told += chunk
    const [, page, code] = /open (\S+) in a browser and enter the code (\S+) /.exec(told) ?? []
    if (page === undefined || code === undefined || signIn !== null) return
    signIn = fetch(page, { method: 'POST', body: new URLSearchParams({ user_code: code, person: 'omar' }), headers: { origin: new URL(page).origin } })
    void signIn.then(answer => { if (!answer.ok) child.kill() }) // or the terminal would wait until its code is over
  })
  t.after(() => { child.kill() })
  keyboard.end('7.00 EUR\n')
  const code = await new Promise(resolve => { child.on('close', resolve) })
  assert.equal(code, 0, `${shown}\n${told}`)
  assert.match(shown, /^Pay "7\.00 EUR" of order "ord_1001" back to customer "cus_1001"/)
  const paid = await ask(`/v1/proposals/${id}/commit`, {})
  assert.deepEqual([paid.outcome, paid.result.amount_minor], ['completed', 700])
})
