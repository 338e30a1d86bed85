// What opens the vault, for the commands that work on its file: an identity, a passphrase of a file, or one that is typed.
import { closeSync, openSync } from 'node:fs'
import { ReadStream, WriteStream } from 'node:tty'
import type { AgeKey } from '../credentials/age.ts'
import { readKey, VaultFault } from '../credentials/vault-file.ts'
import { CommandFault, type Ask } from './command.ts'

/** Longer ones are pasted by mistake. */
const TYPED_MAX = 1_000

export const KEY_FLAGS = {
  'identity-file': { type: 'string', value: 'PATH', about: 'an identity of age, as age-keygen writes it' },
  'passphrase-file': { type: 'string', value: 'PATH', about: 'a file that holds the passphrase; without either it is asked for' },
} as const

/** null: neither flag was given. @throws CommandFault */
export async function keyOfFlags (ask: Ask, prefix = ''): Promise<AgeKey | null> {
  const identity = ask.flags.text(`${prefix}identity-file`)
  const passphrase = ask.flags.text(`${prefix}passphrase-file`)
  if (identity !== null && passphrase !== null) throw new CommandFault(`--${prefix}identity-file and --${prefix}passphrase-file exclude each other`)
  if (identity !== null) return faultless(() => readKey('identity', identity))
  return passphrase === null ? null : faultless(() => readKey('passphrase', passphrase))
}

/** @throws CommandFault for what is wrong with the vault */
export async function faultless<Value> (work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof VaultFault ? new CommandFault(error.message) : error
  }
}

/** Asked for on the terminal itself, for the value of a secret may come by stdin; nothing of it is shown. @throws CommandFault */
export async function typedPassphrase (prompt: string): Promise<AgeKey> {
  let descriptor: number
  try {
    descriptor = openSync('/dev/tty', 'r+')
  } catch {
    throw new CommandFault('there is no terminal to ask for the passphrase: give --passphrase-file or --identity-file')
  }
  const [input, output] = [new ReadStream(descriptor), new WriteStream(descriptor)]
  try {
    input.setRawMode(true)
    output.write(prompt)
    const value = await lineOf(input)
    if (value === '') throw new CommandFault('no passphrase was typed')
    return { kind: 'passphrase', value }
  } finally {
    input.setRawMode(false)
    output.write('\n')
    input.destroy()
    closeQuietly(descriptor)
  }
}

function lineOf (input: ReadStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let typed = ''
    input.setEncoding('utf8').on('data', (chunk: string) => {
      for (const letter of chunk) {
        if (letter === '\r' || letter === '\n' || letter === '\u0004') return resolve(typed)
        if (letter === '\u0003') return reject(new CommandFault('nothing was done'))
        if (letter === '\u007f' || letter === '\b') typed = [...typed].slice(0, -1).join('')
        else if (typed.length < TYPED_MAX) typed += letter
      }
    })
    input.once('error', reject)
  })
}

function closeQuietly (descriptor: number): void {
  try {
    closeSync(descriptor)
  } catch {
    // The stream has closed it already.
  }
}
