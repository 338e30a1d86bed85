// Documents that gateways and converters elsewhere stumble over, each under a sheet of a whole broker: what the upstream then really receives.
// F-n are the documents of test/cases/openapi; the other ids in parentheses are those of the list of faults that this file works through.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { makeSite, startTestBroker, type Reached, type TestBroker } from '../support/broker.ts'
import { startHostileUpstream, type HostileUpstream, type LedgerEntry } from '../support/hostile-upstream.ts'
import { assertRefused } from './probe.ts'

const closers: Array<() => unknown> = []
let upstreams: Record<string, HostileUpstream>
let broker: TestBroker
let token: string

const text = { type: 'string', maxLength: 200 }
const list = { type: 'array', maxItems: 5, items: text }
const closed = (properties: object, required: readonly string[] = []): object => ({
  type: 'object', additionalProperties: false, required, properties,
})

/** A sheet by its document, operation, input and request. */
function sheet (
  document: string, action: string, operation: string, input: Record<string, object>, required: readonly string[], request: object, more: object = {},
): readonly [string, object] {
  const write = !['styles', 'me', 'file', 'hdrs'].includes(operation)
  return [`${document.toLowerCase()}/${action}.v1`, {
    action, version: 1, upstream: document.toLowerCase(), operation, title: action, description: action, consent: 'none',
    input: closed(input, required), request,
    ...(write ? { effect: 'reversible_change', retry: 'never', lookup: 'none' } : { effect: 'observation', retry: 'never' }),
    ...more,
  }]
}

const SHEETS = Object.fromEntries([
  sheet('F-6', 'styles', 'styles', {
    ids: { type: 'array', minItems: 1, maxItems: 9, items: { type: 'integer' } }, words: list, from: text, to: text, open: text,
  }, ['ids'], {
    path: { ids: '${args.ids}' },
    query: {
      q1: '${args.?words}', q2: '${args.?words}', q3: '${args.?words}', q4: '${args.?words}', q5: { from: '${args.?from}', to: '${args.?to}' },
      q6: '${args.?open}',
    },
    headers: { 'X-Ids': '${args.ids}' },
  }),
  sheet('F-8', 'me', 'me', { region: text, variant: text }, [], { cookies: { region: '${args.?region}', variant: '${args.?variant}' } }),
  sheet('F-9', 'form_it', 'formIt', { tags: list, a: text }, ['tags', 'a'], { body: { tags: '${args.tags}', meta: { a: '${args.a}' } } }),
  sheet('F-9', 'upload', 'upload', { bytes: text, title: text }, ['bytes', 'title'], {
    body: { file: '${args.bytes}', meta: { title: '${args.title}' } },
  }),
  // Bytes are never an agent's to choose; these stand in the sheet.
  sheet('F-9', 'raw', 'raw', { size: { type: 'integer' } }, ['size'], { body: 'AAEC/w==', headers: { 'X-Size': '${args.size}' } }),
  sheet('F-9', 'multi_text', 'multi', { note: text }, ['note'], { body: 'The note: ${args.note}', media_type: 'text/plain' }),
  sheet('F-9', 'multi_json', 'multi', { note: text }, ['note'], { body: { note: '${args.note}' } }),
  sheet('F-11', 'clash', 'clash', { id: text, body: text, server: text, contentType: text }, ['id'], {
    path: { id: '${args.id}' },
    query: { id: 7, body: '${args.?body}', server: '${args.?server}', contentType: '${args.?contentType}' },
    headers: { id: 'h' },
    body: { id: true, body: '${args.?body}' },
  }),
  sheet('F-19', 'drop_note', 'dropNote', { uid: text, nid: text }, ['uid', 'nid'], { path: { uid: '${args.uid}', nid: '${args.nid}' } }),
  sheet('F-19', 'file', 'file', { name: text, ext: text }, ['name', 'ext'], { path: { name: '${args.name}', ext: '${args.ext}' } }),
  sheet('F-20', 'hdrs', 'hdrs', { page: { type: 'integer' }, note: text }, ['page'], {
    headers: { 'X-Page': '${args.page}', 'X-Note': '${args.?note}' },
  }),
  sheet('F-1', 'create_folder', 'createFolder', { label: text, child: text }, ['label', 'child'], {
    body: { label: '${args.label}', children: [{ label: '${args.child}', children: [] }], aliases: { a: { label: 'A' } } },
  }),
])
const DOCUMENTS = ['F-1', 'F-6', 'F-8', 'F-9', 'F-11', 'F-19', 'F-20']
const actions = Object.keys(SHEETS).map(path => path.split('/')[1]!)

before(async () => {
  upstreams = {}
  const files: Record<string, string> = { 'actions/policy.yaml': JSON.stringify({ roles: { prober: actions } }) }
  const env: Record<string, string> = {}
  for (const document of DOCUMENTS) {
    const upstream = await startHostileUpstream()
    closers.push(() => upstream.stop())
    upstreams[document] = upstream
    const name = document.toLowerCase()
    const secret = `KEY_${document.replace('-', '_')}`
    env[secret] = `secret-of-${name}`
    files[`openapi/${document}.yaml`] = readFileSync(join(import.meta.dirname, '../cases/openapi', `${document}.yaml`), 'utf8')
    const scheme = document === 'F-20' ? 'k' : { in: 'header', name: 'X-Credential' }
    files[`actions/${name}/upstream.yaml`] = JSON.stringify({
      upstream: name, openapi: `${document}.yaml`, server: `${upstream.origin}/base`, networks: ['loopback'],
      credential: { scheme, secret: `env:${secret}` },
    })
  }
  for (const [path, content] of Object.entries(SHEETS)) files[`actions/${path}.yaml`] = JSON.stringify(content)
  const site = await makeSite({ files, env })
  closers.push(() => site.remove())
  broker = await startTestBroker(site)
  closers.push(() => broker.close())
  token = await site.token({ roles: ['prober'], run: 'run-1' })
})
after(async () => { for (const close of closers.reverse()) await close() })
beforeEach(() => { for (const upstream of Object.values(upstreams)) upstream.clear() })

const ask = (action: string, args: object): Promise<Reached> => broker.call(token, `${action}.v1`, args as never)

/** What arrived of the one request of this call. */
async function arrived (document: string, action: string, args: object): Promise<LedgerEntry> {
  const { body } = await ask(action, args)
  assert.equal(body.sent, true, JSON.stringify(body))
  const [request, second] = upstreams[document]!.ledger
  assert.ok(request !== undefined && second === undefined)
  return request
}

describe('a request', () => {
  test('has its parameters in the style and explode of the document, by its defaults (C13, C14, F-6)', async () => {
    const { method, path, headers } = await arrived('F-6', 'styles', {
      ids: [1, 2, 3], words: ['a', 'c&d'], from: '1=1', to: 'x]', open: 'a/b?c=d&e#f',
    })
    assert.equal(method, 'GET')
    assert.equal(path, '/base/s/.1.2.3?q1=a&q1=c%26d&q2=a,c%26d&q3=a%7Cc%26d&q4=a%20c%26d&q5%5Bfrom%5D=1%3D1&q5%5Bto%5D=x%5D&q6=a/b?c%3Dd%26e%23f')
    assert.equal(headers['x-ids'], '1,2,3')
  })

  test('leaves out what is absent, down to the last entry of an object', async () => {
    const { path } = await arrived('F-6', 'styles', { ids: [7], from: 'x' })
    assert.equal(path, '/base/s/.7?q5%5Bfrom%5D=x')
  })

  test('that would say something else than its values is not sent: a separator inside a value, an object of nothing (F-6)', async () => {
    for (const [args, rule] of [
      [{ ids: [1], words: ['a b'], from: 'x' }, 'separator'], [{ ids: [1], words: ['a|b'], from: 'x' }, 'separator'], [{ ids: [1] }, 'empty'],
    ] as const) {
      const reached = await ask('styles', args)
      assertRefused(reached, 422, 'INVALID_ARGUMENTS')
      assert.equal(reached.body.error.rule, rule)
    }
    assert.equal(upstreams['F-6']!.bytes, 0)
  })

  test('carries its cookies, escaped, in one header (C16, F-8)', async () => {
    assert.equal((await arrived('F-8', 'me', { region: 'e u;x=1', variant: 'b' })).headers['cookie'], 'region=e%20u%3Bx%3D1; variant=b')
    upstreams['F-8']!.clear()
    assert.equal((await arrived('F-8', 'me', {})).headers['cookie'], undefined)
  })

  test('has the body that its media type asks for: a form, parts with types of their own, bytes, text, JSON (C17, C19, F-9)', async () => {
    const form = await arrived('F-9', 'form_it', { tags: ['a', 'b&c'], a: 'x=y' })
    assert.deepEqual([form.headers['content-type'], form.body], ['application/x-www-form-urlencoded', 'tags=a%20b%26c&meta%5Ba%5D=x%3Dy'])

    upstreams['F-9']!.clear()
    const upload = await arrived('F-9', 'upload', { bytes: Buffer.from('\r\n--x\r\nbytes').toString('base64'), title: 'T"\r\n' })
    const boundary = /^multipart\/form-data; boundary="?([^";]+)"?$/.exec(upload.headers['content-type']!)![1]!
    const parts = upload.body.split(`--${boundary}`)
    assert.equal(parts.length, 4)
    assert.match(parts[1]!, /name="file"[^]*Content-Type: application\/octet-stream\r\n\r\n\r\n--x\r\nbytes\r\n$/i)
    assert.match(parts[2]!, /name="meta"[^]*Content-Type: application\/json\r\n\r\n\{"title":"T\\"\\r\\n"\}\r\n$/i)

    upstreams['F-9']!.clear()
    const raw = await arrived('F-9', 'raw', { size: 4 })
    assert.deepEqual([raw.method, raw.headers['content-type'], raw.headers['content-length']], ['PUT', 'application/octet-stream', '4'])

    for (const [action, type, body] of [
      ['multi_text', 'text/plain; charset=utf-8', 'The note: ü {"a":1}'], ['multi_json', 'application/json', '{"note":"ü {\\"a\\":1}"}'],
    ] as const) {
      upstreams['F-9']!.clear()
      const sent = await arrived('F-9', action, { note: 'ü {"a":1}' })
      assert.deepEqual([sent.headers['content-type'], sent.body], [type, body])
    }
  })

  test('keeps apart four places of one name, and names that generators keep for themselves (C22, F-11)', async () => {
    const { path, headers, body } = await arrived('F-11', 'clash', { id: 'p', body: 'b', server: 'http://evil.example', contentType: 'text/html' })
    assert.equal(path, '/base/t/p?id=7&body=b&server=http%3A%2F%2Fevil.example&contentType=text%2Fhtml')
    assert.deepEqual([headers['id'], headers['content-type'], JSON.parse(body)], ['h', 'application/json', { id: true, body: 'b' }])
  })

  test('has each path value in its own segment, or is not sent at all (C37, C44, F-19)', async () => {
    assert.equal((await arrived('F-19', 'drop_note', { uid: 'a b', nid: 'ü' })).path, '/base/users/a%20b/notes/%C3%BC')
    upstreams['F-19']!.clear()
    for (const [uid, nid] of [
      ['..', 'x'], ['x', '..'], ['a/../..', 'x'], ['x', '%2e%2e'], ['x', ''], ['x?admin=1', 'y'], ['x', 'y#z'], ['x', 'y;z'], ['\u0000', 'y'],
    ]) {
      assertRefused(await ask('drop_note', { uid, nid }), 422, 'INVALID_ARGUMENTS')
    }
    for (const [name, ext] of [['.', ''], ['', '.'], ['a', '/etc']]) assertRefused(await ask('file', { name, ext }), 422, 'INVALID_ARGUMENTS')
    assert.equal(upstreams['F-19']!.bytes, 0)
    assert.equal((await arrived('F-19', 'file', { name: 'report', ext: 'pdf' })).path, '/base/files/report.pdf')
  })

  test('has headers of one line, and the credential where the document says, whatever an agent puts elsewhere (C40, F-20)', async () => {
    const { headers } = await arrived('F-20', 'hdrs', { page: 3, note: 'plain' })
    assert.deepEqual([
      headers['x-page'], headers['x-note'], headers['x-api-key'], headers['authorization'],
    ], ['3', 'plain', 'secret-of-f-20', undefined])
    upstreams['F-20']!.clear()
    for (const note of [
      'a\r\nX-Api-Key: mine', 'a\nb', '\u0000', 'é', ' ',
    ]) assert.equal((await ask('hdrs', { page: 3, note })).body.sent, false, JSON.stringify(note))
    assert.equal(upstreams['F-20']!.bytes, 0)
  })

  test('whose schema holds itself is written as deep as the sheet says (C01, F-1)', async () => {
    const { body } = await arrived('F-1', 'create_folder', { label: 'a', child: 'b' })
    assert.deepEqual(JSON.parse(body), { label: 'a', children: [{ label: 'b', children: [] }], aliases: { a: { label: 'A' } } })
  })

  test('carries the credential of its own upstream and of no other (L12)', async () => {
    await arrived('F-8', 'me', {})
    await arrived('F-19', 'file', { name: 'a', ext: 'b' })
    for (const document of ['F-8', 'F-19']) {
      const { headers } = upstreams[document]!.ledger[0]!
      assert.deepEqual(Object.values(headers).filter(value => value.startsWith('secret-of-')), [`secret-of-${document.toLowerCase()}`])
    }
  })
})
