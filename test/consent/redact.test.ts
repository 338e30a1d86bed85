// What a sheet keeps from whoever approves: marks in the place of values, everywhere that they would be shown.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json, JsonObject } from '../../src/catalog/catalog.ts'
import { diffRows } from '../../src/consent/diff.ts'
import type { Shown } from '../../src/consent/proposal.ts'
import { redact as redactAll } from '../../src/consent/redact.ts'
import { sha256Hex } from '../../src/attempts/identity.ts'

const redact = (...[one, args, pointers, by]: Parameters<typeof redactAll>): Shown => redactAll(one, args, pointers, by).shown
const mark = (value: Json): string => sha256Hex(JSON.stringify(value)).slice(0, 8)
const dots = (value: Json): string => `•••• (HMAC ${mark(value)})`

function shown (before: Json, after: Json, over: Partial<Shown> = {}): Shown {
  return {
    title: 'Pay', effect: [{ kind: 'text', text: 'Pay' }], before, after, diff: diffRows(before, after), facts: {},
    request: { method: 'POST', url: 'https://bank.example/v1/payments', headers: {}, body: null }, undecodable: [], ...over,
  }
}

const OLD = 'DE89370400440532013000'
const NEW = 'IE29AIBK93115212345678'

test('a change of it is seen as one, and where there is none there is none', () => {
  const made = redact(shown({ iban: OLD, name: 'Ann' }, { iban: NEW, name: 'Bob' }), {}, ['/iban'], mark)
  assert.deepEqual(made.diff, [{ pointer: '/iban', was: dots(OLD), now: dots(NEW) }, { pointer: '/name', was: 'Ann', now: 'Bob' }])
  assert.deepEqual([made.before, made.after, made.redacted], [{ iban: dots(OLD), name: 'Ann' }, { iban: dots(NEW), name: 'Bob' }, ['/iban']])
  assert.deepEqual(redact(shown({ iban: OLD }, { iban: OLD }), {}, ['/iban'], mark).diff, [])
  assert.deepEqual(redact(shown(null, { iban: NEW }), {}, ['/iban'], mark).diff, [{ pointer: '/iban', now: dots(NEW) }])
  assert.deepEqual(redact(shown({ iban: null }, { iban: NEW }), {}, ['/iban'], mark).diff, [{ pointer: '/iban', was: null, now: dots(NEW) }], 'that there was none is no secret')
})

test('it is a mark wherever else it would be shown', () => {
  const escaped = encodeURIComponent(NEW.replace('IE29', 'IE 29/'))
  const value = NEW.replace('IE29', 'IE 29/')
  const made = redact(shown({ iban: OLD, pin: 4711 }, { iban: value, pin: 4712 }, {
    effect: [{ kind: 'text', text: 'Pay to ' }, { kind: 'slot', of: 'args.iban', value }, { kind: 'slot', of: 'args.note', value: `to ${value}, quickly` }],
    facts: { account: { number: OLD, owner: 'Ann' }, pins: [4711, 1] },
    request: {
      method: 'POST', url: `https://bank.example/v1/accounts/${escaped}/payments?to=${escaped.replaceAll('%20', '+')}&amount=5`,
      headers: { 'x-account': value, 'content-type': 'application/json' }, body: JSON.stringify({ to: value, amount: 5, check: { pin: 4712 } }),
    },
  }), { iban: value, pin: 4712, amount: 5, list: [value] }, ['/iban', '/pin'], mark)
  const { redacted: _pointers, ...all } = made
  const text = JSON.stringify(all)
  for (const secret of [OLD, value, NEW.slice(4), escaped, escaped.replaceAll('%20', '+'), '4711', '4712']) assert.ok(!text.includes(secret), `${secret} in ${text}`)
  assert.deepEqual(made.effect.slice(1), [{ kind: 'slot', of: 'args.iban', value: dots(value) }, { kind: 'slot', of: 'args.note', value: `to ${dots(value)}, quickly` }])
  assert.deepEqual(made.facts, { account: { number: dots(OLD), owner: 'Ann' }, pins: [dots(4711), 1] })
  assert.deepEqual(JSON.parse(made.request.body!), { to: dots(value), amount: 5, check: { pin: dots(4712) } })
  assert.equal(made.request.url, `https://bank.example/v1/accounts/${dots(value)}/payments?to=${dots(value)}&amount=5`)
  assert.deepEqual(made.arguments, { iban: dots(value), pin: dots(4712), amount: 5, list: [dots(value)] })
})

test('a form is looked through, and a body that cannot be is a mark as a whole', () => {
  const bodied = (body: string, type: string): string =>
    redact(shown(null, { iban: NEW, code: 'A b' }, { request: { method: 'POST', url: 'https://bank.example/', headers: { 'Content-Type': type }, body } }), {}, ['/iban', '/code'], mark).request.body!
  assert.equal(bodied(`to=${NEW}&code=A+b&amount=5`, 'application/x-www-form-urlencoded'), `to=${dots(NEW)}&code=${dots('A b')}&amount=5`)
  const text = `Pay ${NEW} with A b`
  assert.equal(bodied(text, 'text/plain'), dots(text))
})

test('a whole object, an item of a list and a name with a slash can be kept', () => {
  const args: JsonObject = { address: { street: '9 Low Road', city: 'Cork' } }
  const made = redact(shown({ address: { street: '1 High Street', city: 'Cork' }, 'a/b': 'secret-1', list: ['x-ray', 'yoke'] }, { address: args['address']!, 'a/b': 'secret-2', list: ['x-ray', 'yard'] }),
    args, ['/address', '/a~1b', '/list/1'], mark)
  assert.deepEqual(made.diff.map(({ pointer, was, now }) => [pointer, was, now]), [
    ['/address', dots({ street: '1 High Street', city: 'Cork' }), dots(args['address']!)], ['/a~1b', dots('secret-1'), dots('secret-2')],
    ['/list', ['x-ray', dots('yoke')], ['x-ray', dots('yard')]],
  ])
  assert.deepEqual(made.arguments, { address: { street: dots('9 Low Road'), city: dots('Cork') } })
})

test('a sheet that keeps nothing is shown as before', () => {
  const one = shown({ a: 1 }, { a: 2 })
  assert.equal(redact(one, { a: 2 }, [], mark), one)
})

test('what the agent says of it is without it too', () => {
  const { words } = redactAll(shown({ iban: OLD }, { iban: NEW }), {}, ['/iban'], mark)
  assert.equal(words(`They moved from ${OLD} to ${NEW}.`), `They moved from ${dots(OLD)} to ${dots(NEW)}.`)
})
