// How the tour looks: colour only where somebody looks, nothing cut off.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isColoured, narrator } from '../../src/commands/demo/narrator.ts'

function written (coloured: boolean, tell: (narrate: ReturnType<typeof narrator>) => void): string {
  const lines: string[] = []
  tell(narrator(line => lines.push(line), coloured))
  return lines.join('\n')
}

test('colour is for a terminal that wants it', () => {
  assert.equal(isColoured(true, {}), true)
  assert.equal(isColoured(false, {}), false)
  assert.equal(isColoured(true, { NO_COLOR: '1' }), false)
  assert.equal(isColoured(true, { NO_COLOR: '' }), true, 'an empty NO_COLOR says nothing')
  assert.equal(isColoured(true, { TERM: 'dumb' }), false)
})

test('the text is the same with and without colour', () => {
  const tell = (narrate: ReturnType<typeof narrator>): void => {
    narrate.heading(1, 'A title')
    narrate.asked('POST /v1/actions/a.v1', { a: 'x'.repeat(120) })
    narrate.answered('outcome', 'completed')
    narrate.result('result', { a: 1, b: 'y'.repeat(120) })
    narrate.passed('so it is')
    narrate.failed('not so')
  }
  const plain = written(false, tell)
  assert.doesNotMatch(plain, /\x1b/)
  assert.equal(written(true, tell).replace(/\x1b\[[0-9]+m/g, ''), plain)
  assert.match(plain, new RegExp(`"a":"x{120}"[^]*"a": 1,\n[^]*"b": "y{120}" }`))
})

test('a short result takes one line', () => {
  assert.equal(written(false, narrate => narrate.result('result', { id: 'a', n: null })), '   result       {"id":"a","n":null}')
})
