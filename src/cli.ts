#!/usr/bin/env -S node --max-semi-space-size=32
// The `aval` command: a table of commands. Findings go to stdout, all else to stderr.
// Exit codes: 0 clean, 1 findings or an answer that is not ok, 2 could not run.
import { readEnvironment, ConfigFaults } from './config.ts'
import { nearest } from './nearest.ts'
import { CommandFault, SHARED_FLAGS, type Ask, type Command, type ExitCode, type Flag } from './commands/command.ts'
import { parseFlags } from './commands/parse-flags.ts'
import { approvalsApprove, approvalsDeny, approvalsList, approvalsShow, approvalsSignOut } from './commands/approvals/approvals.ts'
import { attempts } from './commands/attempts.ts'
import { auditMissing } from './commands/audit-missing.ts'
import { auditVerify } from './commands/audit-verify.ts'
import { call } from './commands/call.ts'
import { demo } from './commands/demo.ts'
import { diff } from './commands/diff.ts'
import { evaluate } from './commands/eval.ts'
import { explain } from './commands/explain.ts'
import { exportTools } from './commands/export.ts'
import { importCommand } from './commands/import.ts'
import { lint } from './commands/lint.ts'
import { lock } from './commands/lock.ts'
import { mock } from './commands/mock.ts'
import { probeCommand } from './commands/probe.ts'
import { reload } from './commands/reload.ts'
import { replayCommand } from './commands/replay.ts'
import { resolve } from './commands/resolve.ts'
import { runsStop } from './commands/runs-stop.ts'
import { schema } from './commands/schema-command.ts'
import { serve } from './commands/serve.ts'
import { stateAcceptLoss } from './commands/state-accept-loss.ts'
import { safely } from './commands/terminal.ts'
import { test } from './commands/test.ts'
import { token } from './commands/token-command.ts'
import { vaultInit, vaultList, vaultRotate, vaultSet } from './commands/vault-file.ts'
import { vaultLock, vaultStatus, vaultUnlock } from './commands/vault.ts'

export const COMMANDS: readonly Command[] = [
  serve, demo, token, call,
  importCommand, mock, explain, probeCommand,
  lint,
  test, diff, lock, replayCommand, evaluate,
  exportTools, schema,
  approvalsList, approvalsShow, approvalsApprove, approvalsDeny, approvalsSignOut,
  attempts, resolve, reload, runsStop, stateAcceptLoss,
  vaultInit, vaultSet, vaultList, vaultRotate, vaultLock, vaultUnlock, vaultStatus,
  auditVerify, auditMissing,
]

export async function main (argv: readonly string[], terminal: Omit<Ask, 'words' | 'flags' | 'json'>): Promise<ExitCode> {
  const command = find(argv)
  const io = command?.coloured === true ? terminal : safely(terminal)
  if (command === null) {
    const wanted = argv[0] === '--help' || argv[0] === 'help'
    if (wanted) io.print(overview())
    else io.tell(argv.length === 0 ? overview() : unknownCommand(argv))
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

function find (argv: readonly string[]): Command | null {
  return COMMANDS.find(({ name }) => name === argv.slice(0, name.split(' ').length).join(' ')) ?? null
}

function overview (): string {
  const width = Math.max(...COMMANDS.map(({ name }) => name.length))
  const lines = COMMANDS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`)
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

function unknownCommand (argv: readonly string[]): string {
  const asked = argv[0]!
  const names = COMMANDS.map(({ name }) => name)
  const half = argv.slice(1).some(word => !word.startsWith('-')) ? [] : names.filter(name => name.startsWith(`${asked} `))
  if (half.length > 0) return `aval ${asked} is half a command: ${half.map(name => `aval ${name}`).join(', ')}`
  const near = nearest(argv.slice(0, 2).join(' '), names) ?? nearest(asked, names)
  return `there is no command ${asked}${near === null ? '' : `; did you mean aval ${near}?`}\n\n${overview()}`
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
