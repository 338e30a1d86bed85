// `aval approvals …`: for people who decide at a terminal. The same endpoints as the page, the same checks, and the same text in the same order.
import type { JsonObject } from '../../catalog/catalog.ts'
import { DENY_CODES } from '../../consent/proposal.ts'
import { effectLine } from '../../consent/effect-view.ts'
import { meaningOf, STATES } from '../../http/people/pages/said.ts'
import { CommandFault, type Ask, type Command, type ExitCode, type Flag } from '../command.ts'
import { peopleClient, type PeopleAnswer, type PeopleClient } from '../people-client.ts'
import { isTypedByAPerson, typedLine } from '../typed-line.ts'
import { moment, pendingLines, proposalLines, type SeenHere } from './proposal-text.ts'
import { sessionPath } from './session-file.ts'
import { toTypeHere } from './to-type.ts'

const FLAGS: { readonly [name: string]: Flag } = {
  url: { type: 'string', value: 'URL', about: 'where people reach the broker (default http://127.0.0.1:8081)' },
  'session-file': { type: 'string', value: 'PATH', about: 'where the sign-in is kept (default ~/.local/state/aval/approvals.json)' },
}
const NONE = { min: 0, max: 0 }
const ONE = { min: 1, max: 1 }

export const approvalsList: Command = {
  name: 'approvals list', summary: 'List the proposals that wait for a decision and that you may see.', usage: '[--url URL]', flags: FLAGS, words: NONE,
  async run (ask) {
    const client = await clientOf(ask)
    const items: SeenHere[] = []
    let cursor: string | null = null
    do {
      const page: JsonObject = answered(await client.ask('GET', `/approvals${cursor === null ? '' : `?cursor=${encodeURIComponent(cursor)}`}`))
      items.push(...page['items'] as unknown as readonly SeenHere[])
      cursor = page['next'] as string | null
    } while (cursor !== null)
    if (ask.json) ask.print(JSON.stringify({ ok: true, items }))
    else if (items.length === 0) ask.tell('nothing waits for a decision')
    else for (const line of pendingLines(items)) ask.print(line)
    return 0
  },
}

export const approvalsShow: Command = {
  name: 'approvals show', summary: 'Show one proposal: what would happen, to what, who asks, and who may decide.', usage: 'PROPOSAL [--url URL]', flags: FLAGS, words: ONE,
  async run (ask) {
    const seen = await view(await clientOf(ask), ask.words[0]!)
    show(ask, seen)
    return 0
  },
}

export const approvalsApprove: Command = {
  name: 'approvals approve', summary: 'Show one proposal and approve it, once you have typed what is asked for.', usage: 'PROPOSAL [--url URL]', flags: FLAGS, words: ONE,
  run: approve,
}

export const approvalsDeny: Command = {
  name: 'approvals deny', summary: 'Deny one proposal. One denial is final.', usage: 'PROPOSAL --because CODE [--words TEXT] [--url URL]', words: ONE,
  flags: {
    because: { type: 'string', value: 'CODE', about: DENY_CODES.join(', ') },
    words: { type: 'string', value: 'TEXT', about: 'why, in your words; the agent is told them' },
    'people-only': { type: 'boolean', about: 'the agent is not told the words' },
    ...FLAGS,
  },
  run: deny,
}

export const approvalsSignOut: Command = {
  name: 'approvals sign-out', summary: 'End the sign-in of this terminal.', usage: '[--url URL]', flags: FLAGS, words: NONE,
  async run (ask) {
    await (await clientOf(ask)).signOut()
    ask.tell('signed out')
    return 0
  },
}

/** A program that runs in the shell of somebody who is signed in, a coding agent say, has their session: it is not to approve by it. */
async function approve (ask: Ask): Promise<ExitCode> {
  if (!isTypedByAPerson()) throw new CommandFault('approve needs a person at a terminal; nothing was approved')
  const client = await clientOf(ask)
  const id = ask.words[0]!
  let seen = await view(client, id)
  if (seen.mayNot === 'sign_in_too_old') {
    await client.signInAgain()
    seen = await view(client, id)
  }
  // With --json the text goes to the person, and the answer alone to the program.
  for (const line of proposalLines(seen)) (ask.json ? ask.tell : ask.print)(line)
  if (seen.mayNot !== null) throw new CommandFault('you may not decide this; see above')
  const wanted = toTypeHere(seen.record, seen.to_type)
  ask.tell(`\n${meaningOf(seen.record)} Type ${effectLine([{ kind: 'slot', of: 'it', value: wanted }])} to approve:`)
  const typed = await typedLine()
  if (typed?.trim() !== wanted.trim()) throw new CommandFault('that is not what was asked for; nothing was approved')
  const confirmed = { none: null, checkbox: 'yes', type_value: wanted }[seen.record.requirement.confirm]
  return report(ask, await client.ask('POST', `/approvals/${seen.record.id}/decision`, {
    ...formOf(seen), digest: seen.record.digest, decision: 'approve', ...(confirmed !== null && { confirmed }),
  }))
}

async function deny (ask: Ask): Promise<ExitCode> {
  const because = ask.flags.text('because')
  if (!DENY_CODES.some(code => code === because)) throw new CommandFault(`--because must be one of ${DENY_CODES.join(', ')}`)
  const client = await clientOf(ask)
  const seen = await view(client, ask.words[0]!)
  const words = ask.flags.text('words')
  return report(ask, await client.ask('POST', `/approvals/${seen.record.id}/decision`, {
    ...formOf(seen), digest: seen.record.digest, decision: 'deny', reason_code: because!, ...(words !== null && { reason: words }),
    visibility: ask.flags.on('people-only') ? 'staff' : 'agent',
  }))
}

function report (ask: Ask, { status, body }: PeopleAnswer): ExitCode {
  if (ask.json) ask.print(JSON.stringify(body))
  if (body['ok'] !== true) {
    if (!ask.json) ask.tell(`your decision was not taken: ${refusedBecause(body) ?? String(body['message'] ?? body['why'] ?? status)}`)
    return 1
  }
  const { state, votes, record } = body as unknown as SeenHere
  const waits = state === 'pending' ? `; ${votes} of ${record.requirement.approve}, it waits for somebody else` : ''
  const already = body['again'] === true ? ' already; what you said first stays' : ''
  if (!ask.json) ask.print(`${record.id} is ${state}${already}${waits}`)
  return 0
}

/** null: it says so itself. */
function refusedBecause (body: JsonObject): string | null {
  const { state, record } = body as unknown as Partial<SeenHere>
  if (state === undefined || record === undefined || state === 'pending') return null
  return `it is already ${STATES[state].toLowerCase()}${record.decidedAtMs === null ? '' : `, since ${moment(record.decidedAtMs)}`}`
}

function show (ask: Ask, seen: SeenHere): void {
  if (ask.json) ask.print(JSON.stringify(seen))
  else for (const line of proposalLines(seen)) ask.print(line)
}

async function clientOf (ask: Ask): Promise<PeopleClient> {
  return peopleClient({
    url: ask.flags.text('url') ?? 'http://127.0.0.1:8081', sessionFile: ask.flags.text('session-file') ?? sessionPath(ask.env), tell: text => ask.tell(text),
  })
}

async function view (client: PeopleClient, id: string): Promise<SeenHere> {
  if (!/^prop_[0-9a-f]{34}$/.test(id)) throw new CommandFault('a proposal is named prop_ and 34 digits, as the list shows it')
  return answered(await client.ask('GET', `/approvals/${id}`)) as unknown as SeenHere
}

function answered ({ status, body }: PeopleAnswer): JsonObject {
  if (body['ok'] === true) return body
  throw new CommandFault(String(body['message'] ?? `the broker refused (${status})`))
}

/** What has to come along with a decision on exactly what was shown. */
const formOf = (seen: SeenHere): { readonly click: string, readonly token: string } =>
  (seen as unknown as { readonly forms: { readonly decision: { readonly click: string, readonly token: string } } }).forms.decision
