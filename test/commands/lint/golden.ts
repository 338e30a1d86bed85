// What `aval lint` prints of the folder beside this file, as files: `node test/commands/lint/golden.ts` writes them anew, and the test compares.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { main } from '../../../src/cli.ts'
import type { Environment } from '../../../src/config.ts'

const HERE = import.meta.dirname
export const ACTIONS = join('test', 'commands', 'lint', 'actions')

/** By the name of the golden file: the flags that print it. */
export const WAYS: Readonly<Record<string, readonly string[]>> = {
  'report.txt': [],
  'report.json': ['--json'],
  'report.sarif': ['--sarif'],
  'github.txt': ['--github'],
  'tools.txt': ['--mcp', join('test', 'commands', 'lint', 'tools.json')],
}

export interface Told { readonly code: number, readonly out: string, readonly err: string }

export async function run (argv: readonly string[], env: Environment = {}): Promise<Told> {
  let [out, err] = ['', '']
  const code = await main(argv, {
    env,
    print: text => { out += `${text}\n` },
    tell: text => { err += `${text}\n` },
    startBroker: () => { throw new Error('nothing here starts a broker') },
  })
  return { code, out, err }
}

export const lintAs = (flags: readonly string[]): Promise<Told> => run(['lint', ...(flags.includes('--mcp') ? [] : [ACTIONS]), ...flags])

export const golden = (name: string): string => readFileSync(join(HERE, 'golden', name), 'utf8')

if (import.meta.main) {
  for (const [name, flags] of Object.entries(WAYS)) writeFileSync(join(HERE, 'golden', name), (await lintAs(flags)).out)
}
