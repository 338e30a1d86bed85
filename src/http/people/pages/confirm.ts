// The second step of an approval: the effect and every change once more, and the one button that approves. It is a page of its own, so that no single
// click on something that looked like another thing can be a yes, with or without a script.
import { readBinding } from '../../../consent/binding.ts'
import { toTypeFor } from '../../../consent/confirm.ts'
import type { Seen } from '../../../consent/desk.ts'
import type { ProposalRecord } from '../../../consent/proposal.ts'
import { html, type Content, type Html } from '../html.ts'
import { duration, notice, type Page } from '../layout.ts'
import { effect, effectApart, untrusted, WHOLE } from '../written.ts'
import { accountName, changes, facts, granted } from './content.ts'
import { badges, meaningOf } from './said.ts'

export interface ConfirmView {
  readonly seen: Seen
  /** What has to be typed, where the requirement asks for that. */
  readonly toType: string | null
  readonly form: (inside: Content) => Html
  /** What was wrong with what was sent before. */
  readonly fault: Content
  readonly typed: string
  readonly status?: number
}

export function confirmPage (view: ConfirmView): Page {
  const { seen: { record, nowMs }, form, fault, status = 200 } = view
  const { shown } = record
  return {
    status,
    title: 'Approve this?',
    here: null,
    main: html`<p class="back"><a href="/approvals/${record.id}">Back to the proposal</a></p>
${fault === null ? null : html`<div class="notice stop" role="alert" tabindex="-1" data-focus><p><strong>Not approved yet</strong></p><p>${fault}</p></div>`}
<article class="confirm"><p class="over-title">Approve this?</p><h1 class="effect">${effect(shown.effect)}</h1>${effectApart(shown.effect, WHOLE)}${badges(record)}
<p class="by">On ${untrusted(record.upstream)} with the account ${accountName(readBinding(record.binding).upstream.account)}</p>
${changes(record, WHOLE)}${granted(record)}${facts(record, WHOLE)}
${record.requirement.approve > 1 ? html`<p>${record.requirement.approve} different people have to approve. Yours is one of them.</p>` : null}
<p class="dim">${meaningOf(record)} ${duration(record.pendingUntilMs - nowMs)} are left to decide.</p>
${form(html`${confirmation(view)}<button class="go" name="decision" value="approve" data-settle data-decides>${buttonOf(record)}</button>`)}</article>`,
  }
}

/** A grant is more than what is shown of it, so the button says how much. */
function buttonOf ({ grant }: ProposalRecord): string {
  return grant === null ? 'Approve' : `Allow ${grant.usesMax} ${grant.usesMax === 1 ? 'use' : 'uses'} for ${duration(grant.lifeMs)}`
}

function confirmation ({ seen: { record }, toType, typed, fault }: ConfirmView): Html | null {
  const invalid = fault === null ? null : html` aria-invalid="true"`
  switch (record.requirement.confirm) {
    case 'none': return null
    case 'checkbox':
      return html`<div class="field"><label class="check"><input type="checkbox" name="confirmed" value="yes"${invalid}> I have read what changes, and I want it</label></div>`
    case 'type_value':
      return html`<div class="field"><label for="confirmed">Type <strong class="to-type">${untrusted(toType ?? '')}</strong> to confirm</label>
<input id="confirmed" name="confirmed" value="${typed}" autocomplete="off" autocapitalize="off" spellcheck="false"${invalid}></div>`
  }
}

/** Which of the two it is that is missing. */
export function unconfirmed (record: ProposalRecord, typed: string): Html {
  if (record.requirement.confirm === 'checkbox') return html`Tick the box: you have to say that you have read what changes.`
  const asked = html`<strong class="to-type">${untrusted(toTypeFor(record))}</strong>`
  return typed.trim() === '' ? html`Type ${asked} below; nothing was typed.` : html`You typed <strong class="to-type">${untrusted(typed)}</strong>; ${asked} is asked for.`
}

export const tooQuick = (): Html => notice('note', 'That was too quick to have been read.', 'Nothing was approved. Read it again, then approve.')
