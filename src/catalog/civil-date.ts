// Dates without a time or a zone, as text of the form 2027-03-01. Text of this form compares in the order of the calendar.

const DAY_MS = 86_400_000

/** Midnight UTC of the date in milliseconds. @throws RangeError where there is no such day */
function dayMs (date: string): number {
  const parts = /^(\d{4})-(\d{2})-(\d{2})$/.exec(date)
  if (parts !== null) {
    const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
    const at = new Date(0)
    at.setUTCFullYear(year, month - 1, day)
    // A calendar that has to correct what it was given, 02-30 to 03-02, was given no date.
    if (at.getUTCFullYear() === year && at.getUTCMonth() === month - 1 && at.getUTCDate() === day) return at.getTime()
  }
  throw new RangeError('not a date of the form YYYY-MM-DD')
}

/** The date itself. @throws RangeError where it is none, 2026-02-30 too */
export function civilDate (date: string): string {
  dayMs(date)
  return date
}

/** The date that an instant falls on. @param timeZone IANA name. @throws RangeError for an unknown zone */
export function civilDateAt (instant: Date, timeZone = 'UTC'): string {
  const parts = new Intl.DateTimeFormat('en-u-ca-iso8601', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' }).formatToParts(instant)
  const part = (type: string): string => parts.find(found => found.type === type)?.value ?? ''
  return civilDate(`${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`)
}

export function addDays (date: string, days: bigint): string {
  const at = new Date(dayMs(date) + Number(days) * DAY_MS)
  if (Number.isNaN(at.getTime()) || at.getUTCFullYear() > 9999 || at.getUTCFullYear() < 0) throw new RangeError('the date is out of range')
  return at.toISOString().slice(0, 10)
}

/** Positive where `to` is later. */
export const daysBetween = (from: string, to: string): bigint => BigInt((dayMs(to) - dayMs(from)) / DAY_MS)

/** ISO 8601: Monday is 1, Sunday is 7. */
export const weekday = (date: string): bigint => BigInt(new Date(dayMs(date)).getUTCDay() || 7)
