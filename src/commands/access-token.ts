// Where a command that acts as an agent finds the broker and its own access token.
import { readFile } from 'node:fs/promises'
import { CommandFault, type Ask, type Flag } from './command.ts'

export const DEFAULT_URL = 'http://127.0.0.1:8080'

export const CLIENT_FLAGS: { readonly [name: string]: Flag } = {
  url: { type: 'string', value: 'URL', about: `where agents are served; ${DEFAULT_URL} where it is absent` },
  token: { type: 'string', value: 'TOKEN', about: 'the access token; others on this machine may see it in the list of processes' },
  'token-file': { type: 'string', value: 'PATH', about: 'a file with the access token' },
}

/** @throws CommandFault */
export async function accessToken (ask: Ask): Promise<string> {
  const token = ask.flags.text('token')
  const file = ask.flags.text('token-file')
  if ((token === null) === (file === null)) throw new CommandFault('give either --token or --token-file')
  if (token !== null) return token
  try {
    return (await readFile(file!, 'utf8')).trim()
  } catch (error) {
    throw new CommandFault(`the token file cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}
