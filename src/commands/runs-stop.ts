// `aval runs stop`: no further call of a run is admitted.
import { askBroker } from './broker-control.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'

export const runsStop: Command = {
  name: 'runs stop',
  summary: 'Stop a run: none of its further calls is admitted, on any replica. It cannot be taken back.',
  usage: 'RUN --sub SUB [--issuer ISS] [--tenant TENANT]',
  flags: {
    sub: { type: 'string', value: 'SUB', about: 'the agent whose run it is' },
    issuer: { type: 'string', value: 'ISS', about: 'iss of its tokens; AVAL_ISSUER where it is absent' },
    tenant: { type: 'string', value: 'TENANT', about: 'its tenant; `default` where it is absent' },
  },
  words: { min: 1, max: 1 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const sub = ask.flags.text('sub')
  const iss = ask.flags.text('issuer') ?? ask.env['AVAL_ISSUER'] ?? null
  if (sub === null) throw new CommandFault('--sub is missing')
  if (iss === null) throw new CommandFault('--issuer is missing, and AVAL_ISSUER is not set')
  const result = await askBroker(ask, { command: 'runs stop', iss, sub, tenant: ask.flags.text('tenant') ?? 'default', run: ask.words[0]! })
  if (ask.json) ask.print(JSON.stringify(result))
  else ask.tell(`run ${ask.words[0]} of ${sub} is stopped`)
  return 0
}
