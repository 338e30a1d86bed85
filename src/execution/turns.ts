// Work beside the calls: what is done again and again, and what waits for its turn.

/** One after the other: what a reload read must not take the place of what a later one has read since. */
export function inTurn<Value> (work: () => Promise<Value>): () => Promise<Value> {
  let last: Promise<unknown> = Promise.resolve()
  return () => {
    const next = last.then(work)
    last = next.catch(() => undefined)
    return next
  }
}

/** Repeats until stopped; a turn that fails is followed by the next one. */
export function poll (everyMs: number, work: () => Promise<void>): () => void {
  let timer: NodeJS.Timeout
  let stopped = false
  const turn = async (): Promise<void> => {
    await work().catch(() => undefined)
    if (!stopped) timer = setTimeout(turn, everyMs)
  }
  timer = setTimeout(turn, 0)
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}
