// A broker for whoever speaks HTTP, reached over MCP alone: each request becomes the tool call that means the same, and what the tool answered is the body.
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Json, JsonObject } from '../../src/catalog/catalog.ts'
import { toolNameOf } from '../../src/tools/tool-name.ts'
import { callTool, type Era } from './speak.ts'

/** The longest wait of one call of a tool. */
const WAIT_SECONDS_MAX = 20

export interface Translator {
  /** In the place of the broker's own. */
  readonly url: string
  /** Calls of tools that it has made. */
  calls (): number
  close (): Promise<void>
}

export async function startTranslator (brokerUrl: string, era: Era): Promise<Translator> {
  let calls = 0
  const ask = (token: string, tool: string, args: JsonObject, meta: JsonObject = {}): Promise<any> => {
    calls += 1
    return callTool(brokerUrl, token, tool, args, { era, meta })
  }
  const answer = async (request: IncomingMessage): Promise<any> => {
    const { pathname, searchParams } = new URL(request.url!, brokerUrl)
    const [, , room, id = '', verb] = pathname.split('/')
    const token = request.headers.authorization!.slice('Bearer '.length)
    if (room === 'actions') {
      const key = request.headers['idempotency-key']
      const { arguments: args } = JSON.parse(await bodyOf(request)) as { arguments: Json }
      return ask(token, toolNameOf(decodeURIComponent(id)), args as JsonObject, typeof key === 'string' ? { 'aval/idempotency-key': key } : {})
    }
    if (room === 'proposals' && verb === 'commit') return ask(token, 'proposal_commit', { proposal_id: id })
    if (room !== 'attempts') throw new Error(`${request.method} ${request.url} is no tool`)
    return settled(id, Number.parseInt(searchParams.get('wait') ?? '0', 10), args => ask(token, 'attempt_get', args))
  }
  const server = createServer(async (request, response) => {
    const told = await answer(request).catch((error: Error) => ({ structuredContent: { untranslated: error.message } }))
    const { outcome, sent } = told.structuredContent
    // Over HTTP the status says whether something can have been done.
    response.writeHead(outcome === 'rejected' && sent === false ? 409 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(told.structuredContent))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: () => calls,
    async close () {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

async function settled (id: string, waitMs: number, ask: (args: JsonObject) => Promise<any>): Promise<any> {
  for (let leftSeconds = Math.ceil(waitMs / 1_000); ; leftSeconds -= WAIT_SECONDS_MAX) {
    const told = await ask({ attempt_id: id, wait_seconds: Math.min(Math.max(leftSeconds, 0), WAIT_SECONDS_MAX) })
    if (!['pending', 'unknown'].includes(told.structuredContent.outcome) || leftSeconds <= WAIT_SECONDS_MAX) return told
  }
}

async function bodyOf (request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}
