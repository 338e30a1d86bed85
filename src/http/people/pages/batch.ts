// Several proposals of one kind on one page, each shown whole. It is the second step of an approval already: whoever comes here has chosen to, and the
// button is below everything that it approves.
import { readBinding } from '../../../consent/binding.ts'
import { batchDigest } from '../../../consent/batch.ts'
import type { Seen } from '../../../consent/desk.ts'
import type { ProposalRecord } from '../../../consent/proposal.ts'
import { html, type Content, type Html } from '../html.ts'
import { notice, type Page } from '../layout.ts'
import { effect, effectApart, untrusted, WHOLE } from '../written.ts'
import { changes, facts } from './content.ts'
import { agentWords, target } from './proposal.ts'
import { badges } from './said.ts'

export interface BatchView {
  readonly all: readonly Seen[]
  readonly form: (inside: Content) => Html
  readonly said: Html | null
  readonly status?: number
}

export function batchPage ({ all, form, said, status = 200 }: BatchView): Page {
  const records = all.map(({ record }) => record)
  const [first] = records as [ProposalRecord]
  const digest = batchDigest(records)
  const objects = new Set(records.map(({ binding }) => JSON.stringify(readBinding(binding).target))).size
  return {
    status,
    title: 'Approve these?',
    here: null,
    main: html`<p class="back"><a href="/approvals">All approvals</a></p>${said}
<article class="confirm"><p class="over-title">Approve these?</p><h1>${records.length} proposals, on ${objects} ${objects === 1 ? 'object' : 'objects'}</h1>
<p class="by">All of <code>${untrusted(first.action)}</code>, asked by ${untrusted(first.owner.sub)} in the run ${untrusted(first.owner.run)}</p>
<p class="lead">Each is a proposal of its own, and can be approved or denied by itself on its own page.</p>
${records.map((record, at) => one(record, at, records.length))}
${form(html`<input type="hidden" name="ids" value="${records.map(({ id }) => id).join(' ')}"><input type="hidden" name="digest" value="${digest}">
${records.some(({ requirement }) => requirement.confirm === 'checkbox')
    ? html`<div class="field"><label class="check"><input type="checkbox" name="confirmed" value="yes"> I have read what changes in each of the ${records.length}, and I want it</label></div>`
    : null}<button class="go" name="decision" value="approve" data-settle data-decides>Approve these ${records.length}</button>`)}
<p class="dim">Digest over all of them: <code>${digest}</code></p></article>`,
  }
}

const one = (record: ProposalRecord, at: number, of: number): Html => html`<section class="card"><p class="over-title">${at + 1} of ${of}</p>
<h2><a href="/approvals/${record.id}">${effect(record.shown.effect)}</a></h2>${effectApart(record.shown.effect, WHOLE)}${badges(record)}
${target(record, readBinding(record.binding), WHOLE)}${changes(record, WHOLE)}${facts(record, WHOLE)}${agentWords(record)}
${record.requirement.approve > 1 ? html`<p>${record.requirement.approve} different people have to approve it. Yours is one of them.</p>` : null}</section>`

/** What became of each, where not all were taken. */
export function batchOutcome (outcomes: ReadonlyArray<{ readonly record: ProposalRecord, readonly why: string | null }>): Page {
  const taken = outcomes.filter(({ why }) => why === null).length
  return {
    status: 409,
    title: 'Not all were approved',
    here: null,
    main: html`<p class="back"><a href="/approvals">All approvals</a></p>
${notice('stop', `${taken} of ${outcomes.length} were approved.`, 'The others were not; what kept them stands beside each.')}
<h1>Not all were approved</h1><ul class="cards">${outcomes.map(({ record, why }) =>
    html`<li class="card"><h2><a href="/approvals/${record.id}">${effect(record.shown.effect)}</a></h2><p class="by"><strong>${why ?? 'You approved this.'}</strong></p></li>`)}</ul>`,
  }
}
