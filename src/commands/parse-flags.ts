// The words behind a command's name, by its own table of flags. An unknown flag is refused with the one that was probably meant.
import { parseArgs } from 'node:util'
import { nearest } from '../nearest.ts'
import { CommandFault, SHARED_FLAGS, type Command, type FlagValues } from './command.ts'

export interface ParsedWords {
  readonly words: readonly string[]
  readonly flags: FlagValues
}

/** @throws CommandFault */
export function parseFlags (command: Pick<Command, 'name' | 'usage' | 'flags' | 'words'>, argv: readonly string[]): ParsedWords {
  const known = { ...SHARED_FLAGS, ...command.flags }
  const options = Object.fromEntries(Object.entries(known).map(([name, flag]) => [name, { type: flag.type, multiple: true as const }]))
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, allowPositionals: true, tokens: true })
  const values = new Map<string, string[]>()
  const words: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option') continue
    const flag = Object.hasOwn(known, token.name) ? known[token.name]! : null
    if (flag === null) throw new CommandFault(unknownFlag(command.name, token.rawName, token.name, Object.keys(known)))
    if (flag.type === 'boolean' && token.value !== undefined) throw new CommandFault(`--${token.name} takes no value`)
    // A value that looks like a flag is nearly always a forgotten value; `--arg=-1` says that it is meant.
    if (flag.type === 'string' && (token.value === undefined || (!token.inlineValue && token.value.startsWith('-') && token.value !== '-'))) {
      const hint = token.value === undefined ? '' : `; write --${token.name}=${token.value} if that is it`
      throw new CommandFault(`--${token.name} needs a value${hint}`)
    }
    const earlier = values.get(token.name) ?? []
    if (earlier.length > 0 && flag.multiple !== true) throw new CommandFault(`--${token.name} stands twice`)
    values.set(token.name, [...earlier, token.value ?? ''])
  }
  // Help is given however wrong the rest is.
  if (!values.has('help')) checkWords(command, words)
  return {
    words,
    flags: {
      text: name => values.get(name)?.[0] ?? null,
      texts: name => values.get(name) ?? [],
      on: name => values.has(name),
    },
  }
}

function checkWords (command: Pick<Command, 'name' | 'usage' | 'words'>, words: readonly string[]): void {
  const { min, max } = command.words
  // The usage begins with the words that must stand there.
  if (words.length < min) throw new CommandFault(`${command.usage.split(' ')[words.length]} is missing; see aval ${command.name} --help`)
  if (words.length > max) throw new CommandFault(`there is a word too many, ${words[max]}; see aval ${command.name} --help`)
}

function unknownFlag (command: string, written: string, name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  return `${command} has no ${written}${near === null ? '' : `; did you mean --${near}?`}`
}
