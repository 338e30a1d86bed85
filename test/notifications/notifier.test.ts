// Notices at real receivers: signed so that others can verify them, again until they are taken or stale, never to where they were not meant to go.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { processClock } from '../../src/clock.ts'
import type { ConsentEvent } from '../../src/consent/events.ts'
import type { ProposalRecord } from '../../src/consent/proposal.ts'
import { createCredentials } from '../../src/credentials/credentials.ts'
import type { Signer } from '../../src/credentials/signature.ts'
import { EndpointFaults, parseEndpoints, type Endpoint } from '../../src/notifications/endpoints.ts'
import { createNotifier, WAITING_MAX, type Notifier, type NoticeResult } from '../../src/notifications/notifier.ts'
import { createNoticePoster } from '../../src/upstream/notice-post.ts'
import { proposal } from '../store/proposal-drafts.ts'
import { receiver, type Taken } from './receiver.ts'

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`
const signerOf = (secret: string, references: readonly string[] = ['env:HOOK']): Signer => createCredentials({ env: { HOOK: secret } }).signer(references)
const ORIGIN = 'https://approvals.example'

interface Setting {
  readonly notifier: Notifier
  readonly results: NoticeResult[]
  readonly notes: string[]
  readonly secret: string
  told (count: number): Promise<void>
}

interface SettingOptions {
  readonly endpoint?: Partial<Endpoint>
  readonly waitMs?: (tries: number) => number
  readonly totalMs?: number
  readonly references?: readonly string[]
}

function notifierTo (t: TestContext, url: string, { endpoint = {}, waitMs = () => 5, totalMs, references }: SettingOptions = {}): Setting {
  const secret = newSecret()
  const [results, notes, waiting]: [NoticeResult[], string[], Array<() => void>] = [[], [], []]
  const [read] = parseEndpoints('hooks.yaml', Buffer.from(JSON.stringify({ endpoints: [{ url, secret: 'env:HOOK', networks: ['loopback'] }] })))
  const notifier = createNotifier({
    endpoints: [{ endpoint: { ...read!, ...endpoint }, signer: signerOf(secret, references) }],
    poster: createNoticePoster(totalMs === undefined ? {} : { totalMs }),
    origin: ORIGIN, clock: processClock, now: () => new Date(), waitMs,
    told: result => { results.push(result); for (const wake of waiting.splice(0)) wake() },
    note: (message, host, reason) => { notes.push(`${message} | ${host} | ${reason}`) },
  })
  t.after(() => notifier.close())
  return {
    notifier, results, notes, secret,
    async told (count) {
      while (results.length < count) await new Promise<void>(resolve => { waiting.push(resolve) })
    },
  }
}

const pending = (record: ProposalRecord = proposal()): ConsentEvent => ({ type: 'pending', record })

describe('a notice', () => {
  test('is thin: what happened, to which proposal, where to look; and anyone who holds the secret can verify it', async t => {
    const hook = await receiver(t)
    const { notifier, secret, told } = notifierTo(t, hook.url)
    const record = proposal({ args: { made: 'a value that stays here' } })
    notifier.listen(pending(record))
    await told(1)
    const [{ headers, body }] = hook.taken as [Taken]
    assert.deepEqual(new Webhook(secret).verify(body, headers), {
      type: 'proposal.pending', timestamp: JSON.parse(body).timestamp,
      data: {
        proposal_id: record.id, kind: 'call', action_id: 'change.v1', effect: 'reversible_change',
        expires_at: new Date(record.pendingUntilMs).toISOString(), url: `${ORIGIN}/approvals/${record.id}`,
      },
    })
    assert.doesNotMatch(body, /a value that stays here|because|Change/)
    assert.doesNotMatch(headers['webhook-id']!, /\./)
  })

  test('carries the sentence where the endpoint asks for it, values escaped', async t => {
    const hook = await receiver(t)
    const { notifier, told } = notifierTo(t, hook.url, { endpoint: { includeEffect: true } })
    notifier.listen(pending(proposal({ args: { made: 'ali\u202ece' } })))
    notifier.listen(pending(proposal({ args: { made: 'alice' } })))
    await told(2)
    assert.deepEqual(hook.taken.map(({ data }) => data.effect_sentence).sort(), ['Change "alice"', 'Change (see args.made)'])
  })

  test('that was altered, replayed late, or signed by another secret is refused by the verifier (F2)', async t => {
    const hook = await receiver(t)
    const { notifier, secret, told } = notifierTo(t, hook.url)
    notifier.listen(pending())
    await told(1)
    const [{ headers, body }] = hook.taken as [Taken]
    const verifier = new Webhook(secret)
    assert.throws(() => verifier.verify(body.replace('pending', 'approved'), headers))
    assert.throws(() => verifier.verify(body, { ...headers, 'webhook-id': 'msg_other' }))
    assert.throws(() => verifier.verify(body, { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 301) }))
    assert.throws(() => new Webhook(newSecret()).verify(body, headers))
    const [id, at] = [headers['webhook-id']!, headers['webhook-timestamp']!]
    // What is signed is the id, the time and the body, joined by dots: with one in the id they could be taken apart elsewhere.
    const movings: ReadonlyArray<Record<string, string>> = [{ 'webhook-id': `${id}.${at}` }, { 'webhook-id': `${id}.${at}`, 'webhook-timestamp': '1' }, { 'webhook-id': `${id}.` }]
    for (const moved of movings) assert.throws(() => verifier.verify(body, { ...headers, ...moved }))
    assert.ok(verifier.verify(body, headers), 'the same again within five minutes is good: by its id the receiver knows it')
  })

  test('is signed by the old and the new secret while one takes the other\'s place (F2)', async t => {
    const folder = mkdtempSync(join(tmpdir(), 'aval-hook-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const [older, newer] = [newSecret(), newSecret()]
    for (const [name, text] of [['older', older], ['newer', newer]] as const) writeFileSync(join(folder, name), `${text}\n`, { mode: 0o600 })
    const hook = await receiver(t)
    const { notifier, told } = notifierTo(t, hook.url, { references: [`file:${join(folder, 'newer')}`, `file:${join(folder, 'older')}`] })
    notifier.listen(pending())
    await told(1)
    const [{ headers, body }] = hook.taken as [Taken]
    assert.equal(headers['webhook-signature']!.split(' ').length, 2)
    for (const secret of [older, newer]) assert.ok(new Webhook(secret).verify(body, headers))
  })

  test('is tried again with the same id and a fresh timestamp until it is taken (F1, F2)', async t => {
    const hook = await receiver(t, count => ({ status: count < 3 ? 500 : 200 }))
    const { notifier, results, secret, told } = notifierTo(t, hook.url, { waitMs: tries => tries === 2 ? 1_100 : 5 })
    notifier.listen(pending())
    await told(3)
    assert.deepEqual(results, ['again', 'again', 'delivered'])
    assert.equal(new Set(hook.taken.map(({ headers }) => headers['webhook-id'])).size, 1)
    assert.ok(Number(hook.taken[2]!.headers['webhook-timestamp']) > Number(hook.taken[1]!.headers['webhook-timestamp']))
    for (const { headers, body } of hook.taken) assert.ok(new Webhook(secret).verify(body, headers))
  })

  test('is not tried again when the time of its proposal is over (F1)', async t => {
    const hook = await receiver(t, () => ({ status: 500 }))
    const { notifier, results, notes, told } = notifierTo(t, hook.url, { waitMs: tries => tries * 40 })
    notifier.listen(pending(proposal({ pendingMs: 100 })))
    while (results.at(-1) !== 'given_up') await told(results.length + 1)
    const tries = hook.taken.length
    await new Promise(resolve => setTimeout(resolve, 200))
    assert.equal(hook.taken.length, tries)
    assert.match(notes[0]!, /not taken in time \| 127\.0\.0\.1:\d+ \| status 500$/)
    assert.doesNotMatch(notes[0]!, /hook/, 'the path of an endpoint may be its secret')
  })

  test('of a proposal that was decided meanwhile is not tried again', async t => {
    const hook = await receiver(t, count => ({ status: count === 1 ? 500 : 204 }))
    const { notifier, told } = notifierTo(t, hook.url, { waitMs: () => 150 })
    const record = proposal()
    notifier.listen(pending(record))
    await told(1)
    notifier.listen({ type: 'denied', record: { ...record, state: 'denied', revision: 2 } })
    await told(2)
    await new Promise(resolve => setTimeout(resolve, 250))
    assert.deepEqual(hook.taken.map(({ type }) => type), ['proposal.pending', 'proposal.denied'])
  })

  test('of a proposal that was given more time is tried for longer', async t => {
    const hook = await receiver(t, count => ({ status: count < 3 ? 500 : 204 }))
    const { notifier, results, told } = notifierTo(t, hook.url, { waitMs: () => 600 })
    const record = proposal({ pendingMs: 1_100 })
    notifier.listen(pending(record))
    await told(1)
    notifier.listen({ type: 'extended', record: { ...record, pendingUntilMs: 60_000, revision: 2 } })
    await told(3)
    assert.deepEqual(results, ['again', 'again', 'delivered'])
  })

  test('follows no redirect (F1)', async t => {
    const elsewhere = await receiver(t)
    for (const status of [301, 302, 303, 307, 308]) {
      const hook = await receiver(t, () => ({ status, headers: { location: elsewhere.url } }))
      const { notifier, results, told } = notifierTo(t, hook.url, { waitMs: () => 60_000 })
      notifier.listen(pending(proposal({ pendingMs: 1_000 })))
      await told(1)
      assert.deepEqual(results, ['given_up'])
    }
    assert.equal(elsewhere.taken.length, 0)
  })

  test('is the last one for an endpoint that answers 410 (F1)', async t => {
    const hook = await receiver(t, () => ({ status: 410 }))
    const { notifier, notes, told } = notifierTo(t, hook.url)
    notifier.listen(pending())
    await told(1)
    notifier.listen(pending())
    await new Promise(resolve => setTimeout(resolve, 50))
    assert.equal(hook.taken.length, 1)
    assert.match(notes[0]!, /410/)
  })

  test('comes no earlier than the endpoint asks (F1)', async t => {
    const hook = await receiver(t, count => count === 1 ? { status: 429, headers: { 'retry-after': '1' } } : { status: 204 })
    const { notifier, told } = notifierTo(t, hook.url, { waitMs: () => 1 })
    const startedMs = performance.now()
    notifier.listen(pending())
    await told(2)
    assert.ok(performance.now() - startedMs >= 1_000)
  })

  test('is cut where the endpoint does not answer, and the others do not wait for it (F1)', async t => {
    const slow = await receiver(t, () => null)
    const quick = await receiver(t)
    const { notifier, results, notes, told } = notifierTo(t, slow.url, { totalMs: 100, waitMs: () => 60_000_000 })
    const other = notifierTo(t, quick.url)
    notifier.listen(pending())
    other.notifier.listen(pending())
    await other.told(1)
    await told(1)
    assert.deepEqual([results, other.results], [['given_up'], ['delivered']])
    assert.match(notes[0]!, /deadline$/)
  })

  test('is told once for each proposal, whoever tells it again', async t => {
    const hook = await receiver(t)
    const { notifier, told } = notifierTo(t, hook.url)
    const records = Array.from({ length: 20 }, () => proposal())
    for (const record of [...records, ...records]) notifier.listen(pending(record))
    await told(20)
    await new Promise(resolve => setTimeout(resolve, 50))
    assert.deepEqual(hook.taken.map(({ data }) => data.proposal_id).sort(), records.map(({ id }) => id).sort())
  })

  test('of a checkpoint of the audit is told where it is asked for by name, the latest of those that wait', async t => {
    const hook = await receiver(t, count => ({ status: count === 1 ? 500 : 204 }))
    const [usual, asked] = [notifierTo(t, hook.url), notifierTo(t, hook.url, { endpoint: { events: new Set(['audit.checkpoint'] as const) }, waitMs: () => 150 })]
    const checkpoint = (size: number): ConsentEvent => ({ type: 'checkpoint', checkpoint: { writer: 'w1', size, head: 'ab'.repeat(32) }, note: `note ${size}\n` })
    usual.notifier.listen(checkpoint(1))
    asked.notifier.listen(checkpoint(1))
    await asked.told(1)
    asked.notifier.listen(checkpoint(2))
    await asked.told(2)
    await new Promise(resolve => setTimeout(resolve, 300))
    assert.deepEqual(hook.taken.map(({ type, data }) => [type, data]), [1, 2].map(size => ['audit.checkpoint', { writer: 'w1', size, head: 'ab'.repeat(32), note: `note ${size}\n` }]))
    assert.notEqual(hook.taken[0]!.headers['webhook-id'], hook.taken[1]!.headers['webhook-id'])
  })

  test('waits in a queue that is bounded, and nothing waits for it', async t => {
    const hook = await receiver(t, () => null)
    const { notifier, results } = notifierTo(t, hook.url)
    for (let count = 0; count < WAITING_MAX + 25; count++) notifier.listen(pending())
    assert.deepEqual(results, Array.from({ length: 25 }, () => 'dropped'))
  })

  test('is told of what the endpoint asked for, and to those who may decide', async t => {
    const hook = await receiver(t)
    const { notifier, told } = notifierTo(t, hook.url, { endpoint: { events: new Set(['proposal.pending', 'vault.locked'] as const), roles: new Set(['finance']) } })
    const record = proposal({ requirement: { roles: ['finance'] } })
    notifier.listen(pending())
    notifier.listen({ type: 'approved', record: { ...record, state: 'approved' } })
    notifier.listen(pending(record))
    notifier.listen({ type: 'locked', epoch: 7, atMs: 0 })
    await told(2)
    assert.deepEqual(hook.taken.map(({ type, data }) => [type, data.proposal_id ?? data.epoch]).sort(), [['proposal.pending', record.id], ['vault.locked', 7]])
  })

  test('names a grant as one, from its approval to its end, and says what came of a commit', async t => {
    const hook = await receiver(t)
    const { notifier, told } = notifierTo(t, hook.url)
    const grant = proposal({ grant: { actions: [], targets: [], usesMax: 1, lifeMs: 60_000 } })
    const call = proposal()
    const events: ConsentEvent[] = [
      { type: 'expired', record: { ...grant, state: 'expired' } },
      { type: 'approved', record: { ...grant, state: 'approved', revision: 2, decidedAtMs: 1, commitByMs: 60_001 } },
      { type: 'revoked', record: { ...grant, state: 'revoked', revision: 3, decidedAtMs: 1 } },
      { type: 'invalidated', record: { ...call, state: 'invalidated', cause: 'sheet_changed', revision: 2 } },
      { type: 'committed', outcome: 'completed', record: { ...call, state: 'consumed', revision: 3 } },
      { type: 'committed', outcome: 'unknown', record: { ...call, state: 'consumed', revision: 4 } },
      { type: 'learned', outcome: 'completed', record: { ...call, state: 'consumed', revision: 4 } },
      { type: 'voted', record: { ...call, revision: 5 } },
    ]
    for (const event of events) notifier.listen(event)
    await told(7)
    const all = hook.taken.map(({ type, data }) => [type, data.cause ?? data.outcome ?? null].join(' ')).sort()
    assert.deepEqual(all, ['grant.created ', 'grant.ended ', 'proposal.committed completed', 'proposal.committed completed', 'proposal.expired ', 'proposal.invalidated sheet_changed', 'proposal.unknown unknown'])
  })
})

describe('an endpoint', () => {
  test('on loopback or at a metadata service gets nothing unless its networks say so (F3)', async t => {
    const hook = await receiver(t)
    const { notifier, notes, told } = notifierTo(t, hook.url, { endpoint: { networks: ['public'] }, waitMs: () => 60_000_000 })
    notifier.listen(pending())
    await told(1)
    assert.match(notes[0]!, /address_refused$/)
    assert.equal(hook.taken.length, 0)
  })

  test('is not reached through a name that leads to loopback (F3)', async t => {
    const hook = await receiver(t)
    const poster = createNoticePoster({ resolve: async () => ['127.0.0.1'] })
    t.after(() => poster.close())
    const url = new URL(hook.url.replace('127.0.0.1', 'hooks.example').replace('http:', 'https:'))
    assert.deepEqual(await poster.post({ url, networks: ['public'], headers: {}, body: '{}' }), { kind: 'none', cause: 'address_refused' })
    assert.equal(hook.taken.length, 0)
  })

  const faultsOf = (yaml: string): readonly string[] => {
    try {
      parseEndpoints('hooks.yaml', Buffer.from(yaml))
    } catch (error) {
      if (error instanceof EndpointFaults) return error.message.split('\n').slice(1)
      throw error
    }
    return []
  }
  const refused: Array<[string, string, RegExp]> = [
    ['an address of loopback', 'url: https://127.0.0.1/x', /^hooks\.yaml:2:10 webhook-url names a loopback address/],
    ['a metadata address', 'url: https://169.254.169.254/x', /webhook-url names an address of the range linkLocal/],
    ['plain http', 'url: http://hooks.example/x', /webhook-url is not encrypted/],
    ['a password', 'url: https://u:p@hooks.example/x', /webhook-url must not hold a name or a password$/],
    ['another scheme', 'url: ftp://hooks.example/x', /webhook-url must be an https URL/],
    ['no URL', 'url: hooks', /webhook-url must be a URL/],
    ['an unknown network', 'url: https://hooks.example/x\n    networks: [lan]', /^hooks\.yaml:3:16 network-unknown/],
    ['an unknown event', 'url: https://hooks.example/x\n    events: [proposal.pendin]', /^hooks\.yaml:3:14 wrong-value must be one of .*did you mean/],
    ['an unknown field', 'url: https://hooks.example/x\n    secrets: x', /^hooks\.yaml:3:5 unknown-field .*secret/],
  ]
  for (const [what, yaml, fault] of refused) {
    test(`with ${what} is refused where it stands (F3)`, () => assert.match(faultsOf(`endpoints:\n  - ${yaml}\n    secret: env:HOOK\n`).join('\n'), fault))
  }

  test('is told with every other fault of the file at once', () => {
    assert.equal(faultsOf('endpoints:\n  - {url: hooks, secret: nope}\n  - {url: "https://x.example/#a", secret: "file:/x/{tenant}"}\n').length, 4)
    assert.match(faultsOf('endpoints: [')[0]!, /^hooks\.yaml:1:\d+ yaml-syntax/)
  })

  test('needs a secret of the form that receivers expect', async () => {
    for (const secret of ['short', 'whsec_', `whsec_${randomBytes(23).toString('base64')}`, `whsec_${randomBytes(65).toString('base64')}`, randomBytes(32).toString('base64'), 'whsec_!!!!notbase64notbase64notbase64!!!!']) {
      const fault = await signerOf(secret).fault()
      assert.match(fault!, /^env:HOOK (holds fewer|is not whsec_)/)
    }
    assert.equal(await signerOf(newSecret()).fault(), null)
  })
})
