// A real browser for a test, with a fresh profile. Pictures of what it saw go to test/browser/out/, which is not kept.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core'
import type { ProposalRecord } from '../../src/consent/proposal.ts'
import { place } from '../people/drafts.ts'
import { startPeople, type People } from '../people/ground.ts'

const ARGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
]
const OUT = join(import.meta.dirname, 'out')
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export interface Look {
  readonly people: People
  readonly page: Page
  readonly context: BrowserContext
  readonly browser: Browser
  /** Dialogs, violations of the content policy, errors of a script: none of them may ever come. */
  readonly alarms: string[]
}

let browser: Promise<Browser> | null = null

/** One process a test file, one profile a test. */
export function openBrowser (): Promise<Browser> {
  browser ??= chromium.launch({ executablePath: '/usr/bin/chromium', args: ARGS })
  return browser
}

export const closeBrowser = async (): Promise<void> => { await (await browser)?.close() }

/** @param how of the browser; `over` of the listener */
export async function look (t: TestContext, how: BrowserContextOptions = {}, over: Parameters<typeof startPeople>[1] = {}): Promise<Look> {
  return another(t, await startPeople(t, over), how)
}

/** Another person's browser. */
export async function another (t: TestContext, people: People, how: BrowserContextOptions = {}): Promise<Look> {
  const opened = await openBrowser()
  const context = await opened.newContext({ viewport: { width: 1280, height: 900 }, ...how })
  t.after(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  return { people, page, context, browser: opened, alarms: watch(page) }
}

export function watch (page: Page): string[] {
  const alarms: string[] = []
  page.on('dialog', dialog => {
    alarms.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('pageerror', error => { alarms.push(`error ${error.message}`) })
  page.on('console', message => { if (/content security policy|trusted type/i.test(message.text())) alarms.push(message.text()) })
  return alarms
}

/** By hand, as a person does it: the page that asks for a sign-in, its one button, and back. */
export async function signIn ({ people, page }: Pick<Look, 'people' | 'page'>, path = '/approvals'): Promise<void> {
  await page.goto(people.origin + path)
  await page.click('main a.button')
  await page.waitForSelector('.who')
}

/** Where somebody is signed in and looks at it. */
export async function open (l: Look, record: ProposalRecord): Promise<ProposalRecord> {
  const placed = await place(l.people.store, record)
  await signIn(l, `/approvals/${placed.id}`)
  return placed
}

export const votes = async ({ people }: Look, { id }: ProposalRecord): Promise<number> => (await people.store.findProposal(id))!.record.decisions.length

export async function picture (page: Page, name: string): Promise<void> {
  mkdirSync(OUT, { recursive: true })
  await page.screenshot({ path: join(OUT, `${name}.png`), fullPage: true })
}

/** The time of the pages' scripts stands still, and runs when it is told to: how long a machine takes for a click is none of theirs. */
export async function holdTime ({ context: { clock } }: Pick<Look, 'context'>): Promise<void> {
  const now = Date.now()
  await clock.install({ time: now })
  await clock.pauseAt(now + 1_000)
}

/** What axe-core finds against WCAG 2.2 A and AA. It runs from the tools' side, which the page's policy does not concern. */
export async function findings (page: Page): Promise<string[]> {
  const has = await page.evaluate('typeof axe') as string
  if (has === 'undefined') await page.evaluate(AXE)
  const result = await page.evaluate(`axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })`) as {
    violations: Array<{ id: string, nodes: Array<{ html: string, failureSummary: string }> }>
  }
  return result.violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`))
}

/** Another site: `localhost` is none of 127.0.0.1, whose other ports are neighbours that get our cookies. */
export async function otherSite (t: TestContext, html: () => string, host: 'localhost' | '127.0.0.1' = 'localhost'): Promise<string> {
  const server: Server = createServer((_request, response) => { response.setHeader('content-type', 'text/html; charset=utf-8').end(html()) })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://${host}:${(server.address() as AddressInfo).port}/`
}

/** Nothing of the page lies outside what a person sees without scrolling sideways. */
export async function fits (page: Page): Promise<void> {
  const { wide, room, culprits } = await page.evaluate(`(() => {
    const room = document.documentElement.clientWidth
    const wide = document.documentElement.scrollWidth
    const culprits = [...document.querySelectorAll('body *')].filter(one => {
      const box = one.getBoundingClientRect()
      return box.width > 1 && box.right > room + 1 && !one.closest('.sr, .skip')
    }).map(one => one.outerHTML.slice(0, 120))
    return { wide, room, culprits: culprits.slice(0, 5) }
  })()`) as { wide: number, room: number, culprits: string[] }
  assert.ok(wide <= room, `${wide} > ${room}: ${culprits.join('\n')}`)
}
