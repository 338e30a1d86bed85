// The pages of the demo's identity provider. Each says what it is.
export interface DemoPerson {
  readonly sub: string
  readonly name: string
  readonly roles: readonly string[]
  /** What this person is for, in the demo. */
  readonly about: string
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)

const STYLE = `:root{color-scheme:light dark}
body{font:1.05rem/1.5 system-ui,sans-serif;max-width:34rem;margin:3rem auto;padding:0 1.25rem;color:light-dark(#1d2733,#e7ebf0);background:light-dark(#fff,#14181e)}
.mark{border:2px dashed light-dark(#a15c00,#e0a64c);border-radius:.5rem;padding:.75rem 1rem;color:light-dark(#7a4600,#f0c684)}
button{font:inherit;display:block;width:100%;text-align:left;margin:.6rem 0;padding:.75rem 1rem;border:1px solid light-dark(#8593a3,#66717f);border-radius:.5rem;background:none;color:inherit;cursor:pointer}
button:hover,button:focus-visible{border-color:light-dark(#0b5394,#8ec5ff);outline:2px solid light-dark(#0b5394,#8ec5ff)}
button small{display:block;color:light-dark(#56616f,#a7b1bd)}
input{font:inherit;padding:.5rem .75rem;letter-spacing:.1em}`

function page (title: string, main: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escaped(title)} · development sign-in</title><style>${STYLE}</style>
<p class="mark"><strong>Development sign-in.</strong> Part of the demo: anyone at this machine can be anyone here, without a password.</p>
<main><h1>${escaped(title)}</h1>${main}</main></html>`
}

/** @param fields what is sent along with the choice; a user code may be changed */
export function choosePage (action: string, people: readonly DemoPerson[], fields: ReadonlyArray<readonly [string, string]>, question: string): string {
  const inputs = fields.map(([name, value]) => name === 'user_code'
    ? `<p><label>Code <input name="user_code" value="${escaped(value)}" autocomplete="off"></label></p>`
    : `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`)
  const buttons = people.map(({ sub, name, about }) => `<button name="person" value="${escaped(sub)}">${escaped(name)}<small>${escaped(about)}</small></button>`)
  // Enter in the field presses the first button of a form: one that is out of order, so that nobody is chosen by it.
  const byEnter = '<button disabled hidden></button>'
  return page('Who are you?', `<p>${escaped(question)}</p><form method="post" action="${action}">${byEnter}${inputs.join('')}${buttons.join('')}</form>`)
}

/** @param back where it can be tried once more, a path of ours with its label */
export const donePage = (title: string, text: string, back: { readonly href: string, readonly label: string } | null = null): string =>
  page(title, `<p>${escaped(text)}</p>${back === null ? '' : `<p><a href="${escaped(back.href)}">${escaped(back.label)}</a></p>`}`)
