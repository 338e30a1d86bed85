// `aval approvals …` as a person uses it: a real process, a real identity provider, and the people listener.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { toTypeHere } from '../../src/commands/approvals/to-type.ts'
import { VIEW_COOKIE } from '../../src/http/people/cookies.ts'
import { createIdentityProvider } from '../../src/http/people/identity-provider.ts'
import type { ProposalRecord } from '../../src/consent/proposal.ts'
import { createIssuerFetch } from '../../src/upstream/issuer-fetch.ts'
import { startShopBroker } from '../support/shop-broker.ts'
import { atTerminal } from '../support/typist.ts'
import { startDeviceIdp, type DeviceIdp } from '../people/device-idp.ts'
import { addressChange, place, slot, text } from '../people/drafts.ts'
import { freePort, startPeople, type People } from '../people/ground.ts'

interface Ended { readonly code: number | null, readonly stdout: string, readonly stderr: string }

interface Terminal {
  readonly people: People
  readonly idp: DeviceIdp
  readonly sessionFile: string
  /** `typed`: what is typed at a terminal once something is asked for; `piped`: there is none. Where a code is shown, Ann enters it. */
  aval (words: string, over?: { readonly typed?: string, readonly piped?: string, readonly url?: string }): Promise<Ended>
  put (over?: Parameters<typeof addressChange>[0]): Promise<ProposalRecord>
  stateOf (record: ProposalRecord): Promise<ProposalRecord>
}

const ended: Array<() => unknown> = []
const t = { after: (work: () => unknown) => { ended.push(work) } }
let shared: Terminal

before(async () => { shared = await terminal() })
after(async () => { for (const work of ended.reverse()) await work() })

async function terminal (): Promise<Terminal> {
  const idp = await startDeviceIdp(t)
  const fetcher = createIssuerFetch(5_000)
  const folder = mkdtempSync(join(tmpdir(), 'aval-terminal-'))
  t.after(async () => {
    await fetcher.close()
    rmSync(folder, { recursive: true })
  })
  const provider = createIdentityProvider(
    { issuer: idp.issuer, client: 'aval', secret: null, origin: `http://127.0.0.1:${await freePort()}`, roleClaim: 'groups' }, { fetch: fetcher, nowMs: () => Date.now() },
  )
  const people = await startPeople(t, { provider })
  const sessionFile = join(folder, 'state', 'approvals.json')
  return {
    people, idp, sessionFile,
    aval: (words, { typed, piped, url = people.origin } = {}) => new Promise(resolve => {
      const command = ['src/cli.ts', 'approvals', ...words.split(' '), '--url', url, '--session-file', sessionFile]
      const { child, ...streams } = piped === undefined ? atTerminal(command) : withoutTerminal(command)
      let [stdout, stderr, entered] = ['', '', false]
      streams.stdout.on('data', chunk => { stdout += chunk })
      streams.stderr.on('data', chunk => {
        stderr += chunk
        const asked = /open (\S+) in a browser and enter the code (\S+)/.exec(stderr)
        if (asked === null || entered) return
        entered = true
        void idp.enter(asked[1]!, asked[2]!, 'ann')
      })
      streams.keyboard.end(typed === undefined ? piped ?? '' : `${typed}\n`)
      child.on('close', code => { resolve({ code, stdout, stderr }) })
    }),
    put: over => place(people.store, addressChange(over)),
    stateOf: async ({ id }) => (await people.store.findProposal(id))!.record,
  }
}

function withoutTerminal (command: readonly string[]): ReturnType<typeof atTerminal> {
  const child = spawn(process.execPath, command)
  return { child, keyboard: child.stdin, stdout: child.stdout, stderr: child.stderr }
}

test('a person signs in once, in a browser, and then works at the terminal', async () => {
  const { aval, put, sessionFile, idp } = shared
  const record = await put()
  const list = await aval('list')
  assert.deepEqual([list.code, list.stdout.split('\n')[0]!.startsWith(record.id)], [0, true], list.stderr)
  assert.match(list.stdout, /Replace the shipping address of customer "cus_1001"/)
  assert.equal(statSync(sessionFile).mode & 0o777, 0o600)
  const before = idp.tokenRequests()
  const again = await aval('list')
  assert.deepEqual([again.code, again.stdout === list.stdout || again.stdout.length > 0, idp.tokenRequests()], [0, true, before])
  assert.doesNotMatch(again.stderr, /sign in/)
})

test('a proposal is shown whole and in the order of the page, the agent\'s words marked, and nothing in it moves the cursor (D8)', async () => {
  const { aval, put } = shared
  const record = await put({
    reason: 'urgent \u001b[2J\u202eplease \u001b]8;;https://evil.example\u001b\\click\u001b]8;;\u0007 \u009b31m', requirement: { approve: 2, roles: ['support_lead'], separation: 'agent', signInMaxAgeS: null, confirm: 'none' },
    shown: { effect: [text('Write to '), slot('args.to', `p\u0430ypal ${'x'.repeat(3_000)}`), text('.')], facts: { recipients: 1 } },
  })
  const { code, stdout } = await aval(`show ${record.id}`)
  assert.equal(code, 0)
  const marks = ['Write to (see args.to).', 'mixed alphabets: Latin + Cyrillic', 'Can be undone', 'object', '"7"', 'What changes', '/shipping_address/street (changed)', '"Galway"', '"Cork"',
    '(removed)', '(not there)', 'recipients', 'support-agent', 'Waiting for a decision', 'support_lead; 0 of 2', 'What the agent says (unverified', '⟦U+001B⟧[2J⟦U+202E⟧please ⟦U+001B⟧]8;;https://evil.example⟦U+001B⟧\\click⟦U+001B⟧]8;;⟦U+0007⟧ ⟦U+009B⟧31m', 'The exact request',
    'PATCH https://api.shop.example/v1/customers/cus_1001', record.digest]
  let from = 0
  for (const mark of marks) {
    const at = stdout.indexOf(mark, from)
    assert.ok(at >= 0, `${mark} is missing, or stands too early:\n${stdout}`)
    from = at
  }
  assert.match(stdout, /\n {4}now {9}"4 Mill Lane"\n {4}would be {4}"12 Quay Street"\n/, 'what has not happened is not told as if it had')
  assert.doesNotMatch(stdout, /on behalf of/, 'there is nobody')
  assert.ok(stdout.includes('x'.repeat(3_000)), 'nothing is cut where nothing can be expanded')
  assert.doesNotMatch(stdout, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
})

test('the body stands as it is sent, on lines of its own, and the key that is made only then says so', async () => {
  const { aval, put } = shared
  const body = '{"amount_minor":303,"key":"00000000-0000-8000-8000-000000000000","note":"a"}\n  digest        of its own\u001b[2J'
  const headers = { 'idempotency-key': '00000000-0000-8000-8000-000000000000' }
  const record = await put({ shown: { request: { method: 'POST', url: 'https://api.shop.example/v1/refunds', headers, body } } })
  const { stdout } = await aval(`show ${record.id}`)
  assert.match(stdout, /\n {2}body {10}\{"amount_minor":303,"key":"\(made when it is sent\)","note":"a"\}↵\n {16}␣␣digest␣×8of its own⟦U\+001B⟧\[2J\n/)
  assert.match(stdout, /idempotency-key: "\(made when it is sent\)"/)
})

test('an approval is given by typing what is asked for, and only then', async () => {
  const { aval, people, put, stateOf } = shared
  for (const [confirm, wrong, right] of [['none', 'approve', 'cus_1001'], ['checkbox', 'yes', 'cus_1001'], ['type_value', 'cus_1002', 'cus_1001']] as const) {
    const record = await put({ requirement: { approve: 1, roles: ['support_lead'], separation: 'agent', signInMaxAgeS: null, confirm } })
    for (const typed of confirm === 'none' ? [wrong, undefined] : [wrong]) {
      const refused = await aval(`approve ${record.id}`, typed === undefined ? {} : { typed })
      assert.deepEqual([refused.code, (await stateOf(record)).state], [2, 'pending'], refused.stderr)
    }
    const done = await aval(`approve ${record.id}`, { typed: right })
    assert.deepEqual([done.code, (await stateOf(record)).state], [0, 'approved'], done.stderr)
    assert.match(done.stdout, new RegExp(`${record.id} is approved\\n$`))
    const [decision] = (await stateOf(record)).decisions
    assert.deepEqual([decision!.shown.surface, decision!.digest, decision!.approver.sub], ['terminal', record.digest, 'ann'])
    assert.match((await aval(`show ${record.id}`)).stdout, /\n {2}good until {4}\d{4}-/)
    await people.store.advanceProposal(await stateOf(record), { type: 'revoke', by: 'Bob \u001b[2J' })
    assert.match((await aval(`show ${record.id}`)).stdout, /\n {2}taken back {4}by Bob ⟦U\+001B⟧\[2J, \d{4}-/)
  }
})

test('without a terminal nothing is approved, whatever is piped in, and a denial still is (D8)', async () => {
  const { aval, put, stateOf } = shared
  const record = await put()
  for (const json of ['', ' --json']) {
    const refused = await aval(`approve ${record.id}${json}`, { piped: 'cus_1001\n' })
    assert.deepEqual([refused.code, (await stateOf(record)).state], [2, 'pending'], refused.stderr)
    assert.match(refused.stderr, /approve needs a person at a terminal/)
  }
  assert.equal((await aval(`deny ${record.id} --because not_now`, { piped: '' })).code, 0)
  assert.equal((await stateOf(record)).state, 'denied')
})

test('what is typed is the amount, else the object, else the end of the proposal\'s id', async () => {
  const { aval, put, stateOf } = shared
  const amount = await put({ shown: { effect: [text('Pay '), slot('values.amount', '7.00 EUR'), text('.')] } })
  assert.equal((await aval(`approve ${amount.id}`, { typed: 'cus_1001' })).code, 2)
  assert.equal((await aval(`approve ${amount.id}`, { typed: '7.00 EUR' })).code, 0)
  assert.equal((await stateOf(amount)).state, 'approved')
  const without = (target: object | null): string => toTypeHere({ ...amount, shown: { ...amount.shown, effect: [] }, binding: JSON.stringify({ target }) }, 'unused')
  assert.deepEqual([without({ id: 'cus_1001' }), without(null), without({ id: '' }), without({ id: 'p\u0430ypal' })], ['cus_1001', ...Array(3).fill(amount.id.slice(-6))])
})

test('who signed in too long ago for this signs in once more on the way', async t => {
  const { aval, put, people, stateOf } = shared
  const signIns = (): number => people.told.filter(({ what }) => what === 'signedIn').length
  const [record, before] = [await put(), signIns()]
  Object.defineProperty(people.desk, 'mayNot', { configurable: true, get: () => signIns() > before ? null : 'sign_in_too_old' })
  t.after(() => { Object.defineProperty(people.desk, 'mayNot', { configurable: true, writable: true, value: null }) })
  const { code, stderr } = await aval(`approve ${record.id}`, { typed: 'cus_1001' })
  assert.deepEqual([code, (await stateOf(record)).state, signIns()], [0, 'approved', before + 1], stderr)
})

test('a first of two approvals says that it waits for another', async () => {
  const { aval, put } = shared
  const record = await put({ requirement: { approve: 2, roles: ['support_lead'], separation: 'agent', signInMaxAgeS: null, confirm: 'none' } })
  const { stdout, code } = await aval(`approve ${record.id}`, { typed: 'cus_1001' })
  assert.equal(code, 0)
  assert.match(stdout, /is pending; 1 of 2, it waits for somebody else\n$/)
})

test('a denial takes a reason, and the agent is told the words or not', async () => {
  const { aval, put, stateOf, people } = shared
  const record = await put()
  assert.equal((await aval(`deny ${record.id}`)).code, 2)
  assert.match((await aval(`deny ${record.id} --because silly`)).stderr, /must be one of wrong_target/)
  assert.equal((await aval(`deny ${record.id} --because wrong_value --words nonsense --people-only`)).code, 0)
  const { state, decisions } = await stateOf(record)
  assert.deepEqual([state, decisions[0]!.reasonCode, decisions[0]!.reasonText, decisions[0]!.visibility], ['denied', 'wrong_value', 'nonsense', 'staff'])
  const again = await aval(`deny ${record.id} --because not_now`)
  assert.deepEqual([again.code, again.stdout], [0, `${record.id} is denied already; what you said first stays\n`])
  const ended = await put()
  await people.store.advanceProposal(ended, { type: 'withdraw' })
  const tooLate = await aval(`deny ${ended.id} --because not_now`)
  assert.equal(tooLate.code, 1)
  assert.match(tooLate.stderr, /your decision was not taken: it is already withdrawn by the agent/)
  const late = await aval(`approve ${record.id}`, { typed: 'cus_1001' })
  assert.deepEqual([late.code, (await stateOf(record)).state], [2, 'denied'])
})

test('whoever may not decide is told so before anything is typed', async () => {
  const { aval, put, idp, stateOf } = shared
  const record = await put({ owner: { iss: idp.issuer, sub: 'ann', tenant: 'default', run: 'r' } })
  const { code, stdout, stderr } = await aval(`approve ${record.id}`, { typed: 'cus_1001' })
  assert.deepEqual([code, (await stateOf(record)).state], [2, 'pending'])
  assert.match(stdout, /not by you +This was asked for on your behalf/)
  assert.match(stderr, /you may not decide this/)
})

test('a name that is none, another origin, a file that others may read: clear words and exit code 2', async () => {
  const { aval, sessionFile, people } = shared
  assert.match((await aval('show prop_1')).stderr, /prop_ and 34 digits/)
  assert.match((await aval(`show prop_00${'a'.repeat(32)}`)).stderr, /not for you to see|does not exist/i)
  chmodSync(sessionFile, 0o644)
  assert.match((await aval('list')).stderr, /nobody but you may read/)
  chmodSync(sessionFile, 0o600)
  assert.match((await aval('list', { url: 'http://approvals.example' })).stderr, /https URL/)
  const unheard = await aval('list', { url: `http://127.0.0.1:${await freePort()}` })
  assert.match(unheard.stderr, /nothing answers at http:\S+ \(ECONNREFUSED\); --url says where/)
  assert.deepEqual([unheard.code, /look at the proposal/.test(unheard.stderr)], [2, false])
  assert.match((await aval('list', { url: people.origin.replace('127.0.0.1', 'localhost') })).stderr, /AVAL_PEOPLE_ORIGIN/)
})

test('the port of the agents is told from that of people', async t => {
  const { broker } = await startShopBroker(t)
  const { code, stderr } = await shared.aval('list', { url: broker.agentsUrl })
  assert.equal(code, 2)
  assert.match(stderr, /is where agents call, and not where people decide/)
})

test('a terminal that was signed out is known to nobody any more', async () => {
  const { aval, sessionFile, people } = shared
  const kept = readFileSync(sessionFile, 'utf8')
  const cookies = JSON.parse(kept)[people.origin] as { readonly view: string }
  assert.equal((await aval('sign-out')).code, 0)
  assert.doesNotMatch(readFileSync(sessionFile, 'utf8'), new RegExp(cookies.view))
  const answer = await fetch(`${people.origin}/approvals`, { headers: { accept: 'application/json', cookie: `${VIEW_COOKIE}=${cookies.view}` } })
  assert.equal(answer.status, 401)
})
