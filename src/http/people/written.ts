// What others wrote, as HTML: the parts of consent/untrusted.ts each as an element of its own. Nothing becomes a link, nothing is interpreted.
import type { Json } from '../../catalog/catalog.ts'
import { kindOf } from '../../consent/alphabets.ts'
import { renderDiff, renderEffect, type Slot } from '../../consent/effect-view.ts'
import type { DiffRow, EffectPart } from '../../consent/proposal.ts'
import { codePointsOf, NO_BUDGET, renderReason, renderUntrusted, VALUE_BUDGET, type Badge, type Part, type Rendered } from '../../consent/untrusted.ts'
import { renderValue, type ValueView } from '../../consent/value-view.ts'
import { html, type Html } from './html.ts'

export interface Length {
  /** Everything is shown, however long it is. */
  readonly whole: boolean
  /** Where the page is that shows everything. */
  readonly expand: string | null
}

const AMOUNT_MAX = 24

export const WHOLE: Length = Object.freeze({ whole: true, expand: null })

/** Short enough to stand in one line of any window. */
function isAmount ({ parts }: Rendered): boolean {
  const [only] = parts
  return parts.length === 1 && only!.kind === 'text' && only!.text.length <= AMOUNT_MAX && kindOf(only!.text) === 'amount'
}

const budgetOf = ({ whole }: Length): typeof VALUE_BUDGET => whole ? NO_BUDGET : VALUE_BUDGET

/** A name, an id, a line: whatever was written by anybody but us. */
export const untrusted = (text: string): Html => rendered(renderUntrusted(text, NO_BUDGET), WHOLE)

/** What a person or an agent says in their own words. */
export function words (text: string): Html {
  const shown = renderReason(text)
  return html`<blockquote class="words">${rendered(shown, WHOLE)}</blockquote>${badges(shown.badges)}${codePoints(shown, text)}`
}

export function value (json: Json | undefined, length: Length): Html {
  const shown = renderValue(json, budgetOf(length))
  return html`${view(shown, length)}${typeof json === 'string' && shown.kind === 'text' ? codePoints(shown.rendered, json) : null}`
}

export function view (shown: ValueView, length: Length): Html {
  switch (shown.kind) {
    case 'text': return html`<span class="value${isAmount(shown.rendered) ? ' amount' : ''}">${rendered(shown.rendered, length)}</span>${badges(shown.rendered.badges)}`
    case 'number': case 'boolean': return html`<span class="value">${shown.text}</span>`
    case 'redacted': return html`<span class="value redacted">${shown.text}</span>`
    case 'list':
      return html`<ol class="members">${shown.items.map(item => html`<li>${view(item, length)}</li>`)}</ol>${remainder(shown.rest?.text, length)}`
    case 'object':
      return html`<dl class="members">${shown.entries.map(({ name, value }) =>
        html`<div><dt>${rendered(name, WHOLE)}</dt><dd>${view(value, length)}</dd></div>`)}</dl>${remainder(shown.rest?.text, length)}`
    default: return html`<em class="own">${shown.text}</em>`
  }
}

/** @param plain how a part that is shown as it is becomes HTML */
export function rendered (shown: Rendered, length: Length, plain = (text: string): Html => html`${text}`): Html {
  const parts = shown.parts.map(part => part.kind === 'text' && !shown.rightToLeft ? plain(part.text) : written(part, length))
  return html`<span class="untrusted" translate="no">${parts}</span>`
}

/** A pointer may go on in the next line behind each slash. */
const breakable = (text: string): Html => html`${text.split('/').map((step, at) => html`${at === 0 ? null : html`/<wbr>`}${step}`)}`

function written (part: Part, length: Length): Html {
  switch (part.kind) {
    case 'text': return html`<bdi dir="auto">${part.text}</bdi>`
    case 'chip': return html`<span class="chip">${part.text}</span>`
    case 'break': return html`<span class="mark">${part.text}</span><br>`
    case 'tab': case 'spaces': return html`<span class="mark">${part.text}</span>`
    case 'rest': return remainder(part.text, length)
  }
}

function remainder (text: string | undefined, { expand }: Length): Html {
  if (text === undefined) return html``
  return html`<span class="rest">${text}${expand === null ? null : html` <a href="${expand}">Show everything</a>`}</span>`
}

const badges = (all: readonly Badge[]): Html => html`${all.map(({ text }) => html` <span class="caution">${text}</span>`)}`

/** For whoever wants to look closely at what is not plain. */
function codePoints (shown: Rendered, text: string): Html | null {
  if (!shown.chipped && shown.badges.length === 0) return null
  return html`<details class="points"><summary>Show code points</summary><code>${codePointsOf(text).join(' ')}</code></details>`
}

/** The sentence that says what would happen. A value in it is quoted and says what it is, so that none can pass for a part of the sentence. */
export function effect (parts: readonly EffectPart[]): Html {
  return html`${renderEffect(parts).parts.map(part => part.kind === 'text' ? html`${rendered(part.rendered, WHOLE)}` : slot(part))}`
}

function slot (part: Slot): Html {
  if (part.moved) return html`<span class="slot moved">(see ${rendered(renderUntrusted(part.of), WHOLE)})</span>`
  const quoted = part.value.kind === 'text'
  return html`<span class="slot">${quoted ? '“' : null}${view(part.value, WHOLE)}${quoted ? '”' : null}<small>${part.label}</small></span>`
}

/** Values too long or too strange to stand in the sentence. */
export function effectApart (parts: readonly EffectPart[], length: Length): Html | null {
  const { apart } = renderEffect(parts)
  if (apart.length === 0) return null
  const valueOf = (of: string): Json => (parts.find(part => part.kind === 'slot' && part.of === of) as { value: Json }).value
  return html`<dl class="facts">${apart.map(({ of, label }) =>
    html`<div><dt>${untrusted(of)} <small>${label}</small></dt><dd>${value(valueOf(of), length)}</dd></div>`)}</dl>`
}

const CHANGES = { added: 'new', removed: 'gone', changed: 'changed' }

export interface Columns { readonly caption: string, readonly was: string, readonly now: string }

export function diffTable (rows: readonly DiffRow[], length: Length, { caption, was, now }: Columns, redacted: readonly string[] = []): Html {
  return html`<table class="diff"><caption>${caption}</caption>
<thead><tr><th scope="col">Field</th><th scope="col">${was}</th><th scope="col">${now}</th></tr></thead>
<tbody>${renderDiff(rows, redacted, budgetOf(length)).map(row => html`<tr><th scope="row"><span class="field">${rendered(row.field, WHOLE, breakable)}</span> <small>${CHANGES[row.change]}</small></th>
<td data-label="${was}"><del>${view(row.was, length)}</del></td><td data-label="${now}"><ins>${view(row.now, length)}</ins></td></tr>`)}</tbody></table>`
}
