// What a broker holds open.
/** Let go in the opposite order. */
export class Opened {
  readonly #closers: Array<() => unknown> = []

  add<T> (thing: T, close: (thing: T) => unknown): T {
    this.#closers.push(() => close(thing))
    return thing
  }

  async closeAll (): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close()
  }
}
