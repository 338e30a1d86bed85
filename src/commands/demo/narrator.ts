// How the tour looks: a heading a step, what was asked, what was answered, what the shop's ledger says. Colour on a terminal only.
import type { Json } from '../../catalog/catalog.ts'

export interface Narrator {
  heading (number: number, title: string): void
  /** What is sent: `POST /v1/actions/…`, and the arguments where there are any. */
  asked (line: string, body?: Json): void
  /** One fact of the answer. */
  answered (name: string, value: string): void
  /** The result of an answer, a member a line where it is long. */
  result (name: string, value: Json): void
  /** What it means, in a sentence. */
  said (text: string): void
  passed (text: string): void
  failed (text: string): void
  plain (text: string): void
}

/** Columns that a line may take where it can be helped. */
const WIDTH = 100
const PLAIN = { bold: '', dim: '', green: '', red: '', cyan: '', reset: '' }
const ANSI = { bold: '\x1b[1m', dim: '\x1b[2m', green: '\x1b[32m', red: '\x1b[31m', cyan: '\x1b[36m', reset: '\x1b[0m' }

export function narrator (print: (text: string) => void, coloured: boolean): Narrator {
  const { bold, dim, green, red, cyan, reset } = coloured ? ANSI : PLAIN
  return {
    heading: (number, title) => print(`\n${bold}${number}  ${title}${reset}`),
    asked: (line, body) => {
      const text = body === undefined ? '' : JSON.stringify(body)
      const fits = line.length + text.length < WIDTH
      print(`   ${dim}${line}${fits ? ` ${text}` : ''}`.trimEnd() + reset)
      if (!fits) print(`     ${dim}${text}${reset}`)
    },
    answered: (name, value) => print(`   ${cyan}${name.padEnd(12)}${reset} ${value}`),
    result: (name, value) => {
      for (const [index, line] of membersOf(value).entries()) print(`   ${cyan}${(index === 0 ? name : '').padEnd(12)}${reset} ${line}`)
    },
    said: text => print(`   ${text}`),
    passed: text => print(`   ${green}✓${reset} ${text}`),
    failed: text => print(`   ${red}✗ this did not go as told: ${text}${reset}`),
    plain: print,
  }
}

/** One line where it is short, else one for each member. */
function membersOf (value: Json): readonly string[] {
  const text = JSON.stringify(value)
  if (text.length < WIDTH - 16 || typeof value !== 'object' || value === null || Array.isArray(value)) return [text]
  const members = Object.entries(value)
  return members.map(([name, member], index) => {
    const line = `${JSON.stringify(name)}: ${JSON.stringify(member)}`
    return `${index === 0 ? '{ ' : '  '}${line}${index === members.length - 1 ? ' }' : ','}`
  })
}

/** https://no-color.org: any value that is not empty. */
export function isColoured (terminal: boolean, env: { readonly [name: string]: string | undefined }): boolean {
  return terminal && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
}
