// Repairs in real files: at every object of every bundled sheet a field is added, and nothing else changes.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'yaml'
import { isObject, type Json } from '../../../src/catalog/catalog.ts'
import { pointerTo } from '../../../src/catalog/yaml-file.ts'
import { editText } from '../../../src/curation/lint/edit-text.ts'

function * objectsIn (value: Json, at: string): Generator<string> {
  if (isObject(value)) yield at
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) yield * objectsIn(inner as Json, pointerTo(at, name))
}

function withField (value: any, pointer: string): any {
  const copy = structuredClone(value)
  const target = pointer.split('/').slice(1).reduce((node, token) => node[token.replaceAll('~1', '/').replaceAll('~0', '~')], copy)
  target.added = 5
  return copy
}

test('a field that is added stands where it should, and every other line stays as it was', () => {
  let tried = 0
  for (const file of globSync('{actions,test/powerdns/actions,test/crash/actions}/**/*.yaml')) {
    const text = readFileSync(file, 'utf8')
    const value = parse(text)
    for (const pointer of objectsIn(value, '')) {
      const after = editText(text, [{ kind: 'add', pointer, name: 'added', value: 5 }])
      assert.deepEqual(parse(after), withField(value, pointer), `${file} ${pointer}`)
      const lines = after.split('\n')
      const changed = text.split('\n').filter(line => !lines.includes(line))
      assert.ok(changed.length <= 1, `${file} ${pointer}: ${changed.join('\n')}`)
      assert.equal(editText(after, [{ kind: 'add', pointer, name: 'added', value: 5 }]), after, 'once is enough')
      tried++
    }
  }
  assert.ok(tried > 500, `${tried}`)
})

const add = (pointer: string) => ({ kind: 'add', pointer, name: 'maxLength', value: 16 }) as const

test('comments, quotes, folds and odd forms stay as they are', () => {
  for (const [before, pointer, after] of [
    ['a: {b: 1} # why\nc: 2\n', '/a', 'a: {b: 1, maxLength: 16} # why\nc: 2\n'],
    ['a: {}\n', '/a', 'a: {maxLength: 16}\n'],
    ['a: {b: 1,}\n', '/a', 'a: {b: 1, maxLength: 16}\n'],
    ['a:\n  b: |\n    text\n    more\nc: 2\n', '/a', 'a:\n  b: |\n    text\n    more\n  maxLength: 16\nc: 2\n'],
    ['a:\n  b: 1 # why\n  # behind\nc: 2\n', '/a', 'a:\n  b: 1 # why\n  maxLength: 16\n  # behind\nc: 2\n'],
    ['a:\n  - {b: "x"}\n  - c: \'y\'', '/a/1', 'a:\n  - {b: "x"}\n  - c: \'y\'\n    maxLength: 16\n'],
  ] as const) assert.equal(editText(before, [add(pointer)]), after)
})

test('a brace behind a comment is no trap: the value is right, and the comment stays', () => {
  const before = 'a: {\n  b: 1 # why\n}\nc: 2\n'
  const after = editText(before, [add('/a')])
  assert.deepEqual(parse(after), { a: { b: 1, maxLength: 16 }, c: 2 })
  assert.match(after, /# why/)
})

test('what is an alias, is not there, or has the field already is left alone', () => {
  const text = 'a: &x {b: 1, maxLength: 3}\nc: *x\n'
  assert.equal(editText(text, [add('/a'), add('/c'), add('/d'), add('/a/b')]), text)
  assert.equal(editText('a: [\n', [add('/a')]), 'a: [\n')
})

test('characters that nobody sees are taken out of plain, quoted, folded and escaped text', () => {
  const strip = { kind: 'strip', pointer: '/a', characters: /\u200b/gu } as const
  assert.equal(editText('a: on\u200be # \u200bwhy\n', [strip]), 'a: one # \u200bwhy\n')
  assert.equal(editText("a: 'on\u200be'\n", [strip]), "a: 'one'\n")
  assert.equal(editText('a: >\n  on\u200be\n  two\nb: 1\n', [strip]), 'a: >\n  one\n  two\nb: 1\n')
  assert.equal(editText('a: "on\\u200be" # why\n', [strip]), 'a: "one" # why\n')
})
