// `aval attempts`: what the broker does not know the end of yet.
import type { Json, JsonObject } from '../catalog/catalog.ts'
import { plainLine, renderUntrusted } from '../consent/untrusted.ts'
import { askBroker } from './broker-control.ts'
import type { Ask, Command, ExitCode } from './command.ts'

export const attempts: Command = {
  name: 'attempts',
  summary: 'List the attempts that are not settled, oldest first. With --unknown, exit code 1 where there is any.',
  usage: '[--unknown]',
  flags: {
    unknown: { type: 'boolean', about: 'only those whose outcome is unknown or waits for a person' },
  },
  words: { min: 0, max: 0 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const unknown = ask.flags.on('unknown')
  const result = await askBroker(ask, { command: 'attempts', unknown })
  const rows = rowsOf(result)
  if (ask.json) ask.print(JSON.stringify(result))
  else if (rows.length > 0) for (const line of table(rows)) ask.print(line)
  else ask.tell(unknown ? 'no attempt has an unknown outcome' : 'every attempt is settled')
  return unknown && rows.length > 0 ? 1 : 0
}

function rowsOf (result: Json): readonly JsonObject[] {
  const { attempts: rows } = result as { readonly attempts: readonly JsonObject[] }
  return rows
}

/** What finds the call in the upstream; `--json` has the rest. */
const COLUMNS = ['attempt', 'state', 'action', 'tenant', 'run', 'unknown_at', 'upstream_key', 'missing'] as const

function table (rows: readonly JsonObject[]): readonly string[] {
  const cells = [[...COLUMNS], ...rows.map(row => COLUMNS.map(name => cell(row[name])))]
  const widths = COLUMNS.map((_, column) => Math.max(...cells.map(row => row[column]!.length)))
  return cells.map(row => row.map((text, column) => text.padEnd(widths[column]!)).join('  ').trimEnd())
}

/** What came from an upstream may hold anything. */
function cell (value: Json | undefined): string {
  if (value === undefined || value === null) return '-'
  return typeof value === 'string' ? plainLine(renderUntrusted(value)) : JSON.stringify(value)
}
