// The approvals page in a real browser, in front of everything that an agent, an upstream or another site might put on it or do to it.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { closeBrowser, holdTime, look, open, otherSite, picture, votes, watch } from './chromium.ts'
import { addressChange, refund, slot, text } from '../people/drafts.ts'

after(closeBrowser)

test('markup and scripts in a reason, a value or a name are letters on the page (D1)', async t => {
  const l = await look(t)
  const evil = '<img src=x onerror=alert(1)></textarea><script>alert(2)</script>{{7*7}}${7*7}<svg onload=alert(3)>'
  l.people.idp.who = { sub: 'ann', name: evil, groups: ['leads'] }
  await open(l, addressChange({ reason: evil, shown: { title: evil, effect: [text(evil), slot('args.x', evil)], diff: [{ pointer: `/${evil}`, was: evil, now: evil }], facts: { [evil]: evil } } }))
  for (const path of [l.page.url(), `${l.page.url()}/confirm`, `${l.people.origin}/approvals`]) {
    await l.page.goto(path)
    const shown = await l.page.innerText('main')
    assert.ok(shown.includes('<img src=x onerror=alert(1)></textarea><script>alert(2)</script>{{7*7}}${7*7}'), path)
    assert.equal(await l.page.locator('main img, main script, header img, header script, svg[onload]').count(), 0)
  }
  assert.deepEqual(l.alarms, [])
})

const SPOOFS: ReadonlyArray<{ readonly what: string, readonly opens: string, readonly closes: string }> = [
  { what: 'an override', opens: '\u202e', closes: '\u202c' }, { what: 'an override to the right', opens: '\u202d', closes: '\u202c' },
  { what: 'an embedding', opens: '\u202b', closes: '\u202c' }, { what: 'an isolate', opens: '\u2067', closes: '\u2069' },
  { what: 'an isolate of its own direction', opens: '\u2068', closes: '\u2069' }, { what: 'a mark', opens: '\u200f', closes: '\u061c' },
]
const chip = (one: string): string => `⟦U+${one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟧`

for (const { what, opens, closes } of SPOOFS) {
  test(`an amount that is turned around by ${what} shows what turns it, in the order in which it stands (D2)`, async t => {
    const l = await look(t)
    const spoof = `Refund ${opens}00.001$ ot ecilA${closes}`
    await open(l, refund({ reason: spoof, shown: { effect: [text('Pay '), slot('args.note', spoof)], diff: [{ pointer: '/note', was: 'Refund $10.00 to Bob', now: spoof }] } }))
    const expected = `Refund ${chip(opens)}00.001$ ot ecilA${chip(closes)}`
    for (const place of ['.unverified blockquote', '.diff td:nth-child(3)', '.facts-of > .facts']) {
      assert.ok((await l.page.innerText(place)).includes(expected), `${place}: ${await l.page.innerText(place)}`)
      for (const shown of await l.page.locator(`${place} .chip`).all()) assert.equal(await shown.isVisible(), true, 'and in the picture')
    }
    assert.match(await l.page.innerText('h1'), /Pay \(see args\.note\)/)
    // Where the letters are painted, from left to right.
    const order = await l.page.evaluate(`(() => {
      const line = document.querySelector('.unverified blockquote .untrusted')
      return [...line.childNodes].map(node => { const range = document.createRange(); range.selectNodeContents(node); return range.getBoundingClientRect().left })
    })()`) as number[]
    assert.equal(order.length, 4)
    assert.deepEqual(order, [...order].sort((one, other) => one - other))
    await picture(l.page, what === 'an override' ? 'bidi' : `bidi-${opens.codePointAt(0)!.toString(16)}`)
    assert.deepEqual(l.alarms, [])
  })
}

test('what cannot be seen is seen (D3)', async t => {
  const l = await look(t)
  const hidden: { [name: string]: string } = {}
  // Zero-width, tags, variation selectors, Hangul fillers, an empty Braille cell, a soft hyphen, a joiner of graphemes, controls, isolates, spaces.
  for (const one of [
    0x200b, 0x200c, 0x200d, 0x2060, 0xfeff, 0xe0041, 0xe007f, 0xfe0e, 0xfe0f, 0xe0100, 0x115f, 0x1160, 0x3164, 0xffa0, 0x2800, 0xad, 0x34f, 0x180e, 0x1b, 0x9b, 0x2066, 0xa0,
  ]) hidden[`U+${one.toString(16).toUpperCase().padStart(4, '0')}`] = String.fromCodePoint(one)
  const value = Object.values(hidden).map(one => `a${one}b`).join(' ')
  await open(l, addressChange({ reason: value, shown: { diff: [{ pointer: '/name', was: 'ab', now: value }] } }))
  for (const name of Object.keys(hidden)) {
    for (const place of ['.unverified blockquote', '.diff td:nth-child(3)']) assert.ok((await l.page.innerText(place)).includes(`⟦${name}⟧`), `${name} in ${place}`)
  }
  await picture(l.page, 'invisible')
})

test('marks piled up on a letter cover nothing, and make no line higher (D5)', async t => {
  const l = await look(t)
  const pile = `Z${'\u0301\u0300\u0342'.repeat(67)}algo`
  await open(l, addressChange({ reason: pile, shown: { diff: [{ pointer: '/name', was: 'plain', now: pile }] } }))
  assert.match(await l.page.innerText('.unverified blockquote'), /⟦U\+0301⟧/)
  const button = l.page.locator('a.go')
  const box = (await button.boundingBox())!
  const top = await l.page.evaluate(`document.elementFromPoint(${box.x + box.width / 2}, ${box.y + box.height / 2}).closest('a.go') !== null`)
  assert.equal(top, true)
  const painted = await l.page.evaluate(`[...document.querySelectorAll('.diff td:nth-child(3) .untrusted')].every(one => one.scrollHeight <= one.parentElement.parentElement.getBoundingClientRect().height + 1)`)
  assert.equal(painted, true)
  const heights = await l.page.evaluate(`[2, 3].map(column => {
    const range = document.createRange()
    range.selectNodeContents(document.querySelector('.diff td:nth-child(' + column + ') .untrusted').firstChild)
    return range.getClientRects()[0].height
  })`) as number[]
  assert.equal(heights[1], heights[0], 'its line is as high as a plain one')
  await picture(l.page, 'zalgo')
})

test('nothing that was written by others is a link (D7)', async t => {
  const l = await look(t)
  const links = '[click](https://evil.example) https://evil.example javascript:alert(1) www.evil.example mail@evil.example <a href="https://evil.example">x</a>'
  await open(l, addressChange({ reason: links, shown: { diff: [{ pointer: '/name', was: links, now: links }], facts: { see: links } } }))
  const targets = await l.page.evaluate(`[...document.querySelectorAll('a')].map(a => a.href)`) as string[]
  assert.deepEqual(targets.filter(href => !href.startsWith(l.people.origin)), [])
  assert.equal(await l.page.locator('.untrusted a, a .untrusted').count(), 0)
  assert.ok((await l.page.innerText('main')).includes('javascript:alert(1)'))
})

test('a script of the page itself could not make text into markup', async t => {
  const l = await look(t)
  await open(l, addressChange())
  const said = await l.page.evaluate(`(() => { try { document.createElement('div').innerHTML = '<b>x</b>'; return 'done' } catch (error) { return error.name } })()`)
  assert.equal(said, 'TypeError')
  const policy = await l.page.evaluate(`(() => { try { trustedTypes.createPolicy('x', {}); return 'done' } catch (error) { return error.name } })()`)
  assert.equal(policy, 'TypeError')
  assert.equal(await l.page.evaluate(`(() => { const s = document.createElement('style'); s.textContent = 'body { display: none }'; document.head.append(s); return getComputedStyle(document.body).display })()`), 'flex')
})

const FORGERIES: ReadonlyArray<{ readonly what: string, readonly page: (action: string) => string }> = [
  { what: 'a form', page: action => `<form id="f" method="post" action="${action}"><input name="decision" value="approve"></form><script>f.submit()</script>` },
  { what: 'a form of plain text', page: action => `<form id="f" method="post" enctype="text/plain" action="${action}"><input name="decision" value="approve"></form><script>f.submit()</script>` },
  { what: 'a fetch that asks for no answer', page: action => `<script>fetch('${action}', { method: 'POST', mode: 'no-cors', credentials: 'include', body: new URLSearchParams({ decision: 'approve' }) }).finally(() => { document.title = 'sent' })</script>` },
  { what: 'a form in a sandbox, whose origin is null', page: action => `<iframe sandbox="allow-scripts allow-forms" srcdoc="<form id=f method=post action='${action}'><input name=decision value=approve></form><script>f.submit()</script>"></iframe>` },
]

for (const { what, page: pageOf } of FORGERIES) {
  for (const [whose, host] of [['another site', 'localhost'], ['a neighbour, who gets our cookies', '127.0.0.1']] as const) {
    test(`${what} of ${whose} decides nothing (D10)`, async t => {
      const l = await look(t)
      const record = await open(l, addressChange())
      const decision = `/approvals/${record.id}/decision`
      const evil = await otherSite(t, () => pageOf(l.people.origin + decision), host)
      const other = await l.context.newPage()
      await other.goto(evil).catch(() => undefined)
      const came = (): readonly string[] => l.people.answered.filter(one => one.includes(decision))
      for (let waited = 0; came().length === 0 && waited < 200; waited++) await new Promise(resolve => setTimeout(resolve, 50))
      assert.deepEqual(came(), [`POST ${decision} 403`], 'it came, and was refused')
      assert.equal(await votes(l, record), 0)
    })
  }
}

test('no page of ours can be put into a frame of another (D13)', async t => {
  const l = await look(t)
  const record = await open(l, addressChange())
  l.people.desk.told.length = 0
  const evil = await otherSite(t, () => `<iframe src="${l.people.origin}/approvals/${record.id}" width="900" height="900"></iframe>`)
  const other = await l.context.newPage()
  await other.goto(evil)
  await other.waitForTimeout(300)
  const frame = other.frames()[1]!
  assert.doesNotMatch(await frame.content().catch(() => ''), /Replace the shipping address/)
  assert.deepEqual(l.people.desk.told, [], 'and nobody is said to have seen it')
})

test('a click that lands on the button before anybody can have read the page is none (D13)', async t => {
  const l = await look(t)
  const record = await open(l, addressChange())
  await holdTime(l)
  await l.page.click('a.go')
  const button = l.page.locator('button[value=approve]')
  assert.equal(await button.getAttribute('aria-disabled'), 'true')
  await button.click({ force: true, noWaitAfter: true })
  await l.page.waitForTimeout(100)
  assert.equal(await votes(l, record), 0)
  await l.context.clock.resume()
  await l.page.waitForSelector('button[value=approve]:not([aria-disabled])')
  await button.click()
  await l.page.waitForSelector('.notice.done')
  assert.equal(await votes(l, record), 1)
})

test('the button comes alive by itself, says until then that it will, and tells whoever was too quick', async t => {
  const l = await look(t)
  const record = await open(l, addressChange())
  await holdTime(l)
  await l.page.goto(`${l.people.origin}/approvals/${record.id}/confirm`)
  const button = l.page.locator('button[value=approve]')
  assert.equal(await l.page.innerText('[data-hint]'), 'Ready in a moment')
  assert.equal(await l.page.getAttribute('[data-hint]', 'aria-live'), 'polite')
  const colour = (): Promise<unknown> => button.evaluate('one => getComputedStyle(one).backgroundColor')
  const [grey] = [await colour(), await button.hover({ force: true })]
  await button.focus()
  await l.page.keyboard.press('Enter')
  assert.equal(await colour(), grey, 'it looks no other beneath the pointer')
  assert.match(await l.page.innerText('[data-hint]'), /too quick to have been read/)
  assert.equal(await votes(l, record), 0)
  await l.context.clock.resume()
  await l.page.waitForSelector('button[value=approve]:not([aria-disabled])')
  await l.page.evaluate(`document.querySelector('button[value=approve]').click()`)
  await l.page.waitForTimeout(200)
  assert.equal(await votes(l, record), 0, 'a click that nobody made is none')
  await l.page.reload()
  await l.page.waitForSelector('button[value=approve]:not([aria-disabled])')
  assert.equal(await l.page.innerText('[data-hint]'), '', 'untouched')
  await l.page.keyboard.press('Tab')
  await button.focus()
  await l.page.keyboard.press('Enter')
  await l.page.waitForSelector('.notice.done')
  assert.equal(await votes(l, record), 1)
})

test('the second click of two on a page of another site, which puts ours beneath the pointer in between, is none (D13)', async t => {
  const viewport = { width: 1280, height: 1_600 }
  const l = await look(t, { viewport })
  const record = await open(l, addressChange())
  await l.page.click('a.go')
  const box = (await l.page.locator('button[value=approve]').boundingBox())!
  await holdTime(l)
  const evil = await otherSite(t, () => `<body style="height:2000px"><p>Click twice to win</p><script>onmousedown = () => { location.href = '${l.page.url()}' }</script></body>`)
  const victim = await l.context.newPage()
  await victim.goto(evil)
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
  await victim.mouse.click(x, y)
  await victim.waitForSelector('button[value=approve]')
  await victim.mouse.click(x, y)
  await victim.mouse.click(x, y)
  await victim.waitForTimeout(200)
  assert.equal(victim.url(), l.page.url(), 'it is there')
  assert.equal(await victim.evaluate(`document.elementFromPoint(${x}, ${y}).matches('button[value=approve]')`), true, 'right beneath the pointer')
  assert.equal(await votes(l, record), 0)
})

test('whoever comes by a link from another site sees the page, and can decide there (D15)', async t => {
  const l = await look(t)
  const record = await open(l, addressChange())
  const mail = await otherSite(t, () => `<a href="${l.people.origin}/approvals/${record.id}">open</a>`)
  await l.page.goto(mail)
  await l.page.click('a')
  await l.page.click('a.go')
  await l.page.waitForSelector('button[value=approve]')
  await l.page.mouse.move(10, 10)
  await l.page.waitForSelector('button[value=approve]:not([aria-disabled])')
  await l.page.click('button[value=approve]')
  await l.page.waitForSelector('.notice.done')
  assert.equal(await votes(l, record), 1)
})

test('after signing out, the Back button shows nothing of what was there (D26)', async t => {
  const l = await look(t)
  const record = await open(l, addressChange())
  for (const path of [`/approvals/${record.id}`, '/approvals']) {
    assert.equal((await l.page.goto(l.people.origin + path))!.headers()['cache-control'], 'no-store')
  }
  await l.page.goto(`${l.people.origin}/approvals/${record.id}`)
  await l.page.click('.who button:visible')
  await l.page.waitForURL(/signed-out/)
  await l.page.goBack()
  await l.page.waitForLoadState()
  assert.doesNotMatch(await l.page.innerText('body'), /Quay Street/)
  assert.match(await l.page.innerText('h1'), /Please sign in/)
})

test('a second window with an older page is told that something was decided meanwhile', async t => {
  const l = await look(t)
  const record = await open(l, addressChange())
  const second = await l.context.newPage()
  const alarms = watch(second)
  await second.goto(`${l.people.origin}/approvals/${record.id}`)
  await l.page.click('summary:has-text("Deny")')
  await l.page.selectOption('#reason_code', 'not_now')
  await l.page.click('button[value=deny]')
  await l.page.waitForSelector('.notice.done')
  await second.click('a.go')
  await second.waitForSelector('.state.denied')
  assert.equal(await second.locator('button[value=approve]').count(), 0)
  assert.equal(await votes(l, record), 1)
  assert.deepEqual(alarms, [])
})
