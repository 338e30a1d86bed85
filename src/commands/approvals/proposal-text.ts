// One proposal on a terminal: the same as on the page and in the same order, through the plain writers. The agent's own words come last but for the
// request itself, and are marked.
import { readBinding } from '../../consent/binding.ts'
import type { Seen } from '../../consent/desk.ts'
import { effectLine, renderDiff, renderEffect, type RowView } from '../../consent/effect-view.ts'
import type { ProposalRecord } from '../../consent/proposal.ts'
import { requestView } from '../../consent/request-view.ts'
import { NO_BUDGET, plain, plainLine, renderReason, renderUntrusted } from '../../consent/untrusted.ts'
import { badgesIn, renderValue, valueText, type ValueView } from '../../consent/value-view.ts'
import { CAUSES, columnsAt, consequencesOf, DENIALS, objectsOf, STATES, valuesOf, whyNot } from '../../http/people/pages/said.ts'

/** A proposal as the people listener tells it to a terminal. */
export type SeenHere = Omit<Seen, 'before'> & {
  readonly before: ProposalRecord | null
  /** What has to be typed where the requirement asks for that. */
  readonly to_type: string
}

const line = (text: string): string => plainLine(renderUntrusted(text, NO_BUDGET))
const row = (name: string, text: string): string => `  ${name.padEnd(WIDTH)}  ${text}`
const WIDTH = 12
/** Of what goes on below a value. */
const INDENT = ' '.repeat(WIDTH + 4)

export function proposalLines (seen: SeenHere): readonly string[] {
  const { record, before } = seen
  const { shown } = record
  const binding = readBinding(record.binding)
  const { target, upstream } = binding
  return [
    effectLine(shown.effect),
    ...renderEffect(shown.effect, NO_BUDGET).apart.flatMap(({ of, value }) => valueRows(line(of), value)),
    `  ${consequencesOf(record).join(' · ')}`,
    '',
    ...target === null ? [] : [row('object', `${line(target.type)} ${line(target.id)}`), row('version', versionText(target))],
    row('system', line(upstream.id)), row('account', line(upstream.account)),
    '',
    ...shown.undecodable.length === 0 ? [] : [`  The broker could not decode ${shown.undecodable.map(line).join(', ')}. Approve only if you know what it holds.`, ''],
    ...shown.diff.length === 0 ? ['No field of the object is known to change.'] : ['What changes', ...changeRows(renderWhole(record), columnsAt(seen.state))],
    ...before === null ? [] : ['', `It is instead of ${before.id}: ${effectLine(before.shown.effect)}`, ...changeRows(renderWhole(before), columnsAt('superseded'))],
    ...factRows(record),
    '',
    ...askRows(seen, record),
    '',
    ...standingRows(seen),
    ...record.reason === null ? [] : ['', 'What the agent says (unverified; nothing above was taken from it)', `  ${plain(renderReason(record.reason), '  ')}`],
    '',
    'The exact request',
    ...requestRows(requestView(shown, binding.args)),
    ...valueRows('arguments', whole(binding.args)), row('action', line(record.action)), row('digest', record.digest),
  ]
}

/** The body is text of its own: in our quotes each of its own would stand twice. It ends where the next name stands in the first column. */
function requestRows ({ method, url, headers, body }: ProposalRecord['shown']['request']): readonly string[] {
  const shown = whole(body)
  const rows = shown.kind === 'text' ? [row('body', plain(shown.rendered, INDENT)), ...warnings(shown)] : valueRows('body', shown)
  return [row('request', line(`${method} ${url}`)), ...valueRows('headers', whole({ ...headers })), ...rows]
}

/** On a terminal nothing can be expanded, so nothing is cut. */
const whole = (value: Parameters<typeof renderValue>[0]): ValueView => renderValue(value, NO_BUDGET)

function versionText (target: { readonly version: unknown, readonly version_kind: string }): string {
  const known = target.version_kind !== 'none' && target.version !== null
  return known ? line(String(target.version)) : 'this system cannot detect changes made since'
}

const renderWhole = ({ shown }: ProposalRecord): readonly RowView[] => renderDiff(shown.diff, shown.redacted, NO_BUDGET)

/** What has not happened is not told as if it had. */
function changeRows (rows: readonly RowView[], columns: { readonly was: string, readonly now: string }): readonly string[] {
  return rows.flatMap(({ field, was, now, change }) =>
    [`  ${plainLine(field)} (${change})`, ...valueRows(`  ${columns.was.toLowerCase()}`, was), ...valueRows(`  ${columns.now.toLowerCase()}`, now)])
}

/** A value, and a line for each thing about it that could deceive. */
const valueRows = (name: string, shown: ValueView): readonly string[] =>
  [row(name, valueText(shown, INDENT)), ...warnings(shown)]

const warnings = (shown: ValueView): readonly string[] => badgesIn(shown).map(text => row('', `! ${text}`))

function factRows ({ shown, grant, effect }: ProposalRecord): readonly string[] {
  const facts = Object.entries(shown.facts)
  return [
    ...grant === null ? [] : [
      '', 'What the grant allows', row('actions', grant.actions.map(({ id }) => line(id)).join(', ')),
      row('objects', grant.targets.length === 0 ? objectsOf(effect) : grant.targets.map(({ type, id }) => `${line(type)} ${line(id)}`).join(', ')),
      row('values', valuesOf(effect, grant)),
      row('at most', `${grant.usesMax} uses within ${duration(grant.lifeMs)} of the approval`),
    ],
    ...facts.length === 0 ? [] : ['', 'What else is known', ...facts.flatMap(([name, value]) => valueRows(line(name), whole(value)))],
  ]
}

const askRows = ({ countToday }: SeenHere, { owner, onBehalfOf, createdAtMs }: ProposalRecord): readonly string[] => [
  'Who asks', row('agent', `${line(owner.sub)} (${line(owner.iss)})`), row('run', line(owner.run)), row('tenant', line(owner.tenant)),
  ...onBehalfOf === null ? [] : [row('on behalf of', `${line(onBehalfOf.sub)} (${line(onBehalfOf.iss)})`)],
  row('asked at', moment(createdAtMs)), row('today', `${countToday} ${countToday === 1 ? 'proposal' : 'proposals'} of this agent in 24 hours`),
]

function standingRows ({ record, state, votes, nowMs, mayNot }: SeenHere): readonly string[] {
  const { requirement } = record
  const said = record.decisions.flatMap(({ approver, decision, atMs, reasonCode, reasonText }) => [
    row(decision === 'approve' ? 'approved' : 'denied', `by ${line(approver.display)}, ${moment(atMs)}${reasonCode === null ? '' : `: ${DENIALS[reasonCode]}`}`),
    ...reasonText === null ? [] : [row('', plain(renderReason(reasonText), INDENT))],
  ])
  return [
    STATES[state], ...record.cause === null ? [] : [row('', CAUSES[record.cause])], ...record.attemptId === null ? [] : [row('attempt', record.attemptId)], ...said,
    ...record.revokedBy === undefined || record.endedAtMs === null ? [] : [row('taken back', `by ${line(record.revokedBy)}, ${moment(record.endedAtMs)}`)],
    ...state === 'approved' && record.commitByMs !== null ? [row('good until', moment(record.commitByMs))] : [],
    row('may decide', `${requirement.roles.length === 0 ? 'nobody' : requirement.roles.map(line).join(', ')}; ${votes} of ${requirement.approve} so far`),
    ...state === 'pending' ? [row('until', `${moment(record.pendingUntilMs)}, in ${duration(record.pendingUntilMs - nowMs)}`)] : [],
    ...state === 'pending' && mayNot !== null ? [row('not by you', whyNot(mayNot, record))] : [],
  ]
}

/** For the list: what, until when, and whether this person may decide it. */
export function pendingLines (items: readonly SeenHere[]): readonly string[] {
  return items.flatMap(({ record, nowMs, mayNot }) => [
    `${record.id}  ${duration(record.pendingUntilMs - nowMs)} left${mayNot === null ? '' : '  (not by you)'}`, `  ${effectLine(record.shown.effect)}`,
  ])
}

export const moment = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC (${new Date(ms).toTimeString().slice(0, 5)} here)`

export function duration (ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  return seconds < 120 ? `${seconds} s` : seconds < 7_200 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3_600)} h`
}
