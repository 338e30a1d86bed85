// Waiting for the word to end.

/** Resolves at the first SIGTERM or SIGINT. A second one meets no listener and ends the process at once. */
export function toldToEnd (): Promise<void> {
  return new Promise(resolve => {
    const end = (): void => {
      process.off('SIGTERM', end)
      process.off('SIGINT', end)
      resolve()
    }
    process.on('SIGTERM', end)
    process.on('SIGINT', end)
  })
}
