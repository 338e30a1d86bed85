// Pages of operators: what nobody knows the fate of, which runs are under way, and the state of the broker.
import type { AttemptRecord } from '../../../attempts/attempt.ts'
import type { AboutAttempt, OperatorAct, OperatorDesk, SeenRun } from '../../../consent/desk.ts'
import { html, type Content, type Html } from '../html.ts'
import { moment, type Page } from '../layout.ts'
import { untrusted, value, WHOLE } from '../written.ts'

type Form = (inside: Content) => Html

interface Unresolved { readonly record: AttemptRecord, readonly about: AboutAttempt }

const STATES: Partial<Record<AttemptRecord['state'], string>> = {
  unknown: 'Unknown', pending: 'Still under way upstream', escalated: 'Waits for a person',
}

export function unresolvedPage (attempts: readonly Unresolved[], said: Html | null): Page {
  return {
    title: 'Unresolved attempts',
    here: '/operator',
    main: html`<h1>Unresolved attempts</h1><p class="lead">Each was sent, and it is not known what became of it. The broker goes on looking; what it cannot find out, a person has to.</p>${said}
${attempts.length === 0 ? html`<div class="empty"><p>The fate of everything that was sent is known.</p></div>` : html`<ul class="cards">${attempts.map(card)}</ul>`}`,
  }
}

/** Two of one action are told apart by what they are about. */
function card ({ record, about }: Unresolved): Html {
  const { target, sensitive, args } = record
  const what = target !== null ? html`${untrusted(target.type)} ${value(target.id, WHOLE)}` : sensitive ? null : value(args, WHOLE)
  return html`<li class="card"><h2><a href="/operator/attempts/${record.id}">${heading(record, about)}</a></h2>${what === null ? null : html`<div class="by">${what}</div>`}
<p class="by"><strong>${STATES[record.state] ?? record.state}</strong>${record.dispatchedAtMs === null ? null : html`<span class="dot">·</span> sent ${moment(record.dispatchedAtMs)}`}
<span class="dot">·</span> ${record.lookups} ${record.lookups === 1 ? 'look-up' : 'look-ups'}</p>
${record.missing === null ? null : html`<p class="dim">${untrusted(record.missing)}</p>`}</li>`
}

const heading = ({ action }: AttemptRecord, { title }: AboutAttempt): Html => title === null || title === '' ? html`<code>${untrusted(action)}</code>` : untrusted(title)

export interface ResolveDraft {
  readonly outcome: string
  readonly code: string
  readonly note: string
  readonly faults: readonly string[]
}

export const NO_ANSWER: ResolveDraft = Object.freeze({ outcome: '', code: '', note: '', faults: [] })

export function attemptPage ({ record, about }: Unresolved, form: Form, draft: ResolveDraft): Page {
  const { owner } = record
  const at = (name: string, ms: number | null): Html | null => ms === null ? null : html`<div><dt>${name}</dt><dd>${moment(ms)}</dd></div>`
  return {
    status: draft.faults.length === 0 ? 200 : 422,
    title: 'An unresolved attempt',
    here: null,
    main: html`<p class="back"><a href="/operator">Unresolved attempts</a></p>
${draft.faults.length === 0 ? null : html`<div class="notice stop" role="alert" tabindex="-1" data-focus><p><strong>Not written down yet</strong></p>
<ul>${draft.faults.map(fault => html`<li>${fault}</li>`)}</ul></div>`}
<article class="proposal"><div class="facts-of"><p class="over-title">${STATES[record.state] ?? record.state}</p><h1>${heading(record, about)}</h1>
<section><h2>Evidence</h2><dl class="facts">
<div><dt>What is missing</dt><dd>${record.missing === null ? html`<em class="own">nothing was said</em>` : untrusted(record.missing)}</dd></div>
<div><dt>Key at the upstream</dt><dd><code id="key">${record.key}</code> <button type="button" class="quiet" data-copy="key" hidden>Copy</button></dd></div>
${record.reference === null ? null : html`<div><dt>Reference</dt><dd>${value(record.reference, WHOLE)}</dd></div>`}
${at('Sent', record.dispatchedAtMs)}${at('Unknown since', record.unknownAtMs)}
<div><dt>Look-ups</dt><dd>${record.lookups}</dd></div>${at('Not found since', record.firstAbsentAtMs)}</dl></section>
<section><h2>What was asked for</h2><dl class="facts"><div><dt>Action</dt><dd><code>${untrusted(record.action)}</code></dd></div>
<div><dt>System</dt><dd>${untrusted(record.upstream)}</dd></div>
${record.target === null ? null : html`<div><dt>Object</dt><dd>${untrusted(record.target.type)} ${value(record.target.id, WHOLE)}</dd></div>`}
<div><dt>Arguments</dt><dd>${record.sensitive ? html`<em class="own">not shown: the action is a sensitive one</em>` : value(record.args, WHOLE)}</dd></div>
<div><dt>Agent</dt><dd>${untrusted(owner.sub)} <small>${untrusted(owner.iss)}</small></dd></div><div><dt>Run</dt><dd>${untrusted(owner.run)}</dd></div>
<div><dt>Tenant</dt><dd>${untrusted(owner.tenant)}</dd></div>
<div><dt>Attempt</dt><dd><code>${record.id}</code></dd></div><div><dt>Correlation id</dt><dd><code>${record.correlationId}</code></dd></div></dl></section></div>
<div class="decision"><h2>What did you find?</h2><p class="dim">Look it up in the other system by its key or reference. What you say here is final, and the agent is told.</p>${form(html`
<fieldset><legend>Outcome</legend>
<label><input type="radio" name="outcome" value="completed"${draft.outcome === 'completed' ? html` checked` : null}> It took effect</label>
<label><input type="radio" name="outcome" value="rejected"${draft.outcome === 'rejected' ? html` checked` : null}> It had no effect</label></fieldset>
<div class="field code-field"><label for="code">Code for the agent <span class="dim">(only if it had no effect)</span></label>
<select id="code" name="code"><option value="">NOT_APPLIED</option>
${about.codes.filter(code => code !== 'NOT_APPLIED').map(code => html`<option value="${code}"${code === draft.code ? html` selected` : null}>${code}</option>`)}</select></div>
<div class="field"><label for="note">How do you know</label><textarea id="note" name="note" rows="3">
${draft.note}</textarea></div><button class="go">Write it down</button>`)}</div></article>`,
  }
}

export function runsPage (runs: Awaited<ReturnType<OperatorDesk['runs']>>, stop: Form, said: Html | null): Page {
  return {
    title: 'Runs',
    here: '/operator/runs',
    main: html`<h1>Runs</h1><p class="lead">Runs of agents that write. A run that is stopped gets nothing more done; what was sent already goes on.</p>${said}
${runs.length === 0
    ? html`<div class="empty"><p>No run has written lately.</p></div>`
    : html`<ul class="cards">${runs.map((run, at) => runCard(run, at, stop))}</ul>`}`,
  }
}

function runCard ({ iss, sub, tenant, run, writes, lastAtMs, stopped }: SeenRun, at: number, stop: Form): Html {
  const about = html`<h2>${untrusted(run)}</h2>
<p class="by">${untrusted(sub)}${tenant === 'default' ? null : html`<span class="dot">·</span> ${untrusted(tenant)}`}<span class="dot">·</span> ${writes} ${writes === 1 ? 'write' : 'writes'}
<span class="dot">·</span> last ${moment(lastAtMs)}</p>`
  if (stopped !== null) return html`<li class="card">${about}<p><strong>Stopped</strong>${stopped.act === null ? null : html` by ${acted(stopped.act)}`}</p></li>`
  return html`<li class="card">${about}<details class="deny"><summary>Stop…<span class="sr"> the run ${untrusted(run)}</span></summary>
<p>It cannot be taken back: nothing more of this run is carried out, and what it proposed is void.</p>
${stop(html`${hiddenFields({ iss, sub, tenant, run })}<div class="field"><label for="stop-note-${at}">Why</label>
<input id="stop-note-${at}" name="note" autocomplete="off" required maxlength="500"></div>
<button class="stop">Stop the run for good<span class="sr">: ${untrusted(run)}</span></button>`)}</details></li>`
}

/** Who, when and why. */
const acted = ({ by, note, atMs }: OperatorAct): Html =>
  html`${untrusted(by)}, ${moment(atMs)}${note === '' ? null : html`: ${untrusted(note)}`}`

const hiddenFields = (fields: { readonly [name: string]: string }): Html =>
  html`${Object.entries(fields).map(([name, text]) => html`<input type="hidden" name="${name}" value="${text}">`)}`

export interface BrokerForms { readonly reload: Form, readonly lock: Form, readonly unlock: Form }

export function brokerPage (state: Awaited<ReturnType<OperatorDesk['lockState']>>, forms: BrokerForms, mayUnlock: boolean, said: Html | null): Page {
  const waits = state.waitingFor.length === 0 ? null : html`<p class="caution block">Not yet confirmed by ${state.waitingFor.map(name => html`${untrusted(name)} `)}</p>`
  const note = (id: string): Html => html`<div class="field"><label for="${id}">Why</label><input id="${id}" name="note" autocomplete="off" required maxlength="500"></div>`
  const unlock = mayUnlock
    ? forms.unlock(html`${note('unlock-note')}<button class="go">Unlock</button>`)
    : html`<p>To unlock, sign in again: what somebody locked is opened by someone who is certainly there.</p>
<p><a class="button" href="/sign-in?return_to=/operator/broker&amp;fresh=yes">Sign in again</a></p>`
  return {
    title: 'The broker',
    here: '/operator/broker',
    main: html`<h1>The broker</h1>${said}
<section class="panel"><h2>Lock</h2><p class="state ${state.locked ? 'denied' : 'approved'}">${state.locked ? 'Locked' : 'Open'}</p>${state.act === null ? null : html`<p>Locked by ${acted(state.act)}</p>`}${waits}
${state.locked
    ? html`<p>No agent gets anything done and no secret is used. Approvals that were given before have to be given again.</p>${unlock}`
    : html`<p>Locking stops every agent at once, on every replica, and voids every approval and grant.</p>
${forms.lock(html`${note('lock-note')}<button class="stop">Lock the broker</button>`)}`}</section>
<section class="panel"><h2>Action sheets</h2><p>Reads the folder again. A set with a fault changes nothing and says why.</p>${forms.reload(html`<button>Read the sheets again</button>`)}</section>`,
  }
}
