import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Refusal } from '../../src/errors.ts'
import { readBody } from '../../src/http/body.ts'
import { decodeJson, DEPTH_MAX, TOKENS_MAX } from '../../src/http/decode.ts'
import { isExactNumber } from '../../src/http/number.ts'

function refusalOf (bytes: Buffer | string): Refusal {
  try {
    decodeJson(Buffer.from(bytes as string))
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error))
    assert.equal(error.step, 'decode')
    return error
  }
  assert.fail(`accepted: ${String(bytes).slice(0, 80)}`)
}

const codeOf = (bytes: Buffer | string): string => refusalOf(bytes).code
const decode = (text: string): unknown => decodeJson(Buffer.from(text))

describe('a body is JSON', () => {
  test('every kind of value decodes to what it is', () => {
    for (const text of ['null', 'true', 'false', '0', '-7', '1.5', '""', '"a"', '[]', '{}', ' [1, {"a": [null]}, "é😀"]\r\n\t']) {
      assert.deepEqual(decode(text), JSON.parse(text), text)
    }
  })

  test('an escaped text decodes to what the escapes mean', () => {
    assert.equal(decode(String.raw`"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`), '"\\/\b\f\n\r\té😀')
    assert.deepEqual(decode(String.raw`{"a\\":1,"a\"":2,"a":3}`), { 'a\\': 1, 'a"': 2, a: 3 })
  })

  for (const text of [
    '', ' ', '{', '}', '[', ']', '[1', '[1,]', '{"a":1,}', '{"a"}', '{"a":}', '{a:1}', "{'a':1}", '"', '"a', '"\\"', '[1]]', '{} {}', '1 2', 'nul',
    'nulll',
    'NaN', 'Infinity', 'undefined', '01', '1.', '.5', '+1', '-', '1e', '0x10', '1.2.3', '--1', '/* */1', '1//', '"\t"', '"\n"', String.raw`"\x41"`,
    String.raw`"\u12"`, '[1 2]', '{"a" 1}', '{1:2}', ',', ':', '[,1]', '\u00a01', '\u2028[]', '[]\u0000', ')]}\'[]',
  ]) {
    test(`${JSON.stringify(text)} is refused as no JSON`, () => {
      assert.throws(() => JSON.parse(text), 'the case itself is wrong')
      assert.equal(codeOf(text), 'MALFORMED_JSON')
    })
  }

  test('a byte order mark in front is refused, and U+FEFF inside a text is not', () => {
    const refusal = refusalOf(Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]))
    assert.deepEqual([refusal.code, refusal.details.rule], ['MALFORMED_JSON', 'byte_order_mark'])
    assert.equal(codeOf(Buffer.from([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00])), 'ILL_FORMED_TEXT')
    assert.equal(decode('"\ufeff"'), '\ufeff')
  })
})

describe('text is well-formed', () => {
  for (const [why, bytes] of Object.entries({
    'a lone continuation byte': [0x22, 0x80, 0x22],
    'an overlong slash': [0x22, 0xc0, 0xaf, 0x22],
    'a surrogate in UTF-8': [0x22, 0xed, 0xa0, 0x80, 0x22],
    'a cut sequence': [0x22, 0xe2, 0x82, 0x22],
    'a code point above U+10FFFF': [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22],
    'Latin-1': [0x22, 0xe9, 0x22],
  })) {
    test(`${why} is refused`, () => { assert.equal(codeOf(Buffer.from(bytes)), 'ILL_FORMED_TEXT') })
  }

  test('half of a surrogate pair is refused, as value and as key, and its place is named', () => {
    for (const half of ['\\ud800', '\\uDFFF', 'a\\ud83d', '\\ude00\\ud83d', '\\ud83d\\u0061']) {
      const asValue = refusalOf(`{"a":["x","${half}"]}`)
      assert.deepEqual([asValue.code, asValue.details.field], ['ILL_FORMED_TEXT', '/a/1'], half)
      const asKey = refusalOf(`{"a":{"b":1,"${half}":2}}`)
      assert.deepEqual([asKey.code, asKey.details.field], ['ILL_FORMED_TEXT', '/a'], half)
    }
  })
})

describe('a key stands once', () => {
  for (const [text, field] of [
    ['{"amount":1,"amount":9}', '/amount'],
    ['{"b":1,"\\u0062":2}', '/b'],
    ['{"a":{"x":[{"k":1},{"k":1,"z":0,"k":2}]}}', '/a/x/1/k'],
    ['{"":1,"":2}', '/'],
    ['{"a/b~c":1,"a/b~c":1}', '/a~1b~0c'],
    ['{"a":{},"b":[],"a":null}', '/a'],
    ['{"\\"":1,"\\"":2}', '/"'],
  ] as const) {
    test(`${text} is refused at ${field}`, () => {
      const refusal = refusalOf(text)
      assert.deepEqual([refusal.code, refusal.details.field], ['DUPLICATE_KEY', field])
    })
  }

  test('equal keys of different objects are no duplicates, nor is a value that equals a key', () => {
    for (const text of ['[{"a":1},{"a":1}]', '{"a":{"a":{"a":1}}}', '{"a":"a","b":"a"}', '{"a":["a","a"]}', '{"\u00e9":1,"e\u0301":2}',
      '{"a":1,"A":2}']) {
      assert.deepEqual(decode(text), JSON.parse(text), text)
    }
  })
})

describe('no key reaches a prototype', () => {
  for (const key of ['__proto__', 'constructor', 'prototype', '\\u005f_proto__', '__pro\\u0074o__']) {
    test(`the key "${key}" is refused at any depth`, () => {
      for (const text of [`{"${key}":{"x":1}}`, `{"a":[{"${key}":1}]}`]) {
        const refusal = refusalOf(text)
        assert.deepEqual([refusal.code, refusal.details.rule], ['MALFORMED_REQUEST', 'reserved_key'])
      }
      assert.equal(({} as Record<string, unknown>)['x'], undefined)
    })
  }

  test('the same words are free to be values', () => {
    assert.deepEqual(decode('{"a":"__proto__","b":["constructor","prototype"]}'), { a: '__proto__', b: ['constructor', 'prototype'] })
  })
})

describe('a number is kept exactly or refused', () => {
  for (const [text, value] of [
    ['9007199254740991', 9007199254740991], ['-9007199254740991', -9007199254740991], ['2.0', 2], ['2.00', 2], ['1e3', 1000], ['15.0E+1', 150],
    ['1200e-2', 12],
    ['0', 0], ['0.0', 0], ['0e999999999999', 0], ['19.99', 19.99], ['19.990', 19.99], ['0.1', 0.1], ['0.07', 0.07], ['1e-7', 1e-7],
    ['5e-324', 5e-324],
    ['123456.789e-3', 123.456789], ['-0.5', -0.5], ['4503599627370495.5', 4503599627370495.5],
  ] as const) {
    test(`${text} decodes to ${value}`, () => { assert.equal(decode(text), value) })
  }

  for (const text of [
    '9007199254740992', '9007199254740993', '-9007199254740993', '9007199254740992.0', '12345678901234567890', '1e16', '1e22', '1e308', '1e400',
    '-1e400', '1e99999999999',
    '9007199254740991.5', '0.1000000000000000055511151231257827', '3.14159265358979323846', '1e-400', '-1e-400', '4.9e-324', '-0', '-0.0', '-0e5',
    '1e-99999999999',
  ]) {
    test(`${text} is refused`, () => {
      const refusal = refusalOf(`{"a":[0,${text}]}`)
      assert.deepEqual([refusal.code, refusal.details.field], ['UNSAFE_NUMBER', '/a/1'])
    })
  }

  test('every double that is no unsafe integer is kept when it is written the way it prints', () => {
    fc.assert(fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), value => {
      const unsafe = Object.is(value, -0) || (Number.isInteger(value) && !Number.isSafeInteger(value))
      // JSON writes -0 as 0.
      assert.equal(isExactNumber(Object.is(value, -0) ? '-0' : JSON.stringify(value)), !unsafe)
    }), { numRuns: 2_000 })
  })

  test('what is accepted has the very digits that were sent, whatever way they were written', () => {
    const written = fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.integer({ min: 0, max: 25 }), fc.integer({ min: -30, max: 30 }))
    fc.assert(fc.property(written, ([digits, point, exponent]) => {
      const padded = digits.toString().padStart(point + 1, '0')
      const text = `${padded.slice(0, padded.length - point)}${point === 0 ? '' : `.${padded.slice(padded.length - point)}`}e${exponent}`
      if (!isExactNumber(text)) return
      // value = digits × 10^(exponent - point), compared as a fraction of big integers with what the shortest form of the double says.
      const [mantissa = '', power = '0'] = Number(text).toExponential().split('e')
      const fraction = mantissa.split('.')[1] ?? ''
      const shift = 60n
      const scaled = (number: bigint, of: number): bigint => number * 10n ** (BigInt(of) + shift)
      assert.equal(scaled(digits, exponent - point), scaled(BigInt(mantissa.replace('.', '')), Number(power) - fraction.length), text)
    }), { numRuns: 2_000 })
  })
})

describe('size is bounded before anything recurses', () => {
  test(`${DEPTH_MAX} levels decode and one more is refused`, () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
    assert.deepEqual(decode(nested(DEPTH_MAX)), JSON.parse(nested(DEPTH_MAX)))
    assert.equal(codeOf(nested(DEPTH_MAX + 1)), 'TOO_DEEP')
    assert.equal(codeOf('{"a":'.repeat(DEPTH_MAX + 1) + '1' + '}'.repeat(DEPTH_MAX + 1)), 'TOO_DEEP')
  })

  test(`${TOKENS_MAX} keys and values decode and one more is refused`, () => {
    const list = (values: number): string => `[${Array.from({ length: values }, () => '1').join(',')}]`
    assert.equal((decode(list(TOKENS_MAX - 1)) as unknown[]).length, TOKENS_MAX - 1)
    assert.equal(codeOf(list(TOKENS_MAX)), 'TOO_DEEP')
    assert.equal(codeOf(`{${Array.from({ length: TOKENS_MAX / 2 }, (_, at) => `"${at}":1`).join(',')}}`), 'TOO_DEEP')
  })

  test('depth 20,000, closed or not, is refused after looking at no more than the first levels', () => {
    const deep = Buffer.from('['.repeat(20_000) + ']'.repeat(20_000))
    const shallow = Buffer.from('['.repeat(DEPTH_MAX + 1) + ']'.repeat(DEPTH_MAX + 1))
    assert.equal(codeOf(deep), 'TOO_DEEP')
    assert.equal(codeOf('{"a":['.repeat(20_000)), 'TOO_DEEP')
    // The scan stops at the same place in both, so that only reading the bytes differs: a thousand times the work would show by far.
    assert.ok(fastestMs(() => refusalOf(deep)) < 100 * fastestMs(() => refusalOf(shallow)) + 5)
  })

  test('work is linear in the length for texts that are made to make it quadratic', () => {
    const shapes: Record<string, (length: number) => string> = {
      'zeros before a digit': length => `0.${'0'.repeat(length)}1`,
      'digits after zeros': length => `[1${'0'.repeat(length)}1]`,
      backslashes: length => `"${'\\\\'.repeat(length / 2)}"`,
      'escaped quotes': length => `"${'\\"'.repeat(length / 2)}"`,
      'short texts and one escape at the end': length => `[${'"a",'.repeat(Math.min(length / 4, 9_000))}"${'b'.repeat(length / 2)}\\n"]`,
      'an open text': length => `["${'a'.repeat(length)}`,
    }
    for (const [name, shape] of Object.entries(shapes)) {
      const [small, large] = [Buffer.from(shape(64_000)), Buffer.from(shape(1_024_000))]
      const settle = (bytes: Buffer) => () => { try { decodeJson(bytes) } catch { /* refused is as good */ } }
      // What is quadratic takes longer than this for 64 kB by far; below it the clock and the caches are what is measured.
      const ratio = fastestMs(settle(large)) / Math.max(0.1, fastestMs(settle(small)))
      assert.ok(ratio < 16 * 8, `${name}: 16 times the text took ${ratio.toFixed(0)} times as long`)
    }
  })
})

function fastestMs (work: () => void): number {
  // The fastest of many is what the work needs; everything above it is what else the machine was doing.
  return Math.min(...Array.from({ length: 15 }, () => {
    const from = performance.now()
    work()
    return performance.now() - from
  }))
}

describe('the body is read', () => {
  const headers = { 'content-type': 'application/json' }
  const codeOfReading = async (stream: Readable, given: Record<string, string>): Promise<string> => {
    const error = await readBody(stream, given, { bytesMax: 8 }).then(() => null, (reason: unknown) => reason)
    assert.ok(error instanceof Refusal, String(error))
    return error.code
  }

  test('whole, in as many pieces as it comes in, up to the limit', async () => {
    assert.equal((await readBody(Readable.from([Buffer.from('1234'), Buffer.from('5678')]), headers, { bytesMax: 8 })).toString(), '12345678')
    assert.equal((await readBody(Readable.from([]), headers, { bytesMax: 8 })).length, 0)
  })

  test('no further than one piece past the limit', async () => {
    let pieces = 0
    const endless = new Readable({ highWaterMark: 4, read () { pieces++; this.push(Buffer.from('1234')) } })
    assert.equal(await codeOfReading(endless, headers), 'TOO_LARGE')
    assert.ok(pieces < 8, `${pieces} pieces were taken`)
    endless.destroy()
  })

  test('not at all where the length says that it is too long, or its type is no JSON', async () => {
    const untouched = new Readable({ read () { assert.fail('it was read') } })
    assert.equal(await codeOfReading(untouched, { ...headers, 'content-length': '9' }), 'TOO_LARGE')
    assert.equal(await codeOfReading(untouched, {}), 'UNSUPPORTED_MEDIA_TYPE')
    assert.equal(await codeOfReading(untouched, { ...headers, 'content-encoding': 'identity' }), 'UNSUPPORTED_MEDIA_TYPE')
  })

  test('a connection that ends early, before or while it is read, ends the reading', async () => {
    const cut = new Readable({ read () { this.destroy(new Error('reset')) } })
    assert.equal(await codeOfReading(cut, headers), 'MALFORMED_REQUEST')
    assert.equal(await codeOfReading(cut, headers), 'MALFORMED_REQUEST')
  })

  for (const type of ['application/json', 'Application/JSON', 'application/json;charset=utf-8', 'application/json; charset=UTF-8',
    'application/json; charset="utf-8"']) {
    test(`the type ${type} is taken`, async () => { await readBody(Readable.from([Buffer.from('1')]), { 'content-type': type }, { bytesMax: 8 }) })
  }
  for (const type of [
    'application/json; charset=utf-16', 'application/json;', 'application/json ;charset=utf-8', 'application/json\t;charset=utf-8',
    'application/jsonx', 'application/json-patch+json',
    'application/problem+json', 'text/json', 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x',
    'application/json, application/json',
    'application/json; charset=utf-8; charset=utf-16', 'application/json; charset=utf-8x', 'application/json\n', '',
  ]) {
    test(`the type ${JSON.stringify(type)} is refused`, async () => {
      assert.equal(await codeOfReading(Readable.from([Buffer.from('1')]), { 'content-type': type }), 'UNSUPPORTED_MEDIA_TYPE')
    })
  }
})
