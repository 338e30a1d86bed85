// Values, the effect sentence and the table of what changes, as people are shown them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Json } from '../../src/catalog/catalog.ts'
import { effectLine, renderDiff, renderEffect } from '../../src/consent/effect-view.ts'
import { badgesIn, exactNumber, isComplete, renderAmount, renderValue, valueLine, valueText } from '../../src/consent/value-view.ts'

const line = (value: Json | undefined): string => valueLine(renderValue(value))

describe('a value', () => {
  test('that is absent, null, empty or spelled like one of these is drawn differently', () => {
    const drawn = [undefined, null, '', 'null', 'not there', '(not there)', [], {}, 0, '0', false, 'false'].map(line)
    assert.equal(new Set(drawn).size, drawn.length, drawn.join(' | '))
    assert.deepEqual(drawn.slice(0, 4), ['(not there)', '(null)', '(empty text)', '"null"'])
  })

  test('that is a number has every digit and no exponent', () => {
    const digits: Array<[number, string]> = [[1e21, '1000000000000000000000'], [-1.5e-7, '-0.00000015'], [5e-324, `0.${'0'.repeat(323)}5`], [0.1, '0.1'], [-0, '-0'], [1234567890123, '1234567890123']]
    for (const [number, text] of digits) assert.equal(exactNumber(number), text)
    fc.assert(fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), number => {
      assert.match(exactNumber(number), /^-?\d+(\.\d+)?$/)
      assert.ok(Object.is(Number(exactNumber(number)), number))
    }))
  })

  test('that is an amount is made of whole minor units and a currency, or not at all', () => {
    assert.equal(renderAmount(1999, 'EUR'), '19.99 EUR')
    assert.equal(renderAmount(1999, 'JPY'), '1999 JPY')
    assert.equal(renderAmount(1999, 'KWD'), '1.999 KWD')
    for (const [minor, currency] of [[19.99, 'EUR'], ['1999', 'EUR'], [1999, 'eur'], [1999, 'XXX'], [2 ** 60, 'EUR'], [null, 'EUR'], [1999, undefined]] as const) {
      assert.equal(renderAmount(minor, currency), null)
    }
  })

  test('that is structured shows every member, names included, and counts what it leaves out', () => {
    assert.equal(line({ to: ['a\u202eb', 2], 'k\u200b': null }), '{"to": ["a\u27e6U+202E\u27e7b", 2], "k\u27e6U+200B\u27e7": (null)}')
    assert.equal(valueText(renderValue({ city: 'Rome', lines: ['1', ''] })), '\n  city: "Rome"\n  lines: \n    - "1"\n    - (empty text)')
    const long = renderValue(Array.from({ length: 300 }, (_, at) => at))
    assert.match(valueLine(long), /199, …100 more not shown · SHA-256 [0-9a-f]{64}\]$/)
    assert.equal(isComplete(long), false)
    assert.equal(isComplete(renderValue({ a: ['x'.repeat(2_001)] })), false)
    assert.equal(isComplete(renderValue({ a: ['x'.repeat(2_000)] })), true)
  })

  test('in quotes cannot end them', () => {
    assert.equal(line('a", "b'), '"a"", ""b"')
  })

  test('tells its badges wherever they are inside', () => {
    assert.deepEqual(badgesIn(renderValue({ to: ['p\u0430ypal', 'p\u0430ypal'] })), ['mixed alphabets: Latin + Cyrillic'])
  })
})

describe('the effect sentence', () => {
  const slot = (of: string, value: Json): { kind: 'slot', of: string, value: Json } => ({ kind: 'slot', of, value })
  const text = (words: string): { kind: 'text', text: string } => ({ kind: 'text', text: words })

  test('has each value in quotes, beside the words of the sheet', () => {
    const effect = [text('Refund '), slot('values.amount', '19.99 EUR'), text(' of order '), slot('args.order_id', 'ord_1'), text(' '), slot('args.times', 2), text(' times.')]
    assert.equal(effectLine(effect), 'Refund "19.99 EUR" of order "ord_1" 2 times.')
    assert.deepEqual(renderEffect(effect).parts.flatMap(part => part.kind === 'slot' ? [part.label] : []), ['amount', 'identifier', 'number'])
    assert.deepEqual(renderEffect(effect).apart, [])
  })

  test('refers to a value that is long, or that holds what cannot be seen, and the value is shown beside it', () => {
    const effect = [text('Write '), slot('args.note', 'x'.repeat(81)), text(' to '), slot('args.to', 'ali\u200bce'), text(' and '), slot('args.short', 'x'.repeat(80)), text('.')]
    assert.equal(effectLine(effect), `Write (see args.note) to (see args.to) and "${'x'.repeat(80)}".`)
    assert.deepEqual(renderEffect(effect).apart.map(({ of, value }) => [of, valueLine(value)]), [['args.note', `"${'x'.repeat(81)}"`], ['args.to', '"ali\u27e6U+200B\u27e7ce"']])
  })

  test('is not continued by a value', () => {
    assert.equal(effectLine([text('Delete '), slot('args.name', 'draft" and nothing else'), text('.')]), 'Delete "draft"" and nothing else".')
    assert.equal(effectLine([text('Pay '), slot('args.name', '\u05d0\u05d1'), text(' 200 EUR')]), 'Pay "\u05d0\u05d1" (text) 200 EUR')
  })
})

describe('the table of changes', () => {
  test('names the change in words and keeps null, empty and absent apart', () => {
    const rows = renderDiff([{ pointer: '/a', was: null, now: '' }, { pointer: '/b', now: 1 }, { pointer: '/c', was: 'x' }])
    assert.deepEqual(rows.map(({ was, now, change }) => [valueLine(was), valueLine(now), change]), [
      ['(null)', '(empty text)', 'changed'], ['(not there)', '1', 'added'], ['"x"', '(not there)', 'removed'],
    ])
  })

  test('shows that what it may not show has changed', () => {
    const rows = renderDiff([{ pointer: '/iban', was: '•••• (HMAC 3)', now: '•••• (HMAC 4)' }, { pointer: '/iban', now: '•••• (HMAC 3)' }, { pointer: '/name', now: '•••• (HMAC 3)' }], ['/iban'])
    assert.deepEqual(rows.map(({ was, now }) => [valueLine(was), valueLine(now)]), [
      ['•••• (HMAC 3)', '•••• (HMAC 4)'], ['(not there)', '•••• (HMAC 3)'], ['(not there)', '"•••• (HMAC 3)"'],
    ])
  })
})
