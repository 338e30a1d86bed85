// Faults of one load, collected so that a person sees all of them at once.
import type { Fault } from './catalog.ts'
import type { YamlFile } from './yaml-file.ts'

export class FaultList {
  readonly #faults: Fault[] = []

  get count (): number {
    return this.#faults.length
  }

  add (fault: Fault): void {
    this.#faults.push(fault)
  }

  /** About a file as a whole. */
  addForFile (file: string, rule: string, message: string): void {
    this.#faults.push({ file, line: 1, column: 1, rule, message })
  }

  /** A reporter for one file, by JSON Pointer. */
  in (file: YamlFile): Reporter {
    return new Reporter(this, file)
  }

  /** By file, line, column and rule, each fault once. */
  all (): readonly Fault[] {
    const sorted = [...this.#faults].sort((a, b) => compare(a.file, b.file) || a.line - b.line || a.column - b.column || compare(a.rule, b.rule))
    const once = sorted.filter((fault, index) => {
      const before = sorted[index - 1]
      return before === undefined || before.file !== fault.file || before.line !== fault.line || before.column !== fault.column ||
        before.rule !== fault.rule || before.message !== fault.message
    })
    return Object.freeze(once.map(fault => Object.freeze(fault)))
  }
}

export class Reporter {
  readonly file: YamlFile
  readonly #list: FaultList

  constructor (list: FaultList, file: YamlFile) {
    this.#list = list
    this.file = file
  }

  get count (): number {
    return this.#list.count
  }

  /** @param offset characters into the text of the scalar at the pointer */
  fault (pointer: string, rule: string, message: string, offset = 0): void {
    this.#list.add({ file: this.file.name, ...this.file.positionOf(pointer, offset), rule, message })
  }

  /** At the key instead of the value. */
  faultAtKey (pointer: string, rule: string, message: string): void {
    this.#list.add({ file: this.file.name, ...this.file.keyPositionOf(pointer), rule, message })
  }
}

const compare = (one: string, other: string): number => one < other ? -1 : one > other ? 1 : 0
