// Scripts of other sites that ask for a socket, for events or just for the page, whatever cookies come along: a browser sends them all to a neighbour
// of ours on the same host.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { request as ask } from 'node:http'
import { test, type TestContext } from 'node:test'
import { Visitor } from './browser-like.ts'
import { addressChange, place } from './drafts.ts'
import { startPeople, type People } from './ground.ts'

interface Heard { readonly status: number, readonly text: string }

interface Ground {
  readonly people: People
  /** Every route, with the id of a proposal that waits. */
  readonly routes: ReadonlyArray<{ readonly method: string, readonly path: string }>
  readonly cookie: string
  readonly revision: () => Promise<number>
}

async function ground (t: TestContext): Promise<Ground> {
  const people = await startPeople(t)
  people.idp.who = { sub: 'ann', name: 'Ann Approver', groups: ['leads', 'ops'] }
  const visitor = new Visitor(people.origin)
  await visitor.signIn()
  const { id } = await place(people.store, addressChange())
  const routes = people.routes.map(route => {
    const [method, path] = route.split(' ') as [string, string]
    return { method, path: path.replace('/approvals/:id', `/approvals/${id}`).replace(/:\w+/, 'att_00') }
  })
  return {
    people, routes, cookie: [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    revision: async () => (await people.store.findProposal(id))!.record.revision,
  }
}

/** Over a connection of its own; a switch to another protocol is an answer like any other. */
function send (origin: string, method: string, path: string, headers: Record<string, string>): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const sent = ask(`${origin}${path}`, { method, headers: { ...headers, ...(headers['upgrade'] === undefined ? { connection: 'close' } : {}) }, agent: false })
    sent.on('upgrade', ({ statusCode }, socket) => {
      socket.destroy()
      resolve({ status: statusCode!, text: 'it speaks another protocol now' })
    })
    sent.on('response', response => {
      let text = ''
      response.setEncoding('utf8').on('data', chunk => { text += chunk }).on('end', () => {
        resolve({ status: response.statusCode!, text })
        sent.destroy()
      })
    })
    sent.on('error', reject)
    sent.end()
  })
}

const FOREIGN = ['https://evil.example', 'http://127.0.0.1:1', 'null', 'file://', 'chrome-extension://abc']

test('no route of people speaks to a socket that another site asks for, nor says anything to it (D29)', async t => {
  const { people, routes, cookie, revision } = await ground(t)
  assert.ok(routes.length >= 20, 'these are all')
  for (const origin of FOREIGN) {
    for (const { method, path } of routes) {
      const { status, text } = await send(people.origin, method, path, {
        cookie, origin, connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': randomBytes(16).toString('base64'),
      })
      // The provider itself says who has signed out there, in words that it signs, wherever they come from.
      const expected = path === '/sign-in/back-channel-logout' ? 400 : 403
      assert.equal(status, expected, `${method} ${path} of ${origin}: ${text}`)
      assert.doesNotMatch(text, /Quay Street|cus_1001|Ann Approver/)
    }
  }
  assert.equal(await revision(), 1)
  assert.deepEqual(people.desk.told, [], 'and nobody is said to have seen anything')
  assert.deepEqual(people.desk.operator.done, [])
})

test('no route of people is a stream of events, and none is read by a script of another site that asks for one (D29)', async t => {
  const { people, routes, cookie } = await ground(t)
  const gets = routes.filter(({ method }) => method === 'GET')
  for (const { path } of gets) {
    const events = { cookie, accept: 'text/event-stream' }
    const foreign = await send(people.origin, 'GET', path, { ...events, origin: 'https://evil.example' })
    assert.deepEqual([foreign.status, /Quay Street|Ann Approver/.test(foreign.text)], [403, false], path)
    const own = await fetch(people.origin + path, { headers: events, redirect: 'manual' })
    assert.doesNotMatch(own.headers.get('content-type') ?? '', /event-stream/, path)
    await own.body?.cancel()
  }
  const own = await send(people.origin, 'GET', '/approvals', { cookie, origin: people.origin })
  assert.equal(own.status, 200, 'our own script may read')
})
