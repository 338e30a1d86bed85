// Waiting for the word to end.

/** One press of Ctrl-C can arrive twice: from the terminal, and from the program (npm) that started this one and passes it on. */
const SAME_PRESS_MS = 1_000

/** Resolves at the first SIGTERM or SIGINT. A later press meets no listener and ends the process at once. */
export function toldToEnd (): Promise<void> {
  return new Promise(resolve => {
    let told = false
    const end = (): void => {
      resolve()
      if (told) return
      told = true
      setTimeout(() => {
        process.off('SIGTERM', end)
        process.off('SIGINT', end)
      }, SAME_PRESS_MS).unref()
    }
    process.on('SIGTERM', end)
    process.on('SIGINT', end)
  })
}
