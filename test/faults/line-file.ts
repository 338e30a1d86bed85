// A file of lines of which each is written before something else happens: what is said in one turn goes out in one write at its end, and what waits
// for it is done after that.
import { closeSync, openSync, writeSync } from 'node:fs'

export class LineFile {
  readonly #file: number
  #lines: string[] = []
  #waiting: Array<() => void> = []

  constructor (path: string) {
    this.#file = openSync(path, 'a')
  }

  /** @param then done once the line stands in the file */
  write (line: object, then?: () => void): void {
    if (this.#lines.length === 0 && this.#waiting.length === 0) setImmediate(() => this.flush())
    this.#lines.push(`${JSON.stringify(line)}\n`)
    if (then !== undefined) this.#waiting.push(then)
  }

  /** Done after everything that has been written so far stands in the file. */
  after (then: () => void): void {
    if (this.#lines.length === 0) then()
    else this.#waiting.push(then)
  }

  flush (): void {
    const text = this.#lines.join('')
    const waiting = this.#waiting
    this.#lines = []
    this.#waiting = []
    if (text !== '') writeSync(this.#file, text)
    for (const then of waiting) then()
  }

  close (): void {
    this.flush()
    closeSync(this.#file)
  }
}
