// What others wrote, as people are shown it: nothing hides, nothing is turned around, nothing is lost without being counted.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { codePointsOf, NO_BUDGET, plain, plainLine, REASON_BUDGET, renderReason, renderUntrusted, type Part, type Rendered } from '../../src/consent/untrusted.ts'
import { kindOf } from '../../src/consent/alphabets.ts'

/** Everything that a person could not see, or that could move what they see. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2800\ufffc]|[\p{Zs}--\x20]/v

/** Any text at all, with what attacks are made of more often than chance would have it. */
const anyText = fc.array(fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.integer({ min: 0, max: 0xffff }).map(unit => String.fromCharCode(unit)),
  fc.constantFrom('\u202e', '\u2066', '\u200b', '\u{e0041}', '\ufe0f', '\u034f', '\u3164', '\u2800', '\u00ad', '\u001b[2J', '\u009b', '\r\n', '\n', '\t', '  ', ' ',
    '\u27e6U+202E\u27e7', '\u21b5', '\u2423', '\u0301', '\u0338', 'e\u0301\u0301\u0301\u0301', '\u05d0', '\u0661', '\ud800', '7', 'pay', '\u0440\u0430y', '\u2028', '\ufeff', '\u0085'),
), { maxLength: 24 }).map(pieces => pieces.join(''))

const original = (parts: readonly Part[]): string => parts.map(part => {
  switch (part.kind) {
    case 'text': return part.text
    case 'chip': return String.fromCodePoint(part.codePoint)
    case 'break': return '\n'
    case 'tab': return '\t'
    case 'spaces': return ' '.repeat(part.count)
    case 'rest': return ''
  }
}).join('')

const chips = ({ parts }: Rendered): readonly string[] => parts.flatMap(part => part.kind === 'chip' ? [part.text] : [])
const badges = (text: string): readonly string[] => renderUntrusted(text).badges.map(badge => badge.text)

describe('a text of others', () => {
  test('has nothing invisible, and nothing that reorders, in what is written of it', () => {
    fc.assert(fc.property(anyText, text => {
      const rendered = renderUntrusted(text, NO_BUDGET)
      assert.doesNotMatch(plainLine(rendered), INVISIBLE)
      // A terminal would reorder these by itself.
      if (/[\u0590-\u08ff]/.test(plainLine(rendered))) assert.doesNotMatch(plainLine(rendered), /[a-z0-9]/i)
      for (const line of plain(rendered).split('\n')) assert.doesNotMatch(line, INVISIBLE)
      for (const part of rendered.parts) assert.doesNotMatch(part.text, INVISIBLE)
    }), { numRuns: 3_000 })
  })

  test('is all there: texts, chips and marks together give it back', () => {
    fc.assert(fc.property(anyText, text => {
      const rendered = renderUntrusted(text, NO_BUDGET)
      assert.equal(original(rendered.parts), text)
      assert.equal(rendered.complete, true)
    }), { numRuns: 3_000 })
  })

  test('is cut with a count and a digest, and the pieces add up', () => {
    fc.assert(fc.property(anyText, fc.integer({ min: 0, max: 30 }), fc.integer({ min: 1, max: 4 }), (text, codePoints, lines) => {
      const { parts, complete } = renderUntrusted(text, { codePoints, lines })
      const head = original(parts)
      const rest = parts.find(part => part.kind === 'rest')
      assert.ok(text.startsWith(head) && Array.from(head).length <= codePoints && head.split('\n').length <= lines + 1)
      assert.equal(complete, rest === undefined)
      if (rest === undefined) return assert.equal(head, text)
      assert.equal(rest.codePoints, Array.from(text.slice(head.length)).length)
      assert.equal(rest.sha256, createHash('sha256').update(text).digest('hex'))
      assert.match(rest.text, new RegExp(`^…${rest.codePoints} more characters not shown · SHA-256 [0-9a-f]{64}$`))
    }), { numRuns: 2_000 })
  })

  test('cannot forge a chip, a line mark or a mark for spaces', () => {
    assert.equal(plainLine(renderUntrusted('\u27e6U+202E\u27e7')), '\u27e6U+27E6\u27e7U+202E\u27e6U+27E7\u27e7')
    assert.equal(plainLine(renderUntrusted('a\u21b5b\u2423')), 'a\u27e6U+21B5\u27e7b\u27e6U+2423\u27e7')
  })

  test('shows the amount that was turned around in the order in which it is', () => {
    assert.equal(plainLine(renderUntrusted('Refund \u202e00.001$ ot ecilA\u202c')), 'Refund \u27e6U+202E\u27e700.001$ ot ecilA\u27e6U+202C\u27e7')
  })

  const hidden: Record<string, string> = {
    'zero width': 'pay\u200bpal', 'tag characters': 'hi\u{e0041}\u{e0042}', 'a variation selector': 'a\ufe0f', 'a Hangul filler': 'a\u3164b', 'an empty Braille cell': 'a\u2800b',
    'a soft hyphen': 'a\u00adb', 'a grapheme joiner': 'a\u034fb', 'a no-break space': 'a\u00a0b', 'an ANSI sequence': 'a\u001b[31mb', 'its eight-bit form': 'a\u009b31mb',
    'a byte order mark': '\ufeffa', 'a line separator': 'a\u2028b', 'half a surrogate pair': 'a\ud800', 'a private character': 'a\ue000', 'an isolate': '\u2067a\u2069',
  }
  for (const [what, text] of Object.entries(hidden)) {
    test(`shows ${what} as a chip`, () => assert.ok(chips(renderUntrusted(text)).length > 0))
  }

  test('keeps three combining marks on a letter and shows the others as chips, as it does with marks that sit on no letter', () => {
    const zalgo = `z${'\u0301'.repeat(200)}a`
    assert.deepEqual(renderUntrusted(zalgo).parts[0], { kind: 'text', text: 'z\u0301\u0301\u0301' })
    assert.equal(chips(renderUntrusted(zalgo)).length, 197)
    assert.equal(plainLine(renderUntrusted('1\u03380 EUR')), '1\u27e6U+0338\u27e70 EUR')
    assert.equal(plainLine(renderUntrusted('\u0301')), '\u27e6U+0301\u27e7')
    assert.deepEqual(chips(renderUntrusted('Zoe\u0308 \u0939\u093f\u0928\u094d\u0926\u0940')), [], 'names and Hindi stay readable')
  })

  test('shows spaces that nobody would count', () => {
    assert.equal(plainLine(renderUntrusted(' alice ')), '\u2423alice\u2423')
    assert.equal(plainLine(renderUntrusted('a  b')), 'a\u2423\u2423b')
    assert.equal(plainLine(renderUntrusted(`a${' '.repeat(4_000)}b`, NO_BUDGET)), 'a\u2423\u00d74000b')
    assert.equal(plainLine(renderUntrusted('a b c')), 'a b c')
  })

  test('marks line feeds and tabs, on one line or on several', () => {
    const rendered = renderUntrusted('one\ntwo\tthree')
    assert.equal(plainLine(rendered), 'one\u21b5two\u2192three')
    assert.equal(plain(rendered, '  '), 'one\u21b5\n  two\u2192three')
  })

  test('keeps right-to-left letters, but where a terminal would turn numbers or words around them', () => {
    assert.equal(plainLine(renderUntrusted('\u05e9\u05dc\u05d5\u05dd')), '\u05e9\u05dc\u05d5\u05dd')
    assert.equal(plainLine(renderUntrusted('100 \u05d0 200')), '100 \u27e6U+05D0\u27e7 200')
    assert.equal(renderUntrusted('100 \u05d0 200').rightToLeft, true)
  })

  test('of an agent is normalised and held to 500 code points and 20 lines', () => {
    assert.equal(plainLine(renderReason('Zoe\u0308')), 'Zo\u00eb')
    assert.equal(renderReason('x'.repeat(500)).complete, true)
    assert.match(plainLine(renderReason('x'.repeat(501))), /…1 more characters not shown/)
    assert.match(plainLine(renderReason('x\n'.repeat(21))), /…2 more characters not shown/)
    assert.equal(REASON_BUDGET.codePoints, 500)
  })

  test('of a megabyte is cut at once', () => {
    const { parts } = renderUntrusted('\u202e'.repeat(1 << 20))
    assert.equal(parts.length, 2_001)
  })

  test('can be looked at code point by code point', () => {
    assert.deepEqual(codePointsOf('p\u0430\u{1f600}'), ['U+0070', 'U+0430', 'U+1F600'])
    assert.equal(codePointsOf('x'.repeat(9_999)).length, 200)
  })
})

describe('badges', () => {
  test('tell of mixed alphabets inside one word, by name', () => {
    assert.deepEqual(badges('p\u0430ypal is here'), ['mixed alphabets: Latin + Cyrillic'])
    assert.deepEqual(badges('\u03b1lpha \u0430lpha'), ['mixed alphabets: Latin + Greek', 'mixed alphabets: Latin + Cyrillic'].sort().reverse())
  })

  test('say nothing of languages that are written in several scripts, nor of texts in two languages', () => {
    for (const text of ['\u6771\u4eac\u30bf\u30ef\u30fc\u306f\u9ad8\u3044', '\ud55c\u6f22', 'Moscow \u041c\u043e\u0441\u043a\u0432\u0430', 'caf\u00e9', 'S\u00f8ren Kierkeg\u00e5rd']) {
      assert.deepEqual(badges(text), [], text)
    }
  })

  test('tell of words that look Latin and are not, of styled letters and of foreign digits', () => {
    assert.deepEqual(badges('to \u0440\u0430\u0443'), ['looks like Latin, is Cyrillic'])
    assert.deepEqual(badges('\uff30\uff21\uff39 me'), ['styled letters or digits that stand for plain ones'])
    assert.deepEqual(badges('\ud835\udc0f\ud835\udc1a\ud835\udc32 me'), ['styled letters or digits that stand for plain ones'])
    assert.ok(badges('in \u0663 days').includes('digits of another script'))
  })

  test('tell of other letters where an identifier, an amount, an address or a host stands, and give the host as the network has it', () => {
    assert.ok(badges('cus_1\u00e9').includes('not only plain letters: an identifier'))
    assert.ok(badges('1\u066b5 EUR').length > 0)
    assert.deepEqual(badges('b\u00fccher.example'), ['not only plain letters: a host name', 'in the network: xn--bcher-kva.example'])
    assert.ok(badges('\u0430lice@ex\u0430mple.com').some(text => text === 'in the network: xn--exmple-4nf.com'))
    assert.ok(badges('https://\u0440\u0430\u0443.example/x').some(text => text.startsWith('in the network: xn--')))
    assert.deepEqual(badges('19.99 \u20ac'), [], 'a sign of a currency belongs to an amount')
  })

  test('are given to what stands there, where it is known', () => {
    assert.deepEqual(renderUntrusted('caf\u00e9', NO_BUDGET, { kind: 'identifier' }).badges.map(({ kind }) => kind), ['not_ascii'])
  })

  test('hold nothing of the text but printable ASCII', () => {
    fc.assert(fc.property(anyText, text => { for (const badge of badges(text)) assert.match(badge, /^[\x20-\x7e]+$/) }), { numRuns: 2_000 })
  })

  test('rest on the form of what stands there', () => {
    const forms = { 'Alice Liddell': 'text', 'alice@example.com': 'email', 'api.shop.example': 'host', 'https://x.example/a': 'host', '19.99 EUR': 'amount', '1200': 'amount', cus_1001: 'identifier', Alice: 'text' }
    for (const [text, kind] of Object.entries(forms)) assert.equal(kindOf(text), kind, text)
  })
})
