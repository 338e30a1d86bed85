#!/usr/bin/env -S node --max-semi-space-size=32
// The `aval` command: a table of commands. Findings go to stdout, all else to stderr.
// Exit codes: 0 clean, 1 findings or an answer that is not ok, 2 could not run.
import { readEnvironment, ConfigFaults } from './config.ts'
import { nearest } from './nearest.ts'
import { CommandFault, SHARED_FLAGS, type Ask, type Command, type ExitCode, type Flag } from './commands/command.ts'
import { parseFlags } from './commands/parse-flags.ts'
import { safely } from './commands/terminal.ts'

/** Each is loaded when it is asked for: `aval serve` pays for nothing that only other commands need. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./commands/serve.ts')).serve,
  demo: async () => (await import('./commands/demo.ts')).demo,
  token: async () => (await import('./commands/token-command.ts')).token,
  call: async () => (await import('./commands/call.ts')).call,
  import: async () => (await import('./commands/import.ts')).importCommand,
  mock: async () => (await import('./commands/mock.ts')).mock,
  explain: async () => (await import('./commands/explain.ts')).explain,
  probe: async () => (await import('./commands/probe.ts')).probeCommand,
  lint: async () => (await import('./commands/lint.ts')).lint,
  test: async () => (await import('./commands/test.ts')).test,
  diff: async () => (await import('./commands/diff.ts')).diff,
  lock: async () => (await import('./commands/lock.ts')).lock,
  replay: async () => (await import('./commands/replay.ts')).replayCommand,
  eval: async () => (await import('./commands/eval.ts')).evaluate,
  export: async () => (await import('./commands/export.ts')).exportTools,
  schema: async () => (await import('./commands/schema-command.ts')).schema,
  'approvals list': async () => (await import('./commands/approvals/approvals.ts')).approvalsList,
  'approvals show': async () => (await import('./commands/approvals/approvals.ts')).approvalsShow,
  'approvals approve': async () => (await import('./commands/approvals/approvals.ts')).approvalsApprove,
  'approvals deny': async () => (await import('./commands/approvals/approvals.ts')).approvalsDeny,
  'approvals sign-out': async () => (await import('./commands/approvals/approvals.ts')).approvalsSignOut,
  attempts: async () => (await import('./commands/attempts.ts')).attempts,
  resolve: async () => (await import('./commands/resolve.ts')).resolve,
  reload: async () => (await import('./commands/reload.ts')).reload,
  'runs stop': async () => (await import('./commands/runs-stop.ts')).runsStop,
  'state accept-loss': async () => (await import('./commands/state-accept-loss.ts')).stateAcceptLoss,
  'vault init': async () => (await import('./commands/vault-file.ts')).vaultInit,
  'vault set': async () => (await import('./commands/vault-file.ts')).vaultSet,
  'vault list': async () => (await import('./commands/vault-file.ts')).vaultList,
  'vault rotate': async () => (await import('./commands/vault-file.ts')).vaultRotate,
  'vault lock': async () => (await import('./commands/vault.ts')).vaultLock,
  'vault unlock': async () => (await import('./commands/vault.ts')).vaultUnlock,
  'vault status': async () => (await import('./commands/vault.ts')).vaultStatus,
  'audit verify': async () => (await import('./commands/audit-verify.ts')).auditVerify,
  'audit missing': async () => (await import('./commands/audit-missing.ts')).auditMissing,
}
const NAMES = Object.keys(COMMANDS)

/** All of them, in the order of the list. */
export const commands = (): Promise<readonly Command[]> =>
  Promise.all(Object.values(COMMANDS).map(load => load()))

export async function main (argv: readonly string[], terminal: Omit<Ask, 'words' | 'flags' | 'json'>): Promise<ExitCode> {
  const command = await find(argv)
  const io = command?.coloured === true ? terminal : safely(terminal)
  if (command === null) {
    const wanted = argv[0] === '--help' || argv[0] === 'help'
    if (wanted) io.print(await overview())
    else io.tell(argv.length === 0 ? await overview() : await unknownCommand(argv))
    return wanted ? 0 : 2
  }
  try {
    const { words, flags } = parseFlags(command, argv.slice(command.name.split(' ').length))
    if (flags.on('help')) {
      io.print(help(command))
      return 0
    }
    return await command.run({ ...io, words, flags, json: flags.on('json') })
  } catch (error) {
    if (error instanceof CommandFault) io.tell(`aval ${command.name}: ${error.message}`)
    else if (error instanceof ConfigFaults) io.tell(error.message)
    else throw error
    return 2
  }
}

async function find (argv: readonly string[]): Promise<Command | null> {
  const name = NAMES.find(name => name === argv.slice(0, name.split(' ').length).join(' '))
  return name === undefined ? null : COMMANDS[name]!()
}

async function overview (): Promise<string> {
  const width = Math.max(...NAMES.map(name => name.length))
  const lines = (await commands()).map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`)
  return ['aval COMMAND', '', ...lines, '', 'aval COMMAND --help says more.'].join('\n')
}

function help (command: Command): string {
  const rows = Object.entries({ ...command.flags, ...SHARED_FLAGS }).map(([name, flag]) => [written(name, flag), flag.about] as const)
  const width = Math.max(...rows.map(([flag]) => flag.length))
  const lines = rows.map(([flag, about]) => `  ${flag.padEnd(width)}  ${about}`)
  return [`aval ${command.name} ${command.usage}`.trimEnd(), '', command.summary, '', ...lines].join('\n')
}

function written (name: string, flag: Flag): string {
  const value = flag.type === 'string' ? ` ${flag.value ?? 'TEXT'}` : ''
  return `--${name}${value}${flag.multiple === true ? ' …' : ''}`
}

async function unknownCommand (argv: readonly string[]): Promise<string> {
  const asked = argv[0]!
  const half = argv.slice(1).some(word => !word.startsWith('-')) ? [] : NAMES.filter(name => name.startsWith(`${asked} `))
  if (half.length > 0) return `aval ${asked} is half a command: ${half.map(name => `aval ${name}`).join(', ')}`
  const near = nearest(argv.slice(0, 2).join(' '), NAMES) ?? nearest(asked, NAMES)
  return `there is no command ${asked}${near === null ? '' : `; did you mean aval ${near}?`}\n\n${await overview()}`
}

if (import.meta.main) {
  // Whoever closed the pipe wants no more of it; what is under way is finished all the same.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  const terminal = {
    print: (text: string): unknown => process.stdout.write(`${text}\n`),
    tell: (text: string): unknown => process.stderr.write(`${text}\n`),
  }
  process.exitCode = await main(process.argv.slice(2), {
    ...terminal,
    env: readEnvironment(),
    // Only what starts a broker pays for loading one.
    startBroker: async (config, options) => (await import('./main.ts')).startBroker(config, options),
  }).catch((error: unknown) => {
    safely(terminal).tell(error instanceof Error ? error.stack ?? error.message : String(error))
    return 2
  })
}
