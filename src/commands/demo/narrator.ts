// How the tour looks: a heading a step, what was asked, what was answered, what the shop's ledger says. Colour on a terminal only.

export interface Narrator {
  heading (number: number, title: string): void
  /** What is sent, `POST /v1/actions/…  {"quantity":2}`. */
  asked (text: string): void
  /** One fact of the answer. */
  answered (name: string, value: string): void
  /** What it means, in a sentence. */
  said (text: string): void
  passed (text: string): void
  failed (text: string): void
  plain (text: string): void
}

const PLAIN = { bold: '', dim: '', green: '', red: '', cyan: '', reset: '' }
const ANSI = { bold: '\x1b[1m', dim: '\x1b[2m', green: '\x1b[32m', red: '\x1b[31m', cyan: '\x1b[36m', reset: '\x1b[0m' }

export function narrator (print: (text: string) => void, coloured: boolean): Narrator {
  const { bold, dim, green, red, cyan, reset } = coloured ? ANSI : PLAIN
  return {
    heading: (number, title) => print(`\n${bold}${number}  ${title}${reset}`),
    asked: text => print(`   ${dim}${text}${reset}`),
    answered: (name, value) => print(`   ${cyan}${name.padEnd(12)}${reset} ${value}`),
    said: text => print(`   ${text}`),
    passed: text => print(`   ${green}✓${reset} ${text}`),
    failed: text => print(`   ${red}✗ this did not go as told: ${text}${reset}`),
    plain: print,
  }
}

/** https://no-color.org: any value that is not empty. */
export function isColoured (terminal: boolean, env: { readonly [name: string]: string | undefined }): boolean {
  return terminal && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
}
