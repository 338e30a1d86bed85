// What a person would be shown of a call, as lines of text: made by the step that proposes it, and written as on a terminal.
import type { Requirement } from '../../catalog/catalog.ts'
import { effectLine, renderDiff, renderEffect } from '../../consent/effect-view.ts'
import type { Shown } from '../../consent/proposal.ts'
import { plainLine, renderUntrusted } from '../../consent/untrusted.ts'
import { renderValue, valueLine } from '../../consent/value-view.ts'

export function shownLines (shown: Shown, requirement: Requirement): readonly string[] {
  return [
    effectLine(shown.effect),
    ...renderEffect(shown.effect).apart.map(({ of, value }) => `${line(of)}: ${valueLine(value)}`),
    ...shown.diff.length === 0 ? ['no field of the object is known to change'] : renderDiff(shown.diff, shown.redacted).map(
      ({ field, was, now, change }) => `${plainLine(field)} ${change}: ${valueLine(was)} → ${valueLine(now)}`
    ),
    ...Object.entries(shown.facts).map(([name, value]) => `${line(name)}: ${valueLine(renderValue(value))}`),
    ...shown.undecodable.map(pointer => `${line(pointer)} cannot be decoded, and is asked for as strictly as anything is`),
    decidersLine(requirement),
  ]
}

const line = (text: string): string => plainLine(renderUntrusted(text))

function decidersLine ({ approve, roles, separation }: Requirement): string {
  if (roles.length === 0) return 'the policy names nobody who may decide it: a call would be refused, CONSENT_UNAVAILABLE'
  const apart = separation === 'requester' ? ', and nobody for whom it is asked' : ''
  return `decided by ${approve === 1 ? 'one person' : `${approve} people`} with the role ${roles.map(line).join(' or ')}${apart}`
}
