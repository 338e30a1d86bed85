// What a proposal is about, as both steps of a decision show it: whoever presses the button has all of it before them.
import type { ProposalRecord, ProposalState } from '../../../consent/proposal.ts'
import { html, type Html } from '../html.ts'
import { duration } from '../layout.ts'
import { columnsAt, objectsOf, valuesOf } from './said.ts'
import { diffTable, untrusted, value, WHOLE, type Length } from '../written.ts'

/** Which secret stands behind it, as short as people say it; the whole reference stands with the exact request. */
export function accountName (reference: string): Html {
  const colon = reference.indexOf(':')
  if (colon === -1) return untrusted(reference)
  const last = reference.slice(colon + 1).split('/').filter(step => step !== '').at(-1) ?? ''
  return html`${untrusted(last)} <small>(${untrusted(reference.slice(0, colon))})</small>`
}

/** @param state as it stands now: what is not carried out has not happened */
export function changes ({ shown, state: kept }: ProposalRecord, length: Length, state: ProposalState = kept): Html {
  const undecodable = shown.undecodable.length === 0 ? null : html`<p class="caution block">The broker could not decode
${shown.undecodable.map((pointer, at) => html`${at === 0 ? '' : ', '}${untrusted(pointer)}`)}. Approve only if you know what these hold.</p>`
  return html`<section><h2>What changes</h2>${undecodable}
${shown.diff.length === 0 ? html`<p class="dim">No field of the object is known to change.</p>` : diffTable(shown.diff, length, { caption: 'Every field that differs', ...columnsAt(state) }, shown.redacted)}</section>`
}

/** What a grant is good for: that is what is approved, beside the call that asks for it. */
export function granted ({ grant, effect }: ProposalRecord): Html | null {
  if (grant === null) return null
  return html`<section><h2>What the grant allows</h2><dl class="facts">
<div><dt>Actions</dt><dd>${grant.actions.map(({ id }) => html`${untrusted(id)} `)}</dd></div>
<div><dt>Objects</dt><dd>${grant.targets.length === 0 ? html`<em class="own">${objectsOf(effect)}</em>` : grant.targets.map(({ type, id }) => html`${untrusted(type)} ${value(id, WHOLE)} `)}</dd></div>
<div><dt>Values</dt><dd><em class="own">${valuesOf(effect, grant)}</em></dd></div>
<div><dt>At most</dt><dd>${grant.usesMax} ${grant.usesMax === 1 ? 'use' : 'uses'} within ${duration(grant.lifeMs)} of the approval</dd></div></dl></section>`
}

export function facts ({ shown }: ProposalRecord, length: Length): Html | null {
  const rows = Object.entries(shown.facts)
  return rows.length === 0 ? null : html`<section><h2>What else is known</h2><dl class="facts">${rows.map(([name, one]) =>
    html`<div><dt>${untrusted(name.replaceAll('_', ' '))}</dt><dd>${value(one, length)}</dd></div>`)}</dl></section>`
}
