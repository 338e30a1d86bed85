// Retry-After (RFC 9110 §10.2.3): seconds, or a date.
import type { Answer } from './catalog.ts'

const SECONDS_MIN = 1
const SECONDS_MAX = 3_600

/** Clamped to 1 s..1 h; null where the answer has none that can be read. @param now ISO 8601, for a date */
export function retryAfterSeconds<Headed extends Pick<Answer, 'headers'>> (answer: Headed, now: string): number | null {
  const value = answer.headers['retry-after']?.trim()
  if (value === undefined || value === '') return null
  if (/^\d{1,12}$/.test(value)) return clamp(Number(value))
  // IMF-fixdate only; Date.parse alone would take "1", "May" or any other fragment for a date.
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(value)) return null
  const atMs = Date.parse(value)
  return Number.isNaN(atMs) ? null : clamp(Math.ceil((atMs - Date.parse(now)) / 1_000))
}

const clamp = (seconds: number): number => Math.min(Math.max(seconds, SECONDS_MIN), SECONDS_MAX)
