// The sentence that says what would happen, and the table of what would change, as parts that every surface writes in its own way. The sentence is the
// sheet's; a value stands in it as a slot of its own, and never where it could be read as part of the sentence.
import type { Json } from '../catalog/catalog.ts'
import { kindOf } from './alphabets.ts'
import type { DiffRow, EffectPart } from './proposal.ts'
import { NO_BUDGET, plainLine, renderUntrusted, VALUE_BUDGET, type Budget, type Rendered } from './untrusted.ts'
import { renderValue, valueLine, type ValueView } from './value-view.ts'

export interface Slot {
  readonly kind: 'slot'
  /** As the sheet writes it, `args.order_id`. */
  readonly of: string
  /** What it is, in a word: `text`, `amount`, `number` … */
  readonly label: string
  readonly value: ValueView
  /** Too long or too strange to stand in a sentence: there a reference stands, and the value is shown below it, among `apart`. */
  readonly moved: boolean
}

export type SentencePart = { readonly kind: 'text', readonly rendered: Rendered } | Slot

export interface Sentence {
  readonly parts: readonly SentencePart[]
  /** Slots whose values have to be shown beside the sentence. */
  readonly apart: readonly Slot[]
}

/** Code points of a value that may stand inside the sentence. */
const IN_SENTENCE_MAX = 80

/** @param budget of a value that stands apart; inside the sentence none is long */
export function renderEffect (effect: readonly EffectPart[], budget: Budget = VALUE_BUDGET): Sentence {
  const parts = effect.map((part): SentencePart => part.kind === 'text' ? { kind: 'text', rendered: renderUntrusted(part.text, NO_BUDGET, { within: true }) } : slotOf(part.of, part.value, budget))
  const apart = parts.filter((part): part is Slot => part.kind === 'slot' && part.moved)
  return { parts, apart: apart.filter((slot, at) => apart.findIndex(({ of }) => of === slot.of) === at) }
}

function slotOf (of: string, value: Json, budget: Budget): Slot {
  const shown = renderValue(value, budget)
  return { kind: 'slot', of, label: labelOf(value), value: shown, moved: isChipped(shown) || Array.from(valueLine(shown)).length > IN_SENTENCE_MAX + 2 }
}

function isChipped (shown: ValueView): boolean {
  if (shown.kind === 'text') return shown.rendered.chipped
  if (shown.kind === 'list') return shown.items.some(isChipped)
  return shown.kind === 'object' && shown.entries.some(({ name, value }) => name.chipped || isChipped(value))
}

const LABELS = { text: 'text', identifier: 'identifier', host: 'host', email: 'e-mail', amount: 'amount' }

function labelOf (value: Json): string {
  if (typeof value === 'string') return LABELS[kindOf(value)]
  if (typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'yes or no'
  if (value === null) return 'nothing'
  return Array.isArray(value) ? 'list' : 'object'
}

/** The sentence as one line of plain text, for a terminal, a notice, a tool's answer. */
export function effectLine (effect: readonly EffectPart[]): string {
  return renderEffect(effect).parts.map(part => {
    if (part.kind === 'text') return plainLine(part.rendered)
    return part.moved ? `(see ${plainLine(renderUntrusted(part.of))})` : valueLine(part.value)
  }).join('')
}

export interface RowView {
  /** Where it stands, `/shipping_address/city`. */
  readonly field: Rendered
  readonly was: ValueView
  readonly now: ValueView
  /** In words, since colour is not enough. */
  readonly change: 'added' | 'removed' | 'changed'
}

/** @param redacted pointers at which marks stand in the place of values, the same for equal ones */
export function renderDiff (rows: readonly DiffRow[], redacted: readonly string[] = [], budget: Budget = VALUE_BUDGET): readonly RowView[] {
  return rows.map(({ pointer, was, now }) => {
    const show = (value: Json | undefined): ValueView => typeof value === 'string' && redacted.includes(pointer)
      ? { kind: 'redacted', text: value }
      : renderValue(value, budget)
    return { field: renderUntrusted(pointer), was: show(was), now: show(now), change: was === undefined ? 'added' : now === undefined ? 'removed' : 'changed' }
  })
}
