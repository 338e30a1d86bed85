// `--claim NAME=TEXT` and `--claim NAME:=JSON`.
import type { Json } from '../catalog/catalog.ts'
import { CommandFault } from './command.ts'

/** @throws CommandFault */
export function readClaimFlags (pairs: readonly string[]): { readonly [name: string]: Json } {
  const claims = new Map<string, Json>()
  for (const pair of pairs) {
    const match = /^([^=:]+)(:?)=(.*)$/s.exec(pair)
    if (match === null) throw new CommandFault('--claim must be NAME=TEXT or NAME:=JSON')
    const [, name, colon, text] = match as unknown as [string, string, string, string]
    if (claims.has(name)) throw new CommandFault(`--claim ${name} stands twice`)
    claims.set(name, colon === ':' ? parseJson(name, text) : text)
  }
  return Object.fromEntries(claims)
}

function parseJson (name: string, text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    throw new CommandFault(`--claim ${name}:= must be followed by JSON`)
  }
}
