// `aval schema`: the JSON Schema of the files that people write for Aval, for editors.
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'
import { printSchema, SCHEMA_KINDS } from './schema.ts'

export const schema: Command = {
  name: 'schema',
  summary: 'Print the JSON Schema of a file that a platform team or an operator writes.',
  usage: SCHEMA_KINDS.join('|'),
  flags: {},
  words: { min: 1, max: 1 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const kind = SCHEMA_KINDS.find(known => known === ask.words[0])
  if (kind === undefined) throw new CommandFault(`there is a schema for ${SCHEMA_KINDS.join(', ')}`)
  ask.print(printSchema(kind).trimEnd())
  return 0
}
