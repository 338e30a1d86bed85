// What is done to a run on purpose: each fault is counted where it fires, under its name, and what took a while is told with its beginning and its end.
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NemesisLine } from './folder.ts'

export type Fired = { readonly [name: string]: number }

export class Chronicle {
  readonly #folder: string
  readonly #fired: Record<string, number> = {}

  /** @param folder of the run: `nemesis.jsonl` and `fired.json` are written there */
  constructor (folder: string) {
    this.#folder = folder
  }

  count (name: string, times = 1): void {
    if (times > 0) this.#fired[name] = (this.#fired[name] ?? 0) + times
  }

  tell (what: string, more: Pick<NemesisLine, 'state' | 'ms'> = {}): void {
    const line: NemesisLine = { t: Date.now(), what, ...more }
    appendFileSync(join(this.#folder, 'nemesis.jsonl'), `${JSON.stringify(line)}\n`)
  }

  get fired (): Fired { return { ...this.#fired } }

  /** @param more faults that somebody else counted */
  close (more: Fired): Fired {
    const all = { ...this.#fired, ...more }
    writeFileSync(join(this.#folder, 'fired.json'), JSON.stringify(all, null, 2))
    return all
  }
}
