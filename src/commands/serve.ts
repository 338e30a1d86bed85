// `aval serve`: the broker, until it is told to end.
import { readConfig } from '../config.ts'
import type { Broker } from './broker.ts'
import type { Ask, Command, ExitCode } from './command.ts'
import { toldToEnd } from './ending.ts'
import { started } from './starting.ts'

export const serve: Command = {
  name: 'serve',
  summary: 'Run the broker. It is configured by AVAL_* variables alone.',
  usage: '',
  flags: {},
  words: { min: 0, max: 0 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const config = readConfig(ask.env)
  // Listening for signals starts before the broker does: a signal during a slow start must not be lost.
  const ended = toldToEnd()
  // SIGHUP would end the process where nobody listens for it: before there is anything to reload, and while the last calls are finished.
  let reload = (): void => {}
  process.on('SIGHUP', () => { reload() })
  const broker = await started(ask, () => ask.startBroker(config))
  reload = () => { void reloaded(ask, broker) }
  if (ask.json) ask.print(JSON.stringify({ agents: broker.agentsUrl, people: broker.peopleUrl, operations: broker.operationsUrl, control: broker.controlPath }))
  else ask.tell(`aval serves agents on ${broker.agentsUrl}, ${broker.peopleUrl === null ? '' : `people on ${broker.peopleUrl}, `}operations on ${broker.operationsUrl}, control on ${broker.controlPath}`)
  await ended
  reload = () => {}
  ask.tell('aval finishes what is under way; a second signal ends it at once')
  await broker.close()
  return 0
}

async function reloaded (ask: Ask, broker: Broker): Promise<void> {
  try {
    await broker.reload()
    ask.tell('the catalog was reloaded')
  } catch (error) {
    ask.tell(`the catalog stays as it was:\n${error instanceof Error ? error.message : String(error)}`)
  }
}
