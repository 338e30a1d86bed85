// The tools, prompts and resources that the official suite calls by name, beside the tools of the product and on its own endpoint. Whatever the suite
// sees of the wire, of headers, eras, errors and lists is the product; only what these names answer is from here.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  acceptedContent, createRequestStateCodec, inputRequired, ProtocolError, ResourceNotFoundError,
  type CallToolResult, type GetPromptResult, type InputRequiredResult, type Server, type ServerContext,
} from '@modelcontextprotocol/server'
import { isObject, type Json, type JsonObject } from '../../../src/catalog/catalog.ts'
import type { Exchange } from '../../../src/mcp/exchange.ts'
import type { McpExtension, ToolHandlers } from '../../../src/mcp/server.ts'

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=='
const SILENCE = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='
const text = (words: string): CallToolResult => ({ content: [{ type: 'text', text: words }] })
const codec = createRequestStateCodec<{ step: number }>({ key: new Uint8Array(32).fill(7), ttlSeconds: 600 })

type Answer = CallToolResult | InputRequiredResult
type Run = (context: ServerContext, args: JsonObject) => Answer | Promise<Answer>

const askFor = (message: string, properties: JsonObject) =>
  inputRequired.elicit({ message, requestedSchema: { type: 'object', properties: properties as never, required: Object.keys(properties) } })
const askName = askFor('What is your name?', { name: { type: 'string' } })
const askModel = (words: string, maxTokens: number) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: words } }], maxTokens })

const accepted = (context: ServerContext, name: string): JsonObject | undefined =>
  acceptedContent(context.mcpReq.inputResponses, name) as JsonObject | undefined
const answered = (context: ServerContext, name: string): JsonObject | undefined => {
  const response = context.mcpReq.inputResponses?.[name] as Json | undefined
  return isObject(response) ? response : undefined
}

/** What the state says; undefined on the first round. @throws ProtocolError where it is not as it was minted */
async function stepOf (context: ServerContext): Promise<number | undefined> {
  const state = context.mcpReq.requestState<string>()
  if (state === undefined) return undefined
  try {
    return (await codec.verify(state, context)).step
  } catch {
    throw new ProtocolError(-32_602, 'Invalid or expired requestState')
  }
}

const TOOLS: Readonly<Record<string, Run>> = {
  test_simple_text: () => text('This is a simple text response for testing.'),
  test_image_content: () => ({ content: [{ type: 'image', data: PIXEL, mimeType: 'image/png' }] }),
  test_audio_content: () => ({ content: [{ type: 'audio', data: SILENCE, mimeType: 'audio/wav' }] }),
  test_embedded_resource: () => ({
    content: [{ type: 'resource', resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'This is an embedded resource content.' } }],
  }),
  test_multiple_content_types: () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      { type: 'image', data: PIXEL, mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'test://mixed-content-resource', mimeType: 'application/json', text: '{"test":"data","value":123}' } },
    ],
  }),
  test_error_handling: () => ({ ...text('This tool intentionally returns an error for testing'), isError: true }),
  async test_tool_with_progress ({ mcpReq }) {
    const progressToken = mcpReq._meta?.progressToken
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
      if (progress < 100) await sleep(50)
    }
    return text('done')
  },
  async test_tool_with_logging ({ mcpReq }) {
    for (const words of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await mcpReq.log('info', words)
      await sleep(50)
    }
    return text('done')
  },
  async test_logging_tool ({ mcpReq }) {
    await mcpReq.log('info', 'to whoever asked for it')
    return text('done')
  },
  async test_streaming_elicitation ({ mcpReq }) {
    const progressToken = mcpReq._meta?.progressToken
    if (progressToken !== undefined) await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2 } })
    return inputRequired({ inputRequests: { user_name: askName } })
  },
  test_missing_capability: () => inputRequired({ inputRequests: { model: askModel('anything', 10) } }),
  test_input_required_result_elicitation: context => {
    const { name } = accepted(context, 'user_name') ?? {}
    return typeof name === 'string' ? text(`Hello, ${name}!`) : inputRequired({ inputRequests: { user_name: askName } })
  },
  test_input_required_result_sampling: context => {
    const response = answered(context, 'capital_question')
    if (response === undefined) return inputRequired({ inputRequests: { capital_question: askModel('What is the capital of France?', 100) } })
    return text(JSON.stringify(response['content'] ?? null))
  },
  test_input_required_result_list_roots: context => {
    const response = answered(context, 'client_roots')
    return response === undefined ? inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } }) : text(JSON.stringify(response['roots'] ?? []))
  },
  test_input_required_result_request_state: async context => {
    if (await stepOf(context) !== undefined && answered(context, 'confirm') !== undefined) return text('state-ok')
    const requestState = await codec.mint({ step: 1 })
    return inputRequired({ inputRequests: { confirm: askFor('Please confirm', { ok: { type: 'boolean' } }) }, requestState })
  },
  test_input_required_result_multiple_inputs: async context => {
    if (['user_name', 'greeting', 'client_roots'].every(name => answered(context, name) !== undefined)) return text('all were given')
    const inputRequests = { user_name: askName, greeting: askModel('Generate a greeting', 50), client_roots: inputRequired.listRoots() }
    return inputRequired({ inputRequests, requestState: await codec.mint({ step: 1 }) })
  },
  test_input_required_result_multi_round: async context => {
    const step = await stepOf(context)
    if (step === 1 && accepted(context, 'step1') !== undefined) {
      const inputRequests = { step2: askFor('Step 2: What is your favorite color?', { color: { type: 'string' } }) }
      return inputRequired({ inputRequests, requestState: await codec.mint({ step: 2 }) })
    }
    if (step === 2 && accepted(context, 'step2') !== undefined) return text('both steps were taken')
    const inputRequests = { step1: askFor('Step 1: What is your name?', { name: { type: 'string' } }) }
    return inputRequired({ inputRequests, requestState: await codec.mint({ step: 1 }) })
  },
  test_input_required_result_tampered_state: async context => {
    if (await stepOf(context) !== undefined) return text('the state is whole')
    return inputRequired({ inputRequests: { confirm: askFor('Please confirm', { ok: { type: 'boolean' } }) }, requestState: await codec.mint({ step: 1 }) })
  },
  test_input_required_result_capabilities: ({ mcpReq }) => {
    const declared = (mcpReq.envelope as JsonObject | undefined)?.['io.modelcontextprotocol/clientCapabilities'] as JsonObject | undefined
    const inputRequests = {
      ...(declared?.['sampling'] === undefined ? {} : { model: askModel('anything', 10) }),
      ...(declared?.['elicitation'] === undefined ? {} : { user_name: askName }),
    }
    return Object.keys(inputRequests).length === 0 ? text('nothing can be asked') : inputRequired({ inputRequests })
  },
}

const message = (content: GetPromptResult['messages'][number]['content']): GetPromptResult['messages'][number] => ({ role: 'user', content })
type Prompt = (context: ServerContext, args: Readonly<Record<string, string>>) => GetPromptResult | InputRequiredResult

const PROMPTS: Readonly<Record<string, { readonly args: readonly string[], readonly get: Prompt }>> = {
  test_simple_prompt: { args: [], get: () => ({ messages: [message({ type: 'text', text: 'This is a simple prompt for testing.' })] }) },
  test_prompt_with_arguments: {
    args: ['arg1', 'arg2'],
    get: (_context, { arg1, arg2 }) => ({ messages: [message({ type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` })] }),
  },
  test_prompt_with_embedded_resource: {
    args: ['resourceUri'],
    get: (_context, { resourceUri }) => ({
      messages: [
        message({ type: 'resource', resource: { uri: resourceUri!, mimeType: 'text/plain', text: 'Embedded resource content for testing.' } }),
        message({ type: 'text', text: 'Please process the embedded resource above.' }),
      ],
    }),
  },
  test_prompt_with_image: {
    args: [],
    get: () => ({
      messages: [message({ type: 'image', data: PIXEL, mimeType: 'image/png' }), message({ type: 'text', text: 'Please analyze the image above.' })],
    }),
  },
  test_input_required_result_prompt: {
    args: [],
    get: context => accepted(context, 'user_context') === undefined
      ? inputRequired({ inputRequests: { user_context: askFor('What context should the prompt use?', { context: { type: 'string' } }) } })
      : { messages: [message({ type: 'text', text: 'With that context.' })] },
  },
}

function readResource (uri: string) {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  if (id !== undefined) {
    return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }] }
  }
  if (uri === 'test://static-text') return { contents: [{ uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }] }
  if (uri === 'test://static-binary') return { contents: [{ uri, mimeType: 'image/png', blob: PIXEL }] }
  throw new ResourceNotFoundError(uri)
}

/** @param changeTools changes the list of tools of the product */
export const conformanceFixture = (changeTools: () => Promise<void>): McpExtension => (server, handlers, exchange) => {
  server.registerCapabilities({ prompts: {}, resources: {}, completions: {}, logging: {} })
  addTools(server, handlers, exchange, changeTools)
  server.setRequestHandler('completion/complete', () => ({ completion: { values: ['paris', 'park', 'party'], total: 3, hasMore: false } }))
  server.setRequestHandler('resources/list', () => ({
    resources: ['static-text', 'static-binary'].map(name => ({ uri: `test://${name}`, name, description: name })),
  }))
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template', description: 'template' }],
  }))
  server.setRequestHandler('resources/read', ({ params }) => readResource(params.uri))
  server.setRequestHandler('prompts/list', () => ({
    prompts: Object.entries(PROMPTS).map(([name, { args }]) => ({
      name, description: name, arguments: args.map(arg => ({ name: arg, required: true })),
    })),
  }))
  server.setRequestHandler('prompts/get', ({ params }, context) => {
    const prompt = PROMPTS[params.name]
    if (prompt === undefined) throw new ProtocolError(-32_602, 'Unknown prompt')
    return prompt.get(context, params.arguments ?? {})
  })
}

function addTools (server: Server, handlers: ToolHandlers, { message: { params } }: Exchange, changeTools: () => Promise<void>): void {
  const all: Readonly<Record<string, Run>> = {
    ...TOOLS,
    async test_trigger_tool_change () {
      await changeTools()
      return text('changed')
    },
  }
  server.setRequestHandler('tools/list', async request => {
    const own = await handlers.list(request.params?.cursor ?? null)
    const tools = Object.keys(all).map(name => ({ name, description: name, inputSchema: { type: 'object' as const, properties: {} } }))
    return { ...own, tools: [...own.tools, ...tools] }
  })
  server.setRequestHandler('tools/call', async ({ params: { name } }, context) => {
    const run = all[name]
    if (run === undefined) return handlers.call(context.mcpReq.signal)
    return run(context, (isObject(params) && isObject(params['arguments']) ? params['arguments'] : {}))
  })
}
