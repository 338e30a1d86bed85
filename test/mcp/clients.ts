// Clients that agents really use, each made to do the same things: list, call, and say what came back as it reached the program that holds the model.
import { join } from 'node:path'
import { createMCPClient } from '@ai-sdk/mcp'
import { MultiServerMCPClient } from '@langchain/mcp-adapters'
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Agent, MCPServerStreamableHttp, Runner, setTracingDisabled, type AgentOutputItem, type Model, type ModelRequest } from '@openai/agents'
import type { JsonObject } from '../../src/catalog/catalog.ts'
import { startProgram } from '../support/program.ts'
import type { Era } from './speak.ts'

setTracingDisabled(true)

export interface Called {
  /** The envelope, in whichever way the client hands it on. */
  readonly envelope: any
  /** The client took the answer for a failure of the tool. */
  readonly failed: boolean
}

export interface ConnectedClient {
  list (): Promise<readonly string[]>
  call (tool: string, args: JsonObject): Promise<Called>
  close (): Promise<void>
}

export interface RealClient {
  readonly name: string
  /** Which it speaks with a server that speaks both. */
  readonly era: Era
  connect (url: string, token: string): Promise<ConnectedClient>
}

const authorization = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })
const textOf = (result: any): string => result.content.find((item: any) => item.type === 'text').text
const calledBy = (result: any): Called => ({ envelope: result.structuredContent ?? JSON.parse(textOf(result)), failed: result.isError === true })

const sdkV1: RealClient = {
  name: 'MCP SDK 1',
  era: '2025-11-25',
  async connect (url, token) {
    const client = new ClientV1({ name: 'test', version: '1' })
    await client.connect(new TransportV1(new URL(`${url}/mcp`), { requestInit: { headers: authorization(token) } }))
    return {
      list: async () => (await client.listTools()).tools.map(tool => tool.name),
      call: async (name, args) => calledBy(await client.callTool({ name, arguments: args })),
      close: () => client.close(),
    }
  },
}

export const sdkV2 = (mode: 'auto' | 'legacy'): RealClient => ({
  name: `MCP SDK 2, ${mode}`,
  era: mode === 'auto' ? '2026-07-28' : '2025-11-25',
  connect: (url, token) => connectV2(new ClientV2({ name: 'test', version: '1' }, { versionNegotiation: { mode } }), url, token),
})

async function connectV2 (client: ClientV2, url: string, token: string): Promise<ConnectedClient> {
  await client.connect(new TransportV2(new URL(`${url}/mcp`), { requestInit: { headers: authorization(token) } }))
  return {
    list: async () => (await client.listTools()).tools.map(tool => tool.name),
    call: async (name, args) => calledBy(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  }
}

/** One that says that it can open pages, and what its user has done there. */
export function openingPages (url: string, token: string, open: (page: string) => Promise<'accept' | 'decline'>): Promise<ConnectedClient> {
  const client = new ClientV2({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' }, capabilities: { elicitation: { url: {} } } })
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    return { action: await open((params as { readonly url: string }).url) }
  })
  return connectV2(client, url, token)
}

const aiSdk: RealClient = {
  name: 'AI SDK',
  era: '2026-07-28',
  async connect (url, token) {
    const client = await createMCPClient({ transport: { type: 'http', url: `${url}/mcp`, headers: authorization(token) } })
    const tools = await client.tools()
    return {
      list: async () => Object.keys(tools),
      call: async (name, args) => calledBy(await tools[name]!.execute!(args, { toolCallId: 'call-1', messages: [], context: undefined as never })),
      close: () => client.close(),
    }
  },
}

const langChain: RealClient = {
  name: 'LangChain',
  era: '2025-11-25',
  async connect (url, token) {
    const client = new MultiServerMCPClient({ aval: { transport: 'http', url: `${url}/mcp`, headers: authorization(token) } })
    const tools = await client.getTools()
    return {
      list: async () => tools.map(tool => tool.name),
      async call (name, args) {
        const tool = tools.find(one => one.name === name)!
        try {
          const message = await tool.invoke({ type: 'tool_call', id: 'call-1', name, args })
          return { envelope: JSON.parse(String(message.content)).structuredContent, failed: message.status === 'error' }
        } catch (error) {
          // It throws the text of what was rejected.
          return { envelope: JSON.parse(/\{.*\}/s.exec((error as Error).message)![0]), failed: true }
        }
      },
      close: () => client.close(),
    }
  },
}

/** A model that asks for one tool and then ends: what the framework gives it is kept. */
class OneCall implements Model {
  tools: readonly string[] = []
  output: any = null
  readonly #name: string
  readonly #args: JsonObject
  constructor (name: string, args: JsonObject) {
    this.#name = name
    this.#args = args
  }

  async getResponse (request: ModelRequest) {
    this.tools = request.tools.map(tool => tool.name)
    const answered = Array.isArray(request.input) ? request.input.find((item: any) => item.type === 'function_call_result') as any : undefined
    if (answered !== undefined) this.output = answered.output
    const output: AgentOutputItem[] = answered === undefined
      ? [{ type: 'function_call', callId: 'call-1', name: this.#name, status: 'completed', arguments: JSON.stringify(this.#args) }]
      : [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'done' }] }]
    return { usage: { requests: 1, inputTokens: 0, outputTokens: 0, totalTokens: 0 } as never, output }
  }

  getStreamedResponse (): never { throw new Error('not asked for') }
}

const openaiAgents: RealClient = {
  name: 'OpenAI Agents',
  era: '2026-07-28',
  async connect (url, token) {
    const server = new MCPServerStreamableHttp({ url: `${url}/mcp`, requestInit: { headers: authorization(token) } })
    await server.connect()
    const run = async (name: string, args: JsonObject): Promise<OneCall> => {
      const model = new OneCall(name, args)
      await new Runner({ tracingDisabled: true }).run(new Agent({ name: 'test', model, mcpServers: [server] }), 'go')
      return model
    }
    return {
      list: async () => (await run('attempt_get', { attempt_id: 'att_none' })).tools,
      async call (name, args) {
        const { output } = await run(name, args)
        const text = [output].flat().find((item: any) => typeof item?.text === 'string')?.text ?? output
        // What was rejected and what was not reach the model alike.
        return { envelope: JSON.parse(text), failed: false }
      },
      close: () => server.close(),
    }
  },
}

/** @param home where it keeps its own files */
export const inspector = (era: 'legacy' | 'modern', home: string): RealClient & { lint (url: string, token: string): Promise<{ code: number | null, stderr: string }> } => {
  const ask = async (url: string, token: string, words: readonly string[]) => {
    const ends: Array<() => unknown> = []
    const cli = join(import.meta.dirname, '../../node_modules/.bin/mcp-inspector')
    const all = ['--cli', '--server-url', `${url}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${token}`, '--protocol-era', era, ...words]
    const ended = await startProgram({ after: (end: () => unknown) => { ends.push(end) } } as never, process.execPath, [cli, ...all], { env: { HOME: home } }).ended()
    for (const end of ends) await end()
    return ended
  }
  return {
    name: `Inspector, ${era}`,
    era: era === 'modern' ? '2026-07-28' : '2025-11-25',
    async connect (url, token) {
      return {
        list: async () => JSON.parse((await ask(url, token, ['--method', 'tools/list'])).stdout).tools.map((tool: any) => tool.name),
        async call (name, args) {
          const pairs = Object.entries(args).map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
          const { code, stdout, stderr } = await ask(url, token, ['--method', 'tools/call', '--tool-name', name, '--tool-arg', ...pairs])
          if (stdout.trim() === '') throw new Error(`${code} ${stderr}`)
          return { ...calledBy(JSON.parse(stdout)), failed: code === 5 }
        },
        close: async () => {},
      }
    },
    lint: (url, token) => ask(url, token, ['--method', 'tools/list', '--strict']),
  }
}

export const CLIENTS: readonly RealClient[] = [sdkV1, sdkV2('auto'), sdkV2('legacy'), aiSdk, langChain, openaiAgents]
