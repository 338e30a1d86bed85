// What the sign-in of people asks of their provider is bounded in time and size, goes over https or loopback alone, and goes nowhere else than it was told.
import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { createIssuerFetch } from '../../src/upstream/issuer-fetch.ts'

const ASK = { method: 'GET', headers: {}, body: undefined }

async function ground (t: TestContext, answer: RequestListener): Promise<{ readonly url: string, readonly fetcher: ReturnType<typeof createIssuerFetch>, readonly asked: string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    answer(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const fetcher = createIssuerFetch(1_500)
  t.after(async () => {
    await fetcher.close()
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, fetcher, asked }
}

test('an answer comes as it is, with status and headers', async t => {
  const { url, fetcher } = await ground(t, (_request, response) => response.writeHead(201, { 'content-type': 'application/json', 'x-a': 'b' }).end('{"a":1}'))
  const answer = await fetcher.fetch(`${url}/x`, ASK)
  assert.deepEqual([answer.status, answer.headers.get('x-a'), await answer.json()], [201, 'b', { a: 1 }])
})

test('a redirect is an answer, and is not followed', async t => {
  const { url, fetcher, asked } = await ground(t, (_request, response) => response.writeHead(302, { location: '/elsewhere' }).end())
  assert.equal((await fetcher.fetch(`${url}/x`, ASK)).status, 302)
  assert.deepEqual(asked, ['GET /x'])
})

test('what is sent is what was said', async t => {
  let got = ''
  const { url, fetcher } = await ground(t, (request, response) => {
    request.on('data', chunk => { got += chunk })
    request.on('end', () => response.end(request.headers['content-type']))
  })
  const body = new URLSearchParams({ code: 'a b' })
  const answer = await fetcher.fetch(url, { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body })
  assert.deepEqual([got, await answer.text()], ['code=a+b', 'application/x-www-form-urlencoded'])
})

for (const [what, answer] of [
  ['never answers', () => {}],
  ['drips', (_request, response) => {
    const timer = setInterval(() => { response.write(' ') }, 50)
    response.on('close', () => clearInterval(timer))
  }],
  ['does not stop', (_request, response) => { response.end(Buffer.alloc(300 * 1024, 32)) }],
  ['hangs up', request => { request.socket.destroy() }],
] as ReadonlyArray<readonly [string, RequestListener]>) {
  test(`a provider that ${what} is given up`, async t => {
    const { url, fetcher } = await ground(t, answer)
    await assert.rejects(fetcher.fetch(url, ASK))
  })
}

for (const url of ['http://192.0.2.1/', 'http://login.example/', 'https://user:pw@login.example/', 'ftp://127.0.0.1/', 'nonsense']) {
  test(`nothing is asked at ${url}`, async t => {
    const { fetcher } = await ground(t, () => {})
    await assert.rejects(fetcher.fetch(url, ASK), /over https, or over http on loopback/)
  })
}
