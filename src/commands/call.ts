// `aval call`: one call of an action on a running broker, as an agent would make it.
import type { Envelope } from '../execution/envelope.ts'
import { accessToken, CLIENT_FLAGS, DEFAULT_URL } from './access-token.ts'
import { brokerClient, type BrokerClient } from './broker-client.ts'
import { CommandFault, parseSeconds, type Ask, type Command, type ExitCode } from './command.ts'

export const call: Command = {
  name: 'call',
  summary: 'Call an action of a running broker and print what it answers. Exit code 1 where the answer is not ok.',
  usage: 'ACTION [--arg NAME=TEXT | --arg NAME:=JSON]… --token-file PATH',
  flags: {
    arg: { type: 'string', multiple: true, value: 'NAME=TEXT', about: 'an argument: NAME=TEXT sends text, NAME:=JSON sends JSON' },
    key: { type: 'string', value: 'KEY', about: 'the Idempotency-Key header' },
    reason: { type: 'string', value: 'TEXT', about: 'why; kept as untrusted text' },
    wait: { type: 'string', value: '30s', about: 'where the outcome is not settled yet, ask for it this long' },
    ...CLIENT_FLAGS,
  },
  words: { min: 1, max: 1 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const body = callBody(ask.flags.texts('arg'), ask.flags.text('reason'))
  const waitText = ask.flags.text('wait')
  const waitMs = waitText === null ? 0 : parseSeconds('wait', waitText) * 1000
  const client = brokerClient(ask.flags.text('url') ?? DEFAULT_URL, await accessToken(ask))
  const key = ask.flags.text('key')
  const first = await client.ask('POST', `/v1/actions/${encodeURIComponent(ask.words[0]!)}`, { body, ...(key !== null && { idempotencyKey: key }) })
  const envelope = await settled(client, first.body, waitMs)
  ask.print(JSON.stringify(envelope, null, ask.json ? 0 : 2))
  return envelope.ok ? 0 : 1
}

/**
 * JSON is passed on as it was typed: parsing and printing it again would round big numbers before the broker could refuse them.
 * @throws CommandFault
 */
export function callBody (pairs: readonly string[], reason: string | null): string {
  const members = new Map<string, string>()
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    const isJson = at > 0 && pair[at - 1] === ':'
    const name = pair.slice(0, isJson ? at - 1 : Math.max(at, 0))
    if (name === '') throw new CommandFault('--arg must be NAME=TEXT or NAME:=JSON')
    if (members.has(name)) throw new CommandFault(`--arg ${name} stands twice`)
    const text = pair.slice(at + 1)
    if (isJson && !isValidJson(text)) throw new CommandFault(`--arg ${name}:= must be followed by JSON`)
    members.set(name, isJson ? text : JSON.stringify(text))
  }
  const args = [...members].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')
  return `{"arguments":{${args}}${reason === null ? '' : `,"reason":${JSON.stringify(reason)}`}}`
}

function isValidJson (text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Follows `next` until the outcome is settled or the time is over; the last envelope says which. */
async function settled (client: BrokerClient, first: Envelope, waitMs: number): Promise<Envelope> {
  const endMs = performance.now() + waitMs
  let envelope = first
  while (envelope.next !== undefined && performance.now() < endMs) {
    const seconds = Math.max(1, Math.min(30, Math.round((endMs - performance.now()) / 1000)))
    envelope = (await client.ask('GET', `${envelope.next.path}?wait=${seconds}s`)).body
  }
  return envelope
}
