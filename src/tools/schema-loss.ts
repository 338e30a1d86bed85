// What a schema that is handed to a model cannot say. The broker enforces the whole rule whatever the model was told.

export interface Loss {
  /** JSON Pointer within the input schema of the action. */
  readonly pointer: string
  readonly keyword: string
  /** In words, for the person who reads the report. */
  readonly becomes: string
}

/** Collects losses while a schema is rewritten. */
export class Losses {
  readonly #found = new Map<string, Loss>()

  add (pointer: string, keyword: string, becomes: string): void {
    this.#found.set(`${pointer} ${keyword}`, { pointer, keyword, becomes })
  }

  list (): readonly Loss[] {
    return [...this.#found.values()]
  }
}
