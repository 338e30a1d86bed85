// `aval runs stop`: no further call of a run is admitted.
import { askBroker } from './broker-control.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'

export const runsStop: Command = {
  name: 'runs stop',
  summary: 'Stop a run: none of its further calls is admitted, on any replica. It cannot be taken back.',
  usage: 'RUN --sub SUB [--issuer ISS] [--tenant TENANT] [--note TEXT]',
  flags: {
    sub: { type: 'string', value: 'SUB', about: 'the agent whose run it is' },
    issuer: { type: 'string', value: 'ISS', about: 'iss of its tokens; that of the broker where it is absent' },
    note: { type: 'string', value: 'TEXT', about: 'why; operators and the audit are told' },
    tenant: { type: 'string', value: 'TENANT', about: 'its tenant; `default` where it is absent' },
  },
  words: { min: 1, max: 1 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const sub = ask.flags.text('sub')
  if (sub === null) throw new CommandFault('--sub is missing')
  const note = ask.flags.text('note')?.trim() || null
  const result = await askBroker(ask, { command: 'runs stop', iss: ask.flags.text('issuer'), sub, tenant: ask.flags.text('tenant') ?? 'default', run: ask.words[0]!, ...note !== null && { note } }) as { readonly seen: boolean }
  if (ask.json) ask.print(JSON.stringify(result))
  else if (result.seen) ask.tell(`run ${ask.words[0]} of ${sub} is stopped`)
  else ask.tell(`no write and no proposal of a run ${ask.words[0]} of ${sub} has been seen; if it comes, it is refused`)
  return 0
}
