// `aval state accept-loss`: a person does without what replicas that are gone could have told a store that has lost something.
import type { Json } from '../catalog/catalog.ts'
import { askBroker } from './broker-control.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'

export const stateAcceptLoss: Command = {
  name: 'state accept-loss',
  summary: 'End the quarantine after a loss of the state without the replicas that are missing. What they sent may then be sent again.',
  usage: '--note TEXT',
  flags: {
    note: { type: 'string', value: 'TEXT', about: 'why what they know can be done without; the log keeps it' },
  },
  words: { min: 0, max: 0 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const note = ask.flags.text('note')?.trim() ?? ''
  if (note === '') throw new CommandFault('--note is missing: say why what they know can be done without')
  const result = await askBroker(ask, { command: 'state accept-loss', note }) as { readonly accepted: boolean, readonly without: readonly string[] } & { [name: string]: Json }
  if (ask.json) ask.print(JSON.stringify(result))
  else ask.tell(result.accepted ? `the loss is accepted, without what ${result.without.join(', ') || 'nobody'} could tell` : 'the state is not in quarantine')
  return 0
}
