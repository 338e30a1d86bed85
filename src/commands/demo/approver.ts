// A person of the demo who decides on the page while nobody is at the keyboard: the same pages and forms as in a browser, from the sign-in on.
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'

interface Page {
  readonly url: string
  readonly status: number
  readonly text: string
}

/** What the page takes for read. */
const READING_MS = 1_000

export class PageVisitor {
  readonly #origin: string
  readonly #cookies = new Map<string, string>()

  /** @param origin where people reach the broker */
  constructor (origin: string) {
    this.#origin = origin
  }

  /** @param person who is chosen at the identity provider */
  async signIn (person: string): Promise<void> {
    const choice = await this.#ask('GET', `${this.#origin}/sign-in`)
    const done = await this.#submit(choice, '/authorize', { person })
    if (done.status !== 200) throw new Error(`the sign-in ended with ${done.status}`)
  }

  /** The text of the proposal's page, without its markup. */
  async read (id: string): Promise<string> {
    return textOf((await this.#ask('GET', `${this.#origin}/approvals/${id}`)).text)
  }

  /** Opens the second step, reads it, and approves. Resolves with the text of the page after it. */
  async approve (id: string): Promise<string> {
    const confirm = await this.#ask('GET', `${this.#origin}/approvals/${id}/confirm`)
    await sleep(READING_MS)
    const after = await this.#submit(confirm, `/approvals/${id}/decision`, { decision: 'approve', confirmed: 'yes' })
    if (after.status !== 200) throw new Error(`the approval ended with ${after.status}`)
    return textOf(after.text)
  }

  #submit (page: Page, action: string, filled: { readonly [name: string]: string }): Promise<Page> {
    const form = page.text.split('<form').find(one => one.includes(`action="${action}"`)) ?? ''
    const hidden = [...form.split('</form>')[0]!.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(match => [match[1]!, unescaped(match[2]!)])
    const fields = new URLSearchParams([...hidden, ...Object.entries(filled)] as Array<[string, string]>)
    return this.#ask('POST', new URL(action, page.url).href, fields.toString())
  }

  async #ask (method: 'GET' | 'POST', url: string, body: string | null = null): Promise<Page> {
    const { origin } = new URL(url)
    const answer = await request(url, {
      method,
      headers: {
        accept: 'text/html',
        ...(origin === this.#origin && { cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ') }),
        ...(body !== null && { origin, 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' }),
      },
      body,
    })
    const text = await answer.body.text()
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
      const [name = '', value = ''] = line.split(';')[0]!.split('=')
      if (value === '') this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
    const { location } = answer.headers
    return typeof location === 'string' ? this.#ask('GET', new URL(location, url).href) : { url, status: answer.statusCode, text }
  }
}

const unescaped = (text: string): string => text.replace(/&(?:#(\d+)|(amp|quot|lt|gt|#39));/g, (_, code: string | undefined, name: string) =>
  code === undefined ? { amp: '&', quot: '"', lt: '<', gt: '>', '#39': "'" }[name]! : String.fromCodePoint(Number(code)))

const textOf = (page: string): string => unescaped((/<main[^]*<\/main>/.exec(page)?.[0] ?? page).replace(/<[^>]+>/g, ' ')).replace(/\s+/g, ' ').trim()
