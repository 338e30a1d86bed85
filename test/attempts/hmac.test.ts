// HMAC-SHA256 of one-shot hashes is HMAC-SHA256: as node:crypto makes it, for keys and texts of every length around a block and around the scratch buffer.
import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { Hmac } from '../../src/attempts/hmac.ts'

const theirs = (key: Buffer, text: string): string => createHmac('sha256', key).update(text).digest('hex')

test('RFC 4231 test case 2', () => {
  assert.equal(new Hmac(Buffer.from('Jefe')).hex('what do ya want for nothing?'), '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843')
})

test('keys around the length of a block, texts around that of the scratch buffer, one after the other', () => {
  for (const keyBytes of [0, 1, 31, 32, 63, 64, 65, 200]) {
    const key = randomBytes(keyBytes)
    const hmac = new Hmac(key)
    for (const length of [9_000, 0, 1, 55, 56, 64, 2_730, 2_731, 8_192, 8_193, 30_000, 3]) {
      for (const letter of ['a', 'ä', '€', '😀']) {
        const text = letter.repeat(length)
        assert.equal(hmac.hex(text), theirs(key, text), `key of ${keyBytes} bytes, ${length} × ${letter}`)
      }
    }
  }
})

test('any text under any key', () => {
  const bytes = fc.uint8Array({ maxLength: 100 }).map(array => Buffer.from(array))
  fc.assert(fc.property(bytes, fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 5 }), (key, texts) => {
    const hmac = new Hmac(key)
    for (const text of texts) assert.equal(hmac.hex(text), theirs(key, text))
  }))
})
