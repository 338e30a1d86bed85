// What README tells to paste: programs are run as they stand, and what configures a client is read and connected by, with the URL of a running broker in
// the place of the usual one.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { startProgram } from '../support/program.ts'
import { makeShopSite, startTestBroker, type ShopSite, type TestBroker } from '../support/broker.ts'

const ROOT = join(import.meta.dirname, '../..')
const section = /## Connect an agent\n([^]*?)\n## /.exec(readFileSync(join(ROOT, 'README.md'), 'utf8'))![1]!
const blocks = (language: string): readonly string[] => [...section.matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, 'g'))].map(match => match[1]!)
const USUAL = 'http://127.0.0.1:8080'

let site: ShopSite
let broker: TestBroker
let token: string

before(async () => {
  site = await makeShopSite()
  broker = await startTestBroker(site)
  token = await site.token()
})

after(async () => {
  await broker.close()
  await site.shop.close()
  site.remove()
})

const here = (text: string): string => {
  assert.ok(text.includes(USUAL))
  return text.replaceAll(USUAL, broker.agentsUrl)
}

/** The program as a file of a folder that sees what this one sees. */
async function run (t: TestContext, program: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'aval-readme-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['node_modules', 'src']) symlinkSync(join(ROOT, name), join(folder, name))
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  writeFileSync(join(folder, 'example.js'), here(program))
  const { code, stdout, stderr } = await startProgram(t, process.execPath, ['example.js'], { cwd: folder, env: { TOKEN: token, ...env } }).ended()
  assert.equal(code, 0, `${stdout}\n${stderr}`)
  return stdout
}

const program = (word: string): string => blocks('js').find(text => text.includes(word))!

async function toolsBy (url: string, headers: Record<string, string>): Promise<readonly string[]> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  const { tools } = await client.listTools()
  await client.close()
  return tools.map(tool => tool.name)
}

test('what configures Cursor and VS Code connects', async () => {
  const [cursor, code] = blocks('json').map(text => JSON.parse(here(text)))
  for (const [{ url, headers }, placeholder] of [[cursor.mcpServers.aval, '${env:TOKEN}'], [code.servers.aval, '${input:aval-token}']]) {
    assert.ok(headers.Authorization.includes(placeholder))
    assert.ok((await toolsBy(url, { Authorization: headers.Authorization.replace(placeholder, token) })).includes('get_customer_v1'))
  }
  assert.equal(code.inputs[0].id, 'aval-token')
})

test('what configures Claude Code connects', async () => {
  const [line] = blocks('sh')
  const [, url, header] = /--transport http aval (\S+) --header "([^"]+)"/.exec(here(line!))!
  const [name, value] = header!.split(': ')
  assert.ok((await toolsBy(url!, { [name!]: value!.replace('$TOKEN', token) })).includes('place_order_v1'))
})

test('the program of OpenAI Agents runs, with a model that is told by this test what to say', async t => {
  const asked: any[] = []
  const model = createServer((request, response) => {
    let body = ''
    request.on('data', chunk => { body += chunk })
    request.on('end', () => {
      asked.push(JSON.parse(body))
      const result = asked.at(-1).input.find((item: any) => item.type === 'function_call_output')
      const output = result === undefined
        ? [{ type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'get_customer_v1', arguments: '{"customer_id":"cus_1001"}', status: 'completed' }]
        : [{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: JSON.stringify(result.output), annotations: [] }] }]
      const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2, input_tokens_details: {}, output_tokens_details: {} }
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: 'resp_1', object: 'response', status: 'completed', model: 'any', output, usage }))
    })
  })
  await new Promise<void>(resolve => model.listen(0, '127.0.0.1', resolve))
  t.after(() => model.close())
  const env = {
    OPENAI_API_KEY: 'none', OPENAI_BASE_URL: `http://127.0.0.1:${(model.address() as AddressInfo).port}`, OPENAI_AGENTS_DISABLE_TRACING: '1',
  }
  assert.match(await run(t, program('@openai/agents'), env), /12 Quay Street/)
  assert.ok(asked[0].tools.some((tool: any) => tool.name === 'place_order_v1'))
})

test('the program of LangChain runs', async t => {
  assert.match(await run(t, program('@langchain/mcp-adapters')), /12 Quay Street/)
})

test('the program of the client runs, and the order is in the ledger', async t => {
  assert.match(await run(t, program('./src/client.ts')), /^done \{\s+order_id: /)
  assert.equal(site.shop.ledger.filter(entry => entry.effect === 'order.placed').length, 1)
})
