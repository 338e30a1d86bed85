// A secret that ends with a backslash, a percent sign or an ampersand was not found where it stood in another writing: the letter behind it made an
// escape of its end.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holdsAny, needlesOf } from '../../src/credentials/scan.ts'

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

for (const end of ['\\', '\\u00', '\\x4', '%', '%4', '&', '&#', '&am']) {
  test(`a secret that ends with ${end} is found in HTML, whatever letter follows`, () => {
    const secret = `key<of-the-shop${end}`
    for (const behind of ['a', '1', 'b4c', 'p;', '</p>', '"', '']) {
      const text = `<p>${escaped(secret)}${behind}`
      assert.equal(holdsAny([text], needlesOf(Buffer.from(secret), null)), true, text)
    }
  })
}

test('what is left of a short one is not looked for: it would be found everywhere', () => {
  assert.equal(needlesOf(Buffer.from('seven-8%'), null).includes('seven-8'), false)
})
