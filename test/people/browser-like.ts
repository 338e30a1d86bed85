// A person's browser as far as HTTP goes: it keeps cookies by their rules of SameSite, follows redirects, and sends what a browser says of where a
// request comes from. Pages are read as text; test/browser/ looks at them with a real one.
import assert from 'node:assert/strict'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly url: string
}

export interface Sent {
  readonly method?: string
  readonly body?: string
  /** undefined takes a header away. */
  readonly headers?: { readonly [name: string]: string | undefined }
}

export class Visitor {
  readonly origin: string
  readonly cookies = new Map<string, string>()

  constructor (origin: string) {
    this.origin = origin
  }

  async ask (path: string, { method = 'GET', body, headers = {} }: Sent = {}): Promise<Answer> {
    const url = path.startsWith('http') ? path : `${this.origin}${path}`
    const ours = url.startsWith(this.origin)
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const browser = method === 'GET'
      ? { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', accept: 'text/html' }
      : { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'document', origin: this.origin, 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
    const all = { ...browser, ...(ours && cookie !== '' ? { cookie } : {}), ...headers }
    const sent = Object.fromEntries(Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined))
    const answer = await fetch(url, { method, headers: sent, body: body ?? null, redirect: 'manual' })
    if (ours) this.#keep(answer.headers.getSetCookie())
    return { status: answer.status, headers: answer.headers, text: await answer.text(), url }
  }

  /** Follows until a page is there. */
  async open (path: string, sent: Sent = {}): Promise<Answer> {
    let answer = await this.ask(path, sent)
    for (let hops = 0; answer.status >= 300 && answer.status < 400 && hops < 10; hops++) {
      answer = await this.ask(new URL(answer.headers.get('location')!, answer.url).href)
    }
    return answer
  }

  async signIn (returnTo = '/approvals'): Promise<Answer> {
    const answer = await this.open(`/sign-in?return_to=${encodeURIComponent(returnTo)}`)
    assert.equal(answer.status, 200, answer.text)
    return answer
  }

  /** Posts a form of a page, found by where it posts to, with what was filled in. */
  async submit (page: Answer, action: string, filled: { readonly [name: string]: string } = {}, headers: Sent['headers'] = {}): Promise<Answer> {
    return this.ask(action, { method: 'POST', body: new URLSearchParams({ ...hidden(page, action), ...filled }).toString(), headers })
  }

  #keep (set: readonly string[]): void {
    for (const line of set) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      if (/; Max-Age=0\b/.test(line)) this.cookies.delete(name!)
      else this.cookies.set(name!, value!)
    }
  }
}

/** The hidden inputs of the form that posts there. */
export function hidden ({ text }: Answer, action: string): { [name: string]: string } {
  const form = new RegExp(`<form method="post" action="${action.replaceAll('/', '\\/')}">([\\s\\S]*?)</form>`).exec(text)?.[1]
  assert.ok(form !== undefined, `there is no form for ${action} in ${text}`)
  return Object.fromEntries([...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(match => [match[1]!, match[2]!]))
}
