// What a command of `aval` is: a row of the table in cli.ts.
import type { Config, Environment } from '../config.ts'
import type { Broker, BrokerOptions } from './broker.ts'

/** 0: clean. 1: it ran and found something, or the answer was not ok. 2: it could not run. */
export type ExitCode = 0 | 1 | 2

export interface Flag {
  readonly type: 'string' | 'boolean'
  /** May stand more than once. */
  readonly multiple?: true
  /** What stands for its value in the usage, `PATH`. */
  readonly value?: string
  readonly about: string
}

export interface Command {
  /** One or two words, `runs stop`. */
  readonly name: string
  /** One line, for the list of commands. */
  readonly summary: string
  /** What stands after the name, `ACTION [--arg NAME=VALUE]…`. */
  readonly usage: string
  readonly flags: { readonly [name: string]: Flag }
  /** It colours its own lines, so it must print nothing that others wrote. All else that is printed is made safe for a terminal. */
  readonly coloured?: true
  /** Words after the name that are no flags. */
  readonly words: { readonly min: number, readonly max: number }
  /** @throws CommandFault */
  run (ask: Ask): Promise<ExitCode>
}

/** How a command was asked. */
export interface Ask {
  readonly words: readonly string[]
  readonly flags: FlagValues
  /** `--json`: what goes to stdout is one JSON value. */
  readonly json: boolean
  readonly env: Environment
  /** A line on stdout: findings and answers only. */
  print (text: string): void
  /** A line on stderr: all else. */
  tell (text: string): void
  /** The composition root, handed in by cli.ts, which alone stands above it. */
  startBroker (config: Config, options?: BrokerOptions): Promise<Broker>
}

export interface FlagValues {
  text (name: string): string | null
  texts (name: string): readonly string[]
  on (name: string): boolean
}

/** The command could not run: exit code 2. The message is for the person who typed it. */
export class CommandFault extends Error {
  override readonly name = 'CommandFault'
}

/** Of every command. */
export const SHARED_FLAGS: { readonly [name: string]: Flag } = {
  json: { type: 'boolean', about: 'print one JSON value instead of text' },
  help: { type: 'boolean', about: 'show this and do nothing' },
}

/** `30s`, `15m` or `8h` in seconds. @throws CommandFault */
export function parseSeconds (name: string, text: string): number {
  const match = /^([1-9][0-9]{0,6})(s|m|h)$/.exec(text)
  if (match === null) throw new CommandFault(`--${name} must be like 30s, 15m or 8h`)
  return Number(match[1]) * { s: 1, m: 60, h: 3_600 }[match[2] as 's' | 'm' | 'h']
}
