let latestMs = Number.NaN
let latestText = ''

/** `2026-11-30T10:20:30.000Z`. Rows and lines are written many at once, so the last one is often asked for again. */
export function isoTime (epochMs: number): string {
  if (epochMs !== latestMs) {
    latestText = new Date(epochMs).toISOString()
    latestMs = epochMs
  }
  return latestText
}
