// HTML as a tagged template: whatever is put in is escaped, unless it was made by the same tag. There is no other way to make Html.

const made = Symbol('made by html')

export class Html {
  readonly text: string
  constructor (text: string, by: typeof made) {
    if (by !== made) throw new TypeError('Html is made by its template tag alone.')
    this.text = text
  }
}

export type Content = Html | string | number | null | undefined | false | readonly Content[]

export function html (strings: TemplateStringsArray, ...values: readonly Content[]): Html {
  return new Html(strings.reduce((text, part, at) => text + written(values[at - 1]) + part), made)
}

function written (content: Content): string {
  if (content === null || content === undefined || content === false) return ''
  if (content instanceof Html) return content.text
  if (typeof content === 'object') return content.map(written).join('')
  return escaped(String(content))
}

const ESCAPES: { readonly [character: string]: string } = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, character => ESCAPES[character]!)
