// `aval audit missing`: names of actions that agents asked for and nobody offers. They are the agents' own words.
import { surveyCatalog } from '../catalog/load.ts'
import { readLocalConfig } from '../config.ts'
import { nearest } from '../nearest.ts'
import { askedActions, type AskedAction, type AskedActions } from '../telemetry/asked-actions.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'

export const auditMissing: Command = {
  name: 'audit missing',
  summary: 'List the names of actions that agents asked for and nobody offers, from an audit folder. Exit code 1 where there are any.',
  usage: 'FOLDER',
  flags: {},
  words: { min: 1, max: 1 },
  run,
}

interface Missing extends AskedAction {
  /** The action of today's catalog that was most likely meant. */
  readonly near: string | null
}

async function run (ask: Ask): Promise<ExitCode> {
  const { asked, faults } = await read(ask.words[0]!)
  const offered = await offeredNow(ask)
  const missing = asked.filter(({ name }) => !offered.includes(name)).map((one): Missing => ({ ...one, near: nearest(one.name, offered) }))
  for (const { writer, fault } of faults) ask.tell(`${writer} was read up to row ${fault.seq}: ${fault.message}; aval audit verify says more`)
  if (ask.json) ask.print(JSON.stringify({ ok: missing.length === 0, missing: missing.map(asJson) }))
  else for (const line of missing.map(lineOf)) ask.print(line)
  if (missing.length === 0) ask.tell('no agent asked for an action that nobody offers')
  return missing.length > 0 ? 1 : 0
}

async function read (folder: string): Promise<AskedActions> {
  try {
    return await askedActions(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new CommandFault(`the folder ${folder} cannot be read (${code})`)
  }
}

/** What the sheets here offer, faulty ones too: an action that is being written is not missing. */
async function offeredNow (ask: Ask): Promise<readonly string[]> {
  const { sheets } = await surveyCatalog(readLocalConfig(ask.env))
  return sheets.map(({ id }) => id)
}

function lineOf ({ name, count, runs, agents, lastTime, near }: Missing): string {
  const hint = near === null ? '' : `; near ${near}`
  const counted = (n: number, word: string): string => `${n} ${word}${n === 1 ? '' : 's'}`
  return `${JSON.stringify(name)} ${counted(count, 'time')}, by ${counted(agents, 'agent')} in ${counted(runs, 'run')}, last ${lastTime}${hint}`
}

const asJson = ({ firstTime, lastTime, ...rest }: Missing): object => ({ ...rest, first_time: firstTime, last_time: lastTime })
