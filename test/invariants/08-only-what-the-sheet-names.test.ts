// Invariant 8: nothing that an agent sends reaches a host, path or header that the sheet does not name. Asserted on the raw requests that a server
// received, before anything decodes them.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import fc from 'fast-check'
import type { Json } from '../../src/catalog/catalog.ts'
import type { Reached, TestBroker } from '../support/broker.ts'
import { makeSite, startTestBroker } from '../support/broker.ts'
import { whole } from '../support/hostile-modes.ts'
import { startHostileUpstream, type HostileUpstream, type LedgerEntry } from '../support/hostile-upstream.ts'
import { inTurns, keeping } from './ground.ts'
import { SLOT_FILES, SLOTS } from './slots.ts'

/** What the broker itself sends: everything else must be a slot's own. */
const HEADERS = new Set([
  'host',
  'connection',
  'accept',
  'accept-encoding',
  'content-type',
  'content-length',
  'user-agent',
  'idempotency-key',
  'x-slots-key',
  'x-fixed',
  'x-slot',
  'cookie',
])

const HOSTILE: readonly string[] = [
  'plain', 'with space', 'ünïcode', '日本語', '👩‍👩‍👧', 'e\u0301', '\u00e9', '\u202egpj.exe', '\ufeffbom',
  '..', '.', '../..', '../../admin', './x', '..;/admin', '%2e%2e', '%2e%2e%2f', '%252e%252e', '%2F', '%5C', '%00', '100%', '%', '%zz',
  'a/b', '/', '//', '//evil.example', '\\', '\\\\evil.example', 'a?admin=1', '?', '#', 'a#b', ';v=1', 'a;b', '@evil.example',
  'user:pass@evil.example',
  'http://evil.example/', 'https:evil.example', 'evil.example:80', '{form}', '${args.word}', '{{7*7}}', '*', '~', '',
  'a&admin=true', 'a=b', '&', '=', '+', 'a+b', 'word[]=x', 'word[admin]=1', 'a,b', 'a|b', 'a b',
  'a\r\nX-Evil: 1', 'a\nX-Evil: 1', 'a\rX-Evil: 1',
  '\r\n\r\nGET /admin HTTP/1.1\r\nHost: evil.example\r\n\r\n', 'a\u0000b', '\t', '\u007f', '\u0085', '\u2028',
  'a\u010aX-Evil: 1', 'a\u560d\u560aX-Evil: 1', '"', '\'', '<script>', '$(id)', '`id`', '"; admin="1', 'a; admin=1', 'a, admin',
  'host', 'x-slots-key', '__proto__', 'constructor', 'x'.repeat(1_900),
]

interface Ground {
  readonly upstream: HostileUpstream
  readonly elsewhere: HostileUpstream
  readonly broker: TestBroker
  call (slot: string, word: Json): Promise<Reached>
  raw (body: string, headers?: Record<string, string>, path?: string): Promise<{ readonly status: number, readonly body: any }>
}

async function ground (t: TestContext): Promise<Ground> {
  const keep = keeping(t)
  const upstream = keep(await startHostileUpstream(), one => one.stop())
  // Where a redirect, a host or an absolute address would lead.
  const elsewhere = keep(await startHostileUpstream(), one => one.stop())
  upstream.mode('slots', (socket, request) => {
    // An upstream that wants to be followed elsewhere.
    const redirect = `${request.path}${request.body}`.includes('redirect')
    socket.write(whole(redirect ? 307 : 200, ['Content-Type: application/json', `Location: ${elsewhere.origin}/taken`], '{"ok":true}'))
  })
  const site = keep(await makeSite({ files: SLOT_FILES(upstream.port), env: { SLOTS_KEY: 'key-of-the-slots' } }), one => one.remove())
  const broker = keep(await startTestBroker(site), one => one.close())
  const token = await site.token({ roles: ['filler'], claims: {}, run: 'run-1' })
  return {
    upstream,
    elsewhere,
    broker,
    call: (slot, word) => broker.call(token, `fill_${slot}.v1`, { word }, undefined),
    async raw (body, headers = {}, path = '/v1/actions/fill_body.v1') {
      const answer = await fetch(
        `${broker.agentsUrl}${path}`,
        { method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers }, body },
      )
      return { status: answer.status, body: await answer.json() }
    },
  }
}

/** The request is the one of the sheet, and the word stands in its slot whole and nowhere else. */
function holdRequest (slot: string, word: string, request: LedgerEntry, port: number): void {
  const said = `${slot} ${JSON.stringify(word)}: ${JSON.stringify(request)}`
  const { method, path, at } = SLOTS[slot]!
  assert.equal(request.method, method, said)
  assert.equal(request.headers['host'], `127.0.0.1:${port}`, said)
  assert.deepEqual(Object.keys(request.headers).filter(name => !HEADERS.has(name)), [], said)
  assert.equal(request.headers['x-slots-key'], 'key-of-the-slots', said)
  assert.equal(request.headers['x-fixed'], 'fixed', said)
  assert.match(request.path, /^[\x21-\x7e]+$/, said)
  const [address = '', query] = request.path.split('?')
  // What a server may decode to a separator, a dot segment, an escape or an end does not stand in a path at all.
  assert.doesNotMatch(address, /%(?:2f|5c|25|3f|23|3b|00|0d|0a)|\/\.{1,2}(?:\/|$)/i, said)
  const segments = address.split('/')
  const wanted = path.split('/')
  assert.equal(request.path.split('?').length <= 2 && segments.length === wanted.length, true, said)
  wanted.forEach((part, index) => {
    if (part !== '{word}') assert.equal(segments[index], part, said)
  })
  const fields = query === undefined ? [] : query.split('&')
  assert.equal(fields.length, ['query', 'list', 'object'].includes(slot) ? 2 : 0, said)
  assert.deepEqual(at(request), word, said)
}

describe('what an agent sends stays in its slot', { concurrency: true }, () => {
  test('a hostile word arrives whole in its slot or is refused, and touches nothing else', async t => {
    const { upstream, elsewhere, call } = await ground(t)
    for (const [slot, { at }] of Object.entries(SLOTS)) {
      await t.test(`in the ${slot}`, async () => {
        upstream.clear()
        let arrived = 0
        await inTurns(HOSTILE, async word => {
          const { status, body } = await call(slot, word)
          if (status === 200) arrived += 1
          else assert.deepEqual(
            [status, body.error?.code, body.sent],
            [422, 'INVALID_ARGUMENTS', false],
            `${slot} ${JSON.stringify(word)}: ${JSON.stringify(body)}`,
          )
        })
        assert.equal(upstream.ledger.length, arrived, 'what was refused did not arrive')
        for (const request of upstream.ledger) holdRequest(slot, at(request)!, request, upstream.port)
        const words = HOSTILE.filter(word => upstream.ledger.some(request => at(request) === word))
        assert.equal(words.length, arrived)
        assert.ok(words.includes('plain') && words.includes('with space'), 'what is harmless goes through')
      })
    }
    assert.equal(elsewhere.connections, 0)
  })

  test('any text in any slot', async t => {
    const { upstream, elsewhere, call } = await ground(t)
    const word = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.array(
        fc.constantFrom('/', '.', '..', '%', '%2e', '\\', '?', '#', '&', '=', ';', '\r\n', ' ', 'a', 'Ā', '\u0000', ',', '"', '@', ':'),
        { maxLength: 8 },
      ).map(parts => parts.join('')),
    ).filter(text => text.isWellFormed())
    await fc.assert(fc.asyncProperty(fc.constantFrom(...Object.keys(SLOTS)), word, async (slot, text) => {
      const before = upstream.ledger.length
      const { status, body } = await call(slot, text)
      if (status === 200) {
        // A repeat of an equal call is answered without a send.
        const request = upstream.ledger[before]
        if (request !== undefined) holdRequest(slot, text, request, upstream.port)
      } else {
        assert.deepEqual(
          [status, body.sent, upstream.ledger.length],
          [422, false, before],
          `${slot} ${JSON.stringify(text)}: ${JSON.stringify(body)}`,
        )
      }
    }), { numRuns: 200 })
    assert.equal(elsewhere.connections, 0)
  })

  test('headers, query, path and body of the agent\'s own request go nowhere', async t => {
    const { upstream, elsewhere, raw } = await ground(t)
    const port = new URL(elsewhere.origin).host
    const hostile: Record<string, string> = {
      'x-evil': '1', cookie: 'session=evil', 'x-forwarded-host': port, 'x-forwarded-for': '10.0.0.1',
      forwarded: `host=${port}`, 'x-http-method-override': 'DELETE',
      'x-slots-key': 'other', 'x-fixed': 'other', 'x-slot': 'other', 'user-agent': 'evil', accept: 'text/evil',
      'if-match': 'evil', 'idempotency-key': 'evil-key', traceparent: 'evil', range: 'bytes=0-1',
    }
    const sent = await raw(JSON.stringify({ arguments: { word: 'honest' }, reason: 'evil\r\nX-Evil: 1' }), hostile)
    assert.equal(sent.status, 200, JSON.stringify(sent.body))
    assert.equal(upstream.ledger.length, 1)
    const { headers, path, body } = upstream.ledger[0]!
    assert.doesNotMatch(JSON.stringify({ headers, path, body }), /evil|other|override|10\.0\.0\.1/)
    holdRequest('body', 'honest', upstream.ledger[0]!, upstream.port)
    for (const text of [
      JSON.stringify({ arguments: { word: 'x', host: port, path: '/admin', headers: { 'X-Evil': '1' } } }),
      JSON.stringify({ arguments: { word: { toString: 'x' } } }),
      JSON.stringify({ arguments: { word: ['x'] } }),
      JSON.stringify({ arguments: { word: 'x' }, headers: { 'X-Evil': '1' } }),
      JSON.stringify({ arguments: { word: 'x' }, url: elsewhere.origin }),
      '{"arguments": {"word": "x", "__proto__": {"admin": true}}}',
      '{"arguments": {"word": "x", "word": "y"}}',
    ]) {
      const { status, body: refused } = await raw(text)
      assert.ok(status >= 400 && refused.sent === false, text)
    }
    for (const name of [
      'fill_body.v1?word=evil',
      'fill_body.v1%2f..%2ffill_path.v1',
      '..%2f..%2fmetrics',
      'fill_body.v1;x=1',
      'FILL_BODY.v1',
      'fill_body.v1%00',
      `http:%2f%2f${port}%2f`,
    ]) {
      const { status } = await raw(JSON.stringify({ arguments: { word: 'again' } }), {}, `/v1/actions/${name}`)
      assert.ok(status >= 400, name)
    }
    assert.equal(upstream.ledger.length, 1, 'none of them was sent')
    assert.equal(elsewhere.connections, 0)
  })

  test('an upstream that says go elsewhere is not followed, by reads nor by writes', async t => {
    const { upstream, elsewhere, call } = await ground(t)
    assert.equal((await call('path', 'redirect')).body.error?.code, 'UPSTREAM_REJECTED')
    assert.equal((await call('body', 'redirect')).body.outcome, 'unknown')
    assert.deepEqual(upstream.ledger.map(({ method }) => method), ['GET', 'POST'])
    assert.equal(elsewhere.connections, 0)
  })
})
