// The pages for everyone: by keyboard alone, in a narrow window, enlarged, with wide letters, in the dark, without a script; and what axe-core says.
import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { closeBrowser, findings, fits, look, open, picture, signIn, type Look } from './chromium.ts'
import { addressChange, place, refund, slot, text } from '../people/drafts.ts'
import type { ProposalRecord } from '../../src/consent/proposal.ts'
import { draft } from '../store/drafts.ts'

after(closeBrowser)

const LONG = 'x'.repeat(4_000)
const lost = { ...draft(), state: 'unknown' as const, missing: 'the connection was lost', dispatchedAtMs: 1_000_000, unknownAtMs: 1_001_000, lookups: 3 }
const TERMS = { actions: [{ id: 'change_shipping_address.v2', digest: 'd' }], targets: [{ type: 'customer', id: 'cus_1001' }], usesMax: 20, lifeMs: 1_800_000 }

interface Site extends Look {
  readonly change: ProposalRecord
  readonly money: ProposalRecord
  readonly paths: Readonly<Record<string, string>>
}

/** Everything that there is a page for. */
async function site (t: TestContext, how: Parameters<typeof look>[1] = {}): Promise<Site> {
  const l = await look(t, how)
  l.people.idp.who = { sub: 'ann', name: 'Ann Approver', groups: ['leads', 'finance', 'ops'] }
  const first = await place(l.people.store, addressChange({ equalKey: 'first', shown: { diff: [{ pointer: '/shipping_address/city', was: 'Galway', now: 'Limerick' }] } }))
  const change = await place(l.people.store, addressChange({ supersedes: first.id }))
  const money = await place(l.people.store, refund({ equalKey: 'money' }))
  const grant = await place(l.people.store, addressChange({ kind: 'session', grant: TERMS, equalKey: 'grant' }))
  const done = await place(l.people.store, addressChange({ equalKey: 'done' }))
  l.people.desk.operator.attempts = [lost]
  l.people.desk.operator.runs = [{ iss: 'https://issuer.example', sub: 'support-agent', tenant: 'default', run: 'run-4711', writes: 3, lastAtMs: 1_700_000_000_000, stopped: null },
    { iss: 'https://issuer.example', sub: 'support-agent', tenant: 'default', run: 'run-4710', writes: 1, lastAtMs: 1_700_000_000_000, stopped: { act: { by: 'Olga', note: 'it loops', atMs: 1_700_000_001_000 } } }]
  await signIn(l)
  for (const [record, decision] of [[grant, 'approve'], [done, 'deny']] as const) {
    const approver = { iss: l.people.idp.issuer, sub: 'ann', principal: `${l.people.idp.issuer}|ann`, display: 'Ann Approver', roles: ['support_lead'], authTimeS: 1, acr: null }
    const shown = { renderer: 'x', msOnPage: 5_000, surface: 'page' } as const
    await l.people.store.advanceProposal(record, {
      type: 'decide',
      decision: { id: record.id, digest: record.digest, approver, decision, reasonCode: decision === 'deny' ? 'wrong_value' : null, reasonText: decision === 'deny' ? 'Not this street' : null, visibility: 'agent', epoch: 1, shown },
    })
  }
  return {
    ...l, change, money,
    paths: {
      list: '/approvals', together: `/approvals/${change.id}/together`, history: '/approvals/history', grants: '/approvals/grants', change: `/approvals/${change.id}`, money: `/approvals/${money.id}`,
      confirm: `/approvals/${money.id}/confirm`, grant: `/approvals/${grant.id}`, denied: `/approvals/${done.id}`, unresolved: '/operator', attempt: `/operator/attempts/${lost.id}`,
      runs: '/operator/runs', broker: '/operator/broker', missing: '/nothing', 'signed-out': '/signed-out',
    },
  }
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`axe-core finds nothing on any page, ${colorScheme}`, async t => {
    const s = await site(t, { colorScheme })
    for (const [name, path] of Object.entries(s.paths)) {
      await s.page.goto(s.people.origin + path)
      await s.page.evaluate(`for (const one of document.querySelectorAll('details')) one.open = true`)
      assert.deepEqual(await findings(s.page), [], name)
      await picture(s.page, `${name}-${colorScheme}`)
    }
    assert.deepEqual(s.alarms, [])
  })

  test(`axe-core finds nothing where something was wrong with a form, ${colorScheme}`, async t => {
    const s = await site(t, { colorScheme })
    await s.page.goto(s.people.origin + s.paths['change'])
    await s.page.click('summary:has-text("Deny")')
    await s.page.click('button[value=deny]')
    await s.page.waitForSelector('.notice.stop')
    assert.deepEqual(await findings(s.page), [])
    assert.equal(await s.page.evaluate(`document.activeElement.matches('.notice.stop')`), true, 'the reader begins at what was wrong')
    await picture(s.page, `fault-${colorScheme}`)
  })
}

test('every page fits a window of 320 pixels, whatever stands in it', async t => {
  const s = await site(t, { viewport: { width: 320, height: 800 } })
  const long = await place(s.people.store, addressChange({
    equalKey: 'long', reason: LONG, upstream: 'u'.repeat(300), owner: { iss: `https://${LONG}`, sub: LONG, tenant: LONG, run: LONG },
    shown: { title: LONG, effect: [text(`${LONG} `), slot(`args.${LONG}`, LONG)], diff: [{ pointer: `/${LONG}/${LONG}`, was: LONG, now: { [LONG]: [LONG, { deep: { deeper: LONG } }] } }], facts: { [LONG]: LONG } },
  }))
  for (const [name, path] of Object.entries({ ...s.paths, long: `/approvals/${long.id}`, all: `/approvals/${long.id}?show=all`, longConfirm: `/approvals/${long.id}/confirm` })) {
    await s.page.goto(s.people.origin + path)
    await s.page.evaluate(`for (const one of document.querySelectorAll('details')) one.open = true`)
    await fits(s.page).catch(error => { throw new Error(`${name}: ${error.message}`) })
    if (['change', 'list', 'confirm'].includes(name)) await picture(s.page, `${name}-narrow`)
  }
})

test('every page fits at twice the size, and with the spacing that some readers need', async t => {
  const s = await site(t, { viewport: { width: 640, height: 450 }, deviceScaleFactor: 2 })
  for (const path of Object.values(s.paths)) {
    await s.page.goto(s.people.origin + path)
    await fits(s.page)
    // WCAG 1.4.12, from the tools' side.
    const client = await s.context.newCDPSession(s.page)
    await client.send('DOM.enable')
    await client.send('CSS.enable')
    const { frameTree } = await client.send('Page.getFrameTree')
    const { styleSheetId } = await client.send('CSS.createStyleSheet', { frameId: frameTree.frame.id })
    await client.send('CSS.setStyleSheetText', { styleSheetId, text: '* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important } p { margin-bottom: 2em !important }' })
    await fits(s.page)
    const cut = await s.page.evaluate(`[...document.querySelectorAll('button, .button, .badge, h1, h2, dd, td, summary')].filter(one => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 1).map(one => one.outerHTML.slice(0, 100))`)
    assert.deepEqual(cut, [], path)
    await client.detach()
  }
})

test('what is to be pressed is large enough', async t => {
  const s = await site(t, { viewport: { width: 375, height: 800 } })
  for (const path of Object.values(s.paths)) {
    await s.page.goto(s.people.origin + path)
    const small = await s.page.evaluate(`[...document.querySelectorAll('button, .button, summary, select, input:not([type=hidden]), nav a')].filter(one => {
      const box = one.getBoundingClientRect()
      return box.width > 1 && (box.width < 20 || box.height < 24) && !one.matches('[type=radio], [type=checkbox]')
    }).map(one => one.outerHTML.slice(0, 100))`)
    assert.deepEqual(small, [], path)
  }
})

test('where the reader chooses the colours, the page that is open can be told in the menu', async t => {
  const s = await site(t, { forcedColors: 'active' })
  await s.page.goto(s.people.origin + s.paths['history'])
  const lines = await s.page.evaluate(`[...document.querySelectorAll('.bar nav a')].map(one => getComputedStyle(one).borderBottomColor + (one.ariaCurrent ?? ''))`) as string[]
  const here = lines.find(one => one.endsWith('page'))!
  assert.equal(lines.some(one => one === here.replace('page', '')), false, lines.join())
  await picture(s.page, 'history-forced')
})

test('an amount stands in one line, in a window of 320 pixels too', async t => {
  const l = await look(t, { viewport: { width: 320, height: 800 } })
  l.people.idp.who = { sub: 'ann', name: 'Ann', groups: ['finance'] }
  const record = await open(l, refund({ shown: { effect: [text('Refund what was paid twice: '), slot('values.amount', '1,000.62 EUR')], facts: { 'left to be refunded': '1,000.62 EUR' } } }))
  for (const path of [`/approvals/${record.id}`, `/approvals/${record.id}/confirm`]) {
    await l.page.goto(l.people.origin + path)
    assert.deepEqual(await l.page.evaluate(`[...document.querySelectorAll('.value')].filter(one => one.innerText.includes('EUR')).map(one => one.getClientRects().length)`), [1, 1])
    await fits(l.page)
  }
})

test('Enter where a reason is asked for says that a button has to be pressed', async t => {
  const s = await site(t)
  await s.page.goto(s.people.origin + s.paths['broker'])
  await s.page.fill('#lock-note', 'a leak')
  await s.page.press('#lock-note', 'Enter')
  assert.match(await s.page.innerText('[data-hint]'), /Press a button/)
  assert.deepEqual(s.people.desk.operator.done, [])
})

test('a code is asked for where it had no effect, and one that was chosen before stays in sight', async t => {
  const s = await site(t)
  await s.page.goto(s.people.origin + s.paths['attempt'])
  await s.page.check('[value=rejected]')
  await s.page.selectOption('#code', 'CONFLICT')
  await s.page.check('[value=completed]')
  assert.equal(await s.page.isVisible('#code'), true)
  await s.page.selectOption('#code', '')
  assert.equal(await s.page.isVisible('#code'), false)
})

/** What has the focus, in a few words. */
const focused = (page: Page): Promise<string> => page.evaluate(`(() => {
  const one = document.activeElement
  const style = getComputedStyle(one)
  const seen = one === document.body || (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2)
  return (one.innerText || one.name || one.tagName).trim().split('\\n')[0].slice(0, 40) + (seen ? '' : ' (not to be seen)')
})()`)

async function tabs (page: Page, count: number): Promise<string[]> {
  const order: string[] = []
  for (let n = 0; n < count; n++) {
    await page.keyboard.press('Tab')
    order.push(await focused(page))
  }
  return order
}

test('the keyboard goes through a proposal in the order in which it is read, and every stop shows (D23)', async t => {
  const s = await site(t)
  await s.page.goto(s.people.origin + s.paths['change'])
  const order = await tabs(s.page, 15)
  assert.deepEqual(order, [
    'Skip to the content', 'Aval', 'Approvals', 'History', 'Grants', 'Unresolved', 'Runs', 'Broker', 'Sign out', 'All approvals', 'an earlier one', 'The exact request',
    'Review and approve…', 'Deny', 'I need more time',
  ])
})

test('by keyboard alone a proposal is found, read and approved; Enter in a field approves nothing (D23)', async t => {
  const s = await site(t)
  const { page } = s
  await page.goto(s.people.origin + s.paths['money'])
  const until = async (name: string): Promise<void> => {
    for (let n = 0; n < 40; n++) {
      if (await focused(page) === name) return
      await page.keyboard.press('Tab')
    }
    assert.fail(`${name} cannot be reached`)
  }
  await until('Review and approve…')
  await page.keyboard.press('Enter')
  await page.waitForURL(/confirm$/)
  await until('confirmed')
  await page.keyboard.type('cus_1001')
  await page.waitForTimeout(1_000)
  await page.keyboard.press('Enter')
  await page.waitForTimeout(300)
  assert.equal((await s.people.store.findProposal(s.money.id))!.record.decisions.length, 0)
  await until('Approve')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.notice.done')
  assert.match(await page.innerText('.notice.done'), /1 of 2/)
})

test('by keyboard alone a proposal is denied; Enter among the words denies nothing (D23)', async t => {
  const s = await site(t)
  const { page } = s
  await page.goto(s.people.origin + s.paths['change'])
  await page.focus('summary:has-text("Deny")')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  await page.keyboard.type('A value')
  await page.keyboard.press('Tab')
  await page.keyboard.type('first')
  await page.keyboard.press('Enter')
  await page.keyboard.type('second')
  await page.keyboard.press('Tab')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForTimeout(200)
  assert.equal((await s.people.store.findProposal(s.change.id))!.record.decisions.length, 0)
  await page.keyboard.press('Tab')
  assert.equal(await focused(page), 'Deny this')
  await page.keyboard.press('Space')
  await page.waitForSelector('.notice.done')
  const [made] = (await s.people.store.findProposal(s.change.id))!.record.decisions
  assert.deepEqual([made!.decision, made!.reasonCode, made!.reasonText, made!.visibility], ['deny', 'wrong_value', 'first\nsecond', 'staff'])
})

test('without a script everything can be read, approved, denied and given more time', async t => {
  const s = await site(t, { javaScriptEnabled: false })
  const { page } = s
  await page.goto(s.people.origin + s.paths['change'])
  await page.click('button:has-text("I need more time")')
  await page.waitForSelector('.notice.done')
  await page.click('a.go')
  await page.waitForTimeout(900)
  await page.click('button[value=approve]')
  await page.waitForSelector('.notice.done')
  assert.equal((await s.people.store.findProposal(s.change.id))!.record.state, 'approved')
  await page.goto(s.people.origin + s.paths['confirm'])
  await page.fill('#confirmed', 'cus_1001')
  await page.press('#confirmed', 'Enter')
  await page.waitForSelector('.notice.stop')
  assert.equal(await page.inputValue('#confirmed'), 'cus_1001')
  await page.goto(s.people.origin + s.paths['money'])
  await page.click('summary:has-text("Deny")')
  await page.selectOption('#reason_code', 'suspicious')
  await page.press('[name=visibility]', 'Enter')
  await page.waitForSelector('.notice.stop')
  assert.equal((await s.people.store.findProposal(s.money.id))!.record.decisions.length, 0, 'Enter in a field does nothing')
  await page.click('button[value=deny]')
  await page.waitForSelector('.state.denied')
})

test('the time runs in sight, is said aloud before it ends, and is over when it is over (D25)', async t => {
  const s = await site(t)
  await s.page.clock.install()
  await s.page.goto(s.people.origin + s.paths['change'])
  assert.match(await s.page.innerText('[data-left]'), /14 min \d\d s|15 min 00 s/)
  assert.equal(await s.page.innerText('[data-said]'), '', 'nothing is said every second')
  await s.page.clock.runFor(14 * 60_000 + 15_000)
  assert.match(await s.page.innerText('[data-said]'), /About \d\d seconds are left/)
  assert.equal(await s.page.getAttribute('[data-said]', 'role'), 'status')
  assert.equal(await s.page.locator('button:has-text("I need more time")').isVisible(), true)
  await s.page.clock.runFor(60_000)
  assert.equal(await s.page.innerText('[data-left]'), 'Time is up')
  assert.equal(await s.page.evaluate(`[...document.querySelectorAll('[data-decides]')].every(one => one.disabled)`), true)
})

test('who asks for more time gets it, and decides on the same as before (D25)', async t => {
  const l = await look(t)
  const record = await open(l, addressChange({ pendingUntilMs: 100_000 }))
  const [digest, left] = ['form[action$="/decision"] [name=digest]', '[data-ends-in-ms]']
  const before = [await l.page.inputValue(digest), await l.page.textContent('#digest')]
  const leftMs = Number(await l.page.getAttribute(left, 'data-ends-in-ms'))
  await l.page.click('button:has-text("I need more time")')
  await l.page.waitForSelector('.notice.done')
  assert.equal(await l.page.getAttribute('.notice.done', 'role'), 'status')
  assert.ok(Number(await l.page.getAttribute(left, 'data-ends-in-ms')) > leftMs + 60_000)
  assert.deepEqual([await l.page.inputValue(digest), await l.page.textContent('#digest')], before)
  assert.deepEqual(before, [record.digest, record.digest])
})

test('what is longer than fits is cut with a count, and shown whole where a person asks (C16)', async t => {
  const s = await site(t)
  const long = await place(s.people.store, addressChange({ equalKey: 'long', shown: { diff: [{ pointer: '/note', was: '', now: 'y'.repeat(5_000) }] } }))
  await s.page.goto(`${s.people.origin}/approvals/${long.id}`)
  assert.match(await s.page.innerText('.diff'), /…3000 more characters not shown · SHA-256 [0-9a-f]{64}/)
  await s.page.click('text=Show everything')
  assert.doesNotMatch(await s.page.innerText('.diff'), /not shown/)
  const grave = await place(s.people.store, refund({ equalKey: 'grave', shown: { diff: [{ pointer: '/note', was: '', now: 'y'.repeat(5_000) }] } }))
  await s.page.goto(`${s.people.origin}/approvals/${grave.id}`)
  assert.doesNotMatch(await s.page.innerText('.diff'), /not shown/, 'nothing grave is approved half read')
})
