// What a sheet may not say about its own consequences: effect, consent, retry and look-up have to fit together.
import type { Reporter } from './faults.ts'
import type { Sheet } from './sheet.ts'

const NEVER_WITHOUT_CONSENT = new Set<string>(['external_commitment', 'irreversible_change', 'money', 'access', 'bulk', 'public'])
const NEVER_FOR_A_SESSION = new Set<string>(['irreversible_change', 'money', 'access', 'bulk', 'public'])

export function checkConsequences (sheet: Sheet, report: Reporter): void {
  const consequences = [sheet.effect, ...sheet.involves ?? []]
  const write = sheet.effect !== 'observation'
  const refuse = (field: string, rule: string, message: string): void => report.fault(`/${field}`, rule, message)
  if (write) {
    const grave = consequences.filter(consequence => NEVER_WITHOUT_CONSENT.has(consequence))
    if (sheet.consent === 'none' && grave.length > 0) {
      refuse('consent', 'consent-needed', `a write with ${grave.join(', ')} needs the consent of a person`)
    }
    const single = consequences.filter(consequence => NEVER_FOR_A_SESSION.has(consequence))
    if (sheet.consent === 'session' && single.length > 0) {
      refuse('consent', 'consent-not-for-session', `${single.join(', ')} needs consent for each call`)
    }
    if (sheet.retry === 'safe') refuse('retry', 'retry-safe-write', 'only an observation can be safe')
    if (sheet.retry === 'same_key' && sheet.idempotency === undefined) {
      refuse('retry', 'retry-without-key', 'same_key needs idempotency: where the key goes')
    }
    if (sheet.lookup === undefined) report.faultAtKey('', 'lookup-missing', 'a write needs lookup: how an unknown attempt is resolved, or none')
    return
  }
  if (sheet.retry === 'same_key' || sheet.retry === 'natural') refuse('retry', 'retry-not-for-observation', 'an observation is safe or never')
  for (const field of ['lookup', 'idempotency', 'compensate_with', 'repeatable', 'durability', 'proposal'] as const) {
    if (sheet[field] !== undefined) report.faultAtKey(`/${field}`, 'not-for-observation', `an observation has no ${field}`)
  }
}
