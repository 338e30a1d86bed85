// Work that goes on after its answer was given: writes that outlive the patience of an agent, settlements that the store could not take yet.
export interface Background {
  add (work: Promise<unknown>): void
  /** Resolves once nothing is left, or after `graceMs`. True where nothing was left. */
  drained (graceMs: number): Promise<boolean>
}

export function createBackground (): Background {
  const underWay = new Set<Promise<unknown>>()
  return {
    add (work) {
      underWay.add(work)
      // Whoever needs the result holds the promise itself; here only its end counts.
      work.then(() => underWay.delete(work), () => underWay.delete(work))
    },
    async drained (graceMs) {
      const endsAtMs = performance.now() + graceMs
      while (underWay.size > 0) {
        const leftMs = endsAtMs - performance.now()
        if (leftMs <= 0) return false
        let timer: NodeJS.Timeout | undefined
        await Promise.race([Promise.allSettled(underWay), new Promise(resolve => { timer = setTimeout(resolve, leftMs) })])
        clearTimeout(timer)
      }
      return true
    },
  }
}
