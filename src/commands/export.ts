// `aval export`: the actions of a caller as tools of a model provider, to be put into a request as they are.
import type { Envelope } from '../execution/envelope.ts'
import { FORMATS } from '../tools/forms.ts'
import { accessToken, CLIENT_FLAGS, DEFAULT_URL } from './access-token.ts'
import { brokerClient } from './broker-client.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'

interface Exported {
  readonly tools: readonly unknown[]
  readonly losses: ReadonlyArray<{ readonly tool: string, readonly pointer: string, readonly keyword: string, readonly becomes: string }>
}

export const exportTools: Command = {
  name: 'export',
  summary: 'Print the actions of a caller as tools of a model provider, and on stderr what their schemas cannot say.',
  usage: `${FORMATS.join('|')} --token-file PATH`,
  flags: CLIENT_FLAGS,
  words: { min: 1, max: 1 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const format = FORMATS.find(known => known === ask.words[0])
  if (format === undefined) throw new CommandFault(`there are the formats ${FORMATS.join(', ')}`)
  const client = brokerClient(ask.flags.text('url') ?? DEFAULT_URL, await accessToken(ask))
  const { status, body } = await client.ask('GET', `/v1/tools?format=${format}`)
  if (status !== 200) throw new CommandFault(refusalText(body))
  const exported = body as Envelope & Exported
  ask.print(JSON.stringify(ask.json ? exported : exported.tools, null, ask.json ? 0 : 2))
  // Beside the tools, so that they can be piped on.
  for (const { tool, pointer, keyword, becomes } of exported.losses) ask.tell(`${tool} ${pointer === '' ? '/' : pointer} ${keyword}: ${becomes}`)
  return 0
}

const refusalText = ({ error }: Envelope): string => error === undefined ? 'the broker did not answer with tools' : `${error.code} ${error.message}`
