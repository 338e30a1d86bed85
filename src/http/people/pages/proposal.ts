// One proposal: what would happen first, then to what, what changes, who asks, how long there is, and who may decide. The agent's own words come after
// all that and are marked as what they are. The forms stand last, so that whoever reads in order has read before they decide.
import { readBinding, type Binding } from '../../../consent/binding.ts'
import { stopsNoDenial } from '../../../consent/decision.ts'
import type { Person, Seen } from '../../../consent/desk.ts'
import { DENY_CODES, HARD_MS, type ProposalRecord } from '../../../consent/proposal.ts'
import { requestView } from '../../../consent/request-view.ts'
import { html, type Content, type Html } from '../html.ts'
import { duration, moment, type Page } from '../layout.ts'
import { diffTable, effect, effectApart, untrusted, value, WHOLE, words, type Length } from '../written.ts'
import { accountName, changes, facts, granted } from './content.ts'
import { badges, CAUSES, DENIALS, isGrave, mayNow, STATES, whyNot } from './said.ts'

export interface ProposalForms {
  readonly deny: (inside: Content) => Html
  readonly extend: (inside: Content) => Html
  readonly revoke: (inside: Content) => Html
}

/** What the person had filled in, and what was wrong with it. */
export interface Draft {
  readonly reasonCode: string
  readonly reason: string
  readonly visibility: string
  readonly faults: ReadonlyArray<{ readonly field: 'reason_code' | 'reason', readonly text: string }>
}

export const NO_DRAFT: Draft = Object.freeze({ reasonCode: '', reason: '', visibility: 'agent', faults: [] })

export interface ProposalView {
  readonly person: Person
  readonly seen: Seen
  readonly forms: ProposalForms
  readonly said: Html | null
  readonly draft: Draft
  readonly whole: boolean
  readonly status?: number
}

export function proposalPage (view: ProposalView): Page {
  const { seen, said, status = 200 } = view
  const { record } = seen
  const length: Length = view.whole || isGrave(record) ? WHOLE : { whole: false, expand: `/approvals/${record.id}?show=all` }
  const bound = readBinding(record.binding)
  return {
    status,
    title: 'A proposal',
    here: null,
    main: html`<p class="back"><a href="/approvals">All approvals</a></p>${said}${errorSummary(view.draft)}
<article class="proposal"><div class="facts-of">
<p class="over-title">${record.shown.title === '' ? 'Proposal' : untrusted(record.shown.title)}</p>
<h1 class="effect">${effect(record.shown.effect)}</h1>${effectApart(record.shown.effect, length)}${badges(record)}
${target(record, bound, length)}${changes(record, length, seen.state)}${since(seen, length)}${granted(record)}${facts(record, length)}${asks(seen)}
${agentWords(record)}${raw(record, bound)}</div>
<div class="decision">${standing(seen)}${deciders(seen)}${decide(view)}</div></article>`,
  }
}

export function target ({ upstream }: ProposalRecord, { target: about, upstream: { account } }: Binding, length: Length): Html {
  const known = about !== null && about.version_kind !== 'none' && about.version !== null
  return html`<section><h2>What it acts on</h2><dl class="facts">
${about === null ? null : html`<div><dt>Object</dt><dd>${untrusted(about.type)} ${value(about.id, length)}</dd></div>
<div><dt>Version</dt><dd>${known ? value(about.version, length) : html`<em class="own">This system cannot detect changes made since.</em>`}</dd></div>`}
<div><dt>System</dt><dd>${untrusted(upstream)}</dd></div><div><dt>Account used</dt><dd>${accountName(account)}</dd></div></dl></section>`
}

/** What is different from the proposal that this one is instead of. */
function since ({ record, before }: Seen, length: Length): Html | null {
  if (before === null) return null
  const was = new Map(before.shown.diff.map(row => [row.pointer, row.now]))
  const is = new Map(record.shown.diff.map(row => [row.pointer, row.now]))
  const rows = [...new Set([...was.keys(), ...is.keys()])].flatMap(pointer => {
    const [one, other] = [was.get(pointer), is.get(pointer)]
    if (JSON.stringify(one) === JSON.stringify(other)) return []
    return [{ pointer, ...(one === undefined ? {} : { was: one }), ...(other === undefined ? {} : { now: other }) }]
  })
  return html`<section><h2>Since the proposal before</h2><p>It is instead of <a href="/approvals/${before.id}">an earlier one</a>: ${effect(before.shown.effect)}</p>
${rows.length === 0 ? html`<p class="dim">What would change is the same.</p>` : diffTable(rows, length, { caption: 'What the two would set', was: 'Earlier proposal', now: 'This one' }, [...before.shown.redacted ?? [], ...record.shown.redacted ?? []])}</section>`
}

function asks ({ record, countToday }: Seen): Html {
  const { owner, onBehalfOf, createdAtMs } = record
  return html`<section><h2>Who asks</h2><dl class="facts">
<div><dt>Agent</dt><dd>${untrusted(owner.sub)} <small>${untrusted(owner.iss)}</small></dd></div>
<div><dt>Run</dt><dd>${untrusted(owner.run)}</dd></div>${owner.tenant === 'default' ? null : html`<div><dt>Tenant</dt><dd>${untrusted(owner.tenant)}</dd></div>`}
${onBehalfOf === null ? null : html`<div><dt>On behalf of</dt><dd>${untrusted(onBehalfOf.sub)} <small>${untrusted(onBehalfOf.iss)}</small></dd></div>`}
<div><dt>Asked at</dt><dd>${moment(createdAtMs)}</dd></div>
<div><dt>In the last 24 hours</dt><dd>${countToday} ${countToday === 1 ? 'proposal' : 'proposals'} of this agent</dd></div></dl></section>`
}

export function agentWords ({ reason }: ProposalRecord): Html | null {
  if (reason === null) return null
  return html`<section class="unverified"><h2>What the agent says <span class="caution">unverified</span></h2>
<p class="dim">The agent wrote this. Nothing above was taken from it.</p>${words(reason)}</section>`
}

function raw ({ shown, action, digest }: ProposalRecord, { args, upstream: { account } }: Binding): Html {
  const request = requestView(shown, args)
  return html`<section><details class="raw"><summary>The exact request</summary><dl class="facts">
<div><dt>Request</dt><dd><code>${untrusted(`${request.method} ${request.url}`)}</code></dd></div>
<div><dt>Headers</dt><dd>${value(request.headers, WHOLE)}</dd></div><div><dt>Body</dt><dd>${value(request.body, WHOLE)}</dd></div>
<div><dt>Secret used</dt><dd><code>${untrusted(account)}</code></dd></div>
<div><dt>Arguments</dt><dd>${value(shown.arguments ?? args, WHOLE)}</dd></div><div><dt>Action</dt><dd><code>${untrusted(action)}</code></dd></div>
<div><dt>Digest</dt><dd><code id="digest">${digest}</code> <button type="button" class="quiet" data-copy="digest" hidden>Copy</button></dd></div>
</dl></details></section>`
}

/** Who has said what so far. */
function sayings ({ decisions }: ProposalRecord): Html | null {
  if (decisions.length === 0) return null
  return html`<ul class="plain">${decisions.map(({ approver, decision, atMs, reasonCode, reasonText }) =>
    html`<li>${untrusted(approver.display)} ${decision === 'approve' ? 'approved' : 'denied'}, ${moment(atMs)}
${reasonCode === null ? null : html`<br><span class="dim">${DENIALS[reasonCode]}</span>`}${reasonText === null ? null : words(reasonText)}</li>`)}</ul>`
}

function standing ({ record, state, nowMs }: Seen): Html {
  if (state !== 'pending') {
    return html`<h2>How it stands</h2><p class="state ${state}">${STATES[state]}</p>${record.cause === null ? null : html`<p>${CAUSES[record.cause]}</p>`}
${state === 'approved' ? html`<p>${mayNow(record)}</p>` : null}${ended(record)}
${record.attemptId === null ? null : html`<p class="dim">Carried out as <code>${record.attemptId}</code></p>`}${sayings(record)}`
  }
  return html`<h2>Time to decide</h2><div class="clock" data-ends-in-ms="${record.pendingUntilMs - nowMs}">
<p class="left" data-left>${duration(record.pendingUntilMs - nowMs)}</p><p class="dim">Until ${moment(record.pendingUntilMs)}. Silence is never a yes.</p>
<p class="sr" role="status" data-said></p></div>`
}

/** What had an end of its own, behind a decision or without one. */
function ended ({ state, endedAtMs, revokedBy }: ProposalRecord): Html | null {
  if (state === 'revoked' && endedAtMs !== null && revokedBy !== undefined) return html`<p>Taken back by ${untrusted(revokedBy)}, ${moment(endedAtMs)}</p>`
  return endedAtMs === null || state === 'denied' ? null : html`<p class="dim">Ended ${moment(endedAtMs)}</p>`
}

function deciders ({ record, votes, state }: Seen): Html {
  const { requirement } = record
  const names = requirement.roles.map((role, at) => html`${at === 0 ? '' : ', '}<span class="role">${untrusted(role)}</span>`)
  const sofar = requirement.approve > 1 || votes > 0 ? html`<p><strong>${votes} of ${requirement.approve}</strong> ${requirement.approve === 1 ? 'approval' : 'approvals'} so far</p>` : null
  return html`<h2>Who may decide</h2><p>${names.length === 0 ? html`<em class="own">nobody</em>` : html`People with the role ${names}`}${
    requirement.separation === 'requester' ? ', but not whoever it is asked for' : ''}.</p>${state === 'pending' ? html`${sofar}${sayings(record)}` : null}`
}

function decide (view: ProposalView): Html | null {
  const { seen: { record, mayNot, state, nowMs }, forms, person } = view
  if (state === 'approved') {
    const mine = record.decisions.some(({ approver }) => approver.principal === person.principal) || person.roles.includes('operator')
    return mine ? html`<div class="act">${forms.revoke(html`<button class="stop">Take it back</button>`)}</div>` : null
  }
  if (state !== 'pending') return null
  const saidYes = record.decisions.some(({ approver }) => approver.principal === person.principal)
  if (saidYes && (mayNot === 'already_voted' || mayNot === 'not_entitled')) {
    return html`<div class="notice note"><p>You approved this. If you take that back, it ends for everyone: nothing of it will be carried out.</p></div>
<div class="act">${forms.revoke(html`<button class="stop">Take it back</button>`)}</div>`
  }
  const refused = mayNot === null ? null : html`<div class="notice note"><p>${whyNot(mayNot, record)}</p>${mayNot === 'sign_in_too_old' ? signInAgain(record) : null}</div>`
  if (mayNot !== null && !stopsNoDenial(mayNot)) return refused
  const room = record.pendingUntilMs < record.createdAtMs + HARD_MS && record.pendingUntilMs < record.hardUntilMs && record.pendingUntilMs - nowMs > 0
  const own = record.requirement.separation === 'agent' && record.onBehalfOf?.sub === person.sub && record.onBehalfOf.iss === person.iss
  return html`${own ? html`<p class="caution block">You are approving a request made on your own behalf.</p>` : null}
${refused}${mayNot === null ? html`<p class="act"><a class="button go" href="/approvals/${record.id}/confirm">Review and approve…</a></p>` : null}
${denial(view)}${room ? forms.extend(html`<button class="quiet" data-decides>I need more time</button>`) : null}`
}

export const signInAgain = ({ id }: ProposalRecord): Html =>
  html`<p><a class="button" href="/sign-in?return_to=/approvals/${id}&amp;fresh=yes">Sign in again</a></p>`

function denial ({ draft, forms }: ProposalView): Html {
  const fault = (field: string): string | null => draft.faults.find(one => one.field === field)?.text ?? null
  const [codeFault, reasonFault] = [fault('reason_code'), fault('reason')]
  return html`<details class="deny"${draft.faults.length > 0 || draft.reason !== '' ? html` open` : null}><summary>Deny</summary>${forms.deny(html`
<div class="field"><label for="reason_code">Why not</label>
<select id="reason_code" name="reason_code"${codeFault === null ? null : html` aria-invalid="true" aria-describedby="reason_code-fault"`}><option value="">Choose a reason</option>
${DENY_CODES.map(code => html`<option value="${code}"${code === draft.reasonCode ? html` selected` : null}>${DENIALS[code]}</option>`)}</select>
${codeFault === null ? null : html`<p class="fault" id="reason_code-fault">${codeFault}</p>`}</div>
<div class="field"><label for="reason">In your words <span class="dim">(if you like, at most 500 characters)</span></label>
<textarea id="reason" name="reason" rows="3"${reasonFault === null ? null : html` aria-invalid="true" aria-describedby="reason-fault"`}>
${draft.reason}</textarea>${reasonFault === null ? null : html`<p class="fault" id="reason-fault">${reasonFault}</p>`}</div>
<fieldset><legend>Who may read your words</legend>
<label><input type="radio" name="visibility" value="agent"${draft.visibility === 'staff' ? null : html` checked`}> The agent as well</label>
<label><input type="radio" name="visibility" value="staff"${draft.visibility === 'staff' ? html` checked` : null}> People only</label></fieldset>
<button class="stop" name="decision" value="deny" data-decides>Deny this</button>`)}</details>`
}

function errorSummary ({ faults }: Draft): Html | null {
  if (faults.length === 0) return null
  return html`<div class="notice stop" role="alert" tabindex="-1" data-focus><p><strong>Your denial was not taken yet</strong></p>
<ul>${faults.map(({ field, text }) => html`<li><a href="#${field}">${text}</a></li>`)}</ul></div>`
}
