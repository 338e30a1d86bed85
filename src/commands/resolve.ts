// `aval resolve`: a person who has looked into the upstream says what became of an attempt.
import { askBroker } from './broker-control.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'

export const resolve: Command = {
  name: 'resolve',
  summary: 'Settle an attempt whose outcome is not known, after looking into the upstream.',
  usage: 'ATTEMPT --outcome completed|rejected --note TEXT',
  flags: {
    outcome: { type: 'string', value: 'OUTCOME', about: 'completed: it took effect; rejected: it did not' },
    code: { type: 'string', value: 'CODE', about: 'for rejected: why, an error code of the sheet or of an outcome; NOT_APPLIED where it is absent' },
    note: { type: 'string', value: 'TEXT', about: 'how you know; the audit keeps it' },
  },
  words: { min: 1, max: 1 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const outcome = ask.flags.text('outcome')
  const note = ask.flags.text('note')?.trim() ?? ''
  if (outcome !== 'completed' && outcome !== 'rejected') throw new CommandFault('--outcome must be completed or rejected')
  const code = ask.flags.text('code')
  if (outcome === 'completed' && code !== null) throw new CommandFault('--code says why a call was rejected; what is completed has none')
  if (note === '') throw new CommandFault('--note is missing: say how you know')
  const result = await askBroker(ask, { command: 'resolve', id: ask.words[0]!, outcome, code, note })
  if (ask.json) ask.print(JSON.stringify(result))
  else ask.tell(`${ask.words[0]} is settled as ${outcome}`)
  return 0
}
