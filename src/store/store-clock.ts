// The clock of the embedded store: the wall clock, but it never goes backwards and never stands still, whatever the wall clock does. Where that was
// set back, it goes on by the monotonic clock until the wall clock has caught up.

/** @param floorMs the latest time that was ever told before */
export function createStoreClock (floorMs: number, wallMs: () => number = Date.now): () => number {
  let toldMs = floorMs
  let monotonicMs = performance.now()
  return () => {
    const now = performance.now()
    toldMs = Math.max(wallMs(), toldMs + (now - monotonicMs))
    monotonicMs = now
    return Math.floor(toldMs)
  }
}
