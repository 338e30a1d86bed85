// The lists: what waits for a decision, what this person has decided, and which grants are in force.
import type { PageOf, Person, Seen } from '../../../consent/desk.ts'
import { belongTogether } from '../../../consent/batch.ts'
import type { ProposalRecord } from '../../../consent/proposal.ts'
import { html, type Html } from '../html.ts'
import { duration, moment, notice, type Page } from '../layout.ts'
import { effect, untrusted } from '../written.ts'
import { badges, STATES, usesLeft, whyNot } from './said.ts'

export function pendingPage ({ items, next }: PageOf<Seen>, isFirst: boolean): Page {
  return {
    title: 'Approvals',
    here: '/approvals',
    main: html`<h1>Waiting for a decision</h1>
<p class="lead">Each of these is a change that an agent wants to make and may not make without a person’s yes.</p>
${items.length === 0
    ? html`<div class="empty"><p>${isFirst ? 'Nothing waits for you.' : 'Nothing more.'}</p></div>`
    : html`<ul class="cards">${items.map((seen, at) => pendingCard(seen, likeIt(items, at)))}</ul>`}
${more('/approvals', next, isFirst)}`,
  }
}

/** How many of this page can be decided together with it; told once, at the first of them. */
function likeIt (items: readonly Seen[], at: number): number {
  const alike = (other: Seen): boolean => other.mayNot === null && belongTogether(items[at]!.record, other.record)
  return items[at]!.mayNot === null && items.findIndex(alike) === at ? items.filter(alike).length : 0
}

function pendingCard ({ record, nowMs, mayNot, votes }: Seen, alike: number): Html {
  return html`<li class="card"><h2><a href="/approvals/${record.id}">${effect(record.shown.effect)}</a></h2>
${badges(record)}
<p class="by">Asked by ${untrusted(record.owner.sub)} <span class="dot">·</span> ${duration(nowMs - record.createdAtMs)} ago
<span class="dot">·</span> <strong>${duration(record.pendingUntilMs - nowMs)} left</strong>
${record.requirement.approve > 1 ? html`<span class="dot">·</span> ${votes} of ${record.requirement.approve} approvals` : null}</p>
${alike < 2 ? null : html`<p><a href="/approvals/${record.id}/together">Review ${alike} of this kind and run together</a></p>`}
${mayNot === null ? null : html`<p class="dim">${whyNot(mayNot, record)}</p>`}</li>`
}

export function historyPage ({ items, next }: PageOf<Seen>, isFirst: boolean, { principal }: Person): Page {
  return {
    title: 'History',
    here: '/approvals/history',
    main: html`<h1>What you have decided</h1>
${items.length === 0
    ? html`<div class="empty"><p>You have not decided anything yet.</p></div>`
    : html`<ul class="cards">${items.map(({ record, state }) => html`<li class="card"><h2><a href="/approvals/${record.id}">${effect(record.shown.effect)}</a></h2>
${badges(record)}<p class="by"><strong>${STATES[state]}</strong> <span class="dot">·</span> asked by ${untrusted(record.owner.sub)}${ownWord(record, principal)}</p></li>`)}</ul>`}
${more('/approvals/history', next, isFirst)}`,
  }
}

/** What this person said themselves, which need not be what decided it. */
function ownWord ({ decisions }: ProposalRecord, principal: string): Html | null {
  const own = decisions.find(({ approver }) => approver.principal === principal)
  return own === undefined ? null : html` <span class="dot">·</span> you ${own.decision === 'approve' ? 'approved' : 'denied'} it ${moment(own.atMs)}`
}

export interface GrantActions {
  /** The form that takes a grant back. */
  readonly revoke: (id: string) => Html
}

export function grantsPage (grants: readonly Seen[], { revoke }: GrantActions, said: Html | null): Page {
  return {
    title: 'Grants',
    here: '/approvals/grants',
    main: html`<h1>Grants in force</h1>
<p class="lead">A grant lets one run of an agent repeat one kind of call for a while. It ends by itself; you can end it now.</p>${said}
${grants.length === 0 ? html`<div class="empty"><p>No grant is in force.</p></div>` : html`<ul class="cards">${grants.map(seen => grantCard(seen, revoke))}</ul>`}`,
  }
}

function grantCard ({ record, nowMs }: Seen, revoke: GrantActions['revoke']): Html {
  const { grant, uses, commitByMs, owner } = record
  return html`<li class="card"><h2><a href="/approvals/${record.id}">${effect(record.shown.effect)}</a></h2>${badges(record)}
<p class="by">Given to ${untrusted(owner.sub)}, run ${untrusted(owner.run)}</p>
<p class="by"><strong>${grant === null ? null : usesLeft(grant, uses)}</strong>
${commitByMs === null ? null : html`<span class="dot">·</span> ${duration(commitByMs - nowMs)} left, until ${moment(commitByMs)}`}</p>
${revoke(record.id)}</li>`
}

/** Told behind a change, and once. */
export const grantsNotice = (said: string | undefined): Html | null =>
  said === 'revoked' ? notice('done', 'The grant was taken back.', 'The next call of that run will be asked about again.') : null

function more (path: string, next: string | null, isFirst: boolean): Html | null {
  if (next === null && isFirst) return null
  return html`<nav class="paging" aria-label="Further pages">${isFirst ? null : html`<a href="${path}">First page</a>`}
${next === null ? null : html`<a href="${path}?cursor=${encodeURIComponent(next)}" rel="next">Next page</a>`}</nav>`
}
