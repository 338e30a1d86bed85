// The small pieces that the pages stand on.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { carriesPersonCookie, readCookie, VIEW_COOKIE } from '../../src/http/people/cookies.ts'
import { Html, html } from '../../src/http/people/html.ts'
import { safePath } from '../../src/http/people/sign-in.ts'
import { Visitor } from './browser-like.ts'
import { startPeople } from './ground.ts'

test('whatever is put into a template is text there, in an element and in an attribute', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), text => {
    const { text: made } = html`<p title="${text}">${[text, html`<b>${text}</b>`]}</p>`
    const inside = made.replace(/^<p title="/, '').replace('">', '').replace('<b>', '').replace('</b>', '').replace(/<\/p>$/, '')
    assert.doesNotMatch(inside, /[<>"']/)
    const back = inside.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')
    assert.equal(back, text + text + text)
  }))
  assert.throws(() => new Html('<script>', Symbol('x') as never), TypeError)
  assert.equal(html`${null}${undefined}${false}${0}`.text, '0')
})

test('a cookie counts where it stands once, in the form that we wrote', () => {
  const value = 'v'.repeat(43)
  const cases: ReadonlyArray<readonly [string | undefined, string | null]> = [
    [`${VIEW_COOKIE}=${value}`, value], [`a=b; ${VIEW_COOKIE}=${value}; c=d`, value], [undefined, null], ['', null], [`${VIEW_COOKIE}=`, null],
    [`${VIEW_COOKIE}=${value}; ${VIEW_COOKIE}=${value}`, null], [`${VIEW_COOKIE}=${value}x`, null], [`${VIEW_COOKIE}="${value}"`, null],
    [`x${VIEW_COOKIE}=${value}`, null], [`${VIEW_COOKIE.toUpperCase()}=${value}`, null], ['=;;=', null],
  ]
  for (const [header, expected] of cases) assert.equal(readCookie(header, VIEW_COOKIE), expected, header)
  assert.equal(carriesPersonCookie(`a=b; ${VIEW_COOKIE}=`), true)
  assert.equal(carriesPersonCookie('a=__Host-aval_view'), false)
})

test('whatever the way back is said to be, it stays on our own host', () => {
  fc.assert(fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.webUrl(), fc.string().map(text => `/${text}`)), text => {
    const { origin } = new URL(safePath(text), 'https://approvals.example')
    assert.equal(origin, 'https://approvals.example')
  }))
})

test('a form with a field that stands twice, that nobody asked for, or that is no text is refused', async t => {
  const people = await startPeople(t)
  const visitor = new Visitor(people.origin)
  const page = await visitor.signIn()
  const token = /name="token" value="([^"]*)"/.exec(page.text)![1]!
  for (const body of [`token=${token}&token=${token}`, `token=${token}&other=1`, 'token=%ff', 'token=%', 'token=a b', 'token=ä', Array.from({ length: 40 }, () => 'token=1').join('&')]) {
    assert.equal((await visitor.ask('/sign-out', { method: 'POST', body })).status, 400, body)
  }
  for (const body of ['{"token":"x","token":"y"}', '{"token":1}', '[]', '"x"', '{"token":"\\ud800"}', '{']) {
    assert.equal((await visitor.ask('/sign-out', { method: 'POST', body, headers: { 'content-type': 'application/json' } })).status, 400, body)
  }
  assert.equal((await visitor.ask('/sign-out', { method: 'POST', body: `token=${'x'.repeat(70_000)}` })).status, 413)
  assert.equal((await visitor.ask('/approvals')).status, 200)
})
