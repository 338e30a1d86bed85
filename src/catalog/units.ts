// Durations and sizes as people write them in sheets: `500ms`, `2s`, `30m`, `24h`, `7d`; `16KiB`, `1MiB`.

export const DURATION_PATTERN = '^[1-9][0-9]{0,8}(ms|s|m|h|d)$'
export const SIZE_PATTERN = '^[1-9][0-9]{0,6}(B|KiB|MiB)$'

const MILLISECONDS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const BYTES = { B: 1, KiB: 1_024, MiB: 1_048_576 } as const

/** The text must match DURATION_PATTERN. @returns milliseconds */
export function durationMs (text: string): number {
  const [, amount, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(text)!
  return Number(amount) * MILLISECONDS[unit as keyof typeof MILLISECONDS]
}

/** The text must match SIZE_PATTERN. @returns bytes */
export function sizeBytes (text: string): number {
  const [, amount, unit] = /^(\d+)(B|KiB|MiB)$/.exec(text)!
  return Number(amount) * BYTES[unit as keyof typeof BYTES]
}
