// `aval reload`: a good set of sheets takes the place of the one in force; a bad one changes nothing and says why.
import { tellBroker } from './broker-control.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'

export const reload: Command = {
  name: 'reload',
  summary: 'Make the running broker read its sheets anew. Exit code 1 where they have faults; the old ones stay.',
  usage: '',
  flags: {},
  words: { min: 0, max: 0 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const answer = await tellBroker(ask, { command: 'reload' })
  if (answer.ok) {
    if (ask.json) ask.print(JSON.stringify({ ok: true, result: answer.result }))
    else {
      const { actions, changed } = answer.result as { readonly actions: number, readonly changed: boolean }
      ask.tell(`the catalog was reloaded: ${counted(actions, 'action')}${changed ? '' : '; nothing is different'}`)
    }
    return 0
  }
  const { code, message, faults } = answer.error
  if (faults === undefined) throw new CommandFault(`${code}: ${message}`)
  if (ask.json) ask.print(JSON.stringify({ ok: false, faults }))
  else for (const { file, line, column, rule, message: text } of faults) ask.print(`${file}:${line}:${column} ${rule} ${text}`)
  ask.tell(`the catalog stays as it was: ${counted(faults.length, 'fault')}`)
  return 1
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`
