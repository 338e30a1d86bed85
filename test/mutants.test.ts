// The table of mutants must fit the code: a line that moved is a mutant that no longer proves anything. `npm run mutants` runs them.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { MUTANTS } from './mutants-table.ts'

const CONTRACT = ['begin', 'advance', 'run', 'time', 'proposals', 'consume'].map(part => `test/store/contract-${part}.ts`)

const read = (path: string): string => readFileSync(join(import.meta.dirname, '..', path), 'utf8')

test('the text that each mutant replaces stands in the code exactly once', () => {
  const wrong = MUTANTS.flatMap(({ name, edits }) => edits.map(({ file, search }) => ({ name, file, times: read(file).split(search).length - 1 })))
    .filter(({ times }) => times !== 1)
  assert.deepEqual(wrong, [])
})

test('the test that must kill each mutant is there', () => {
  // Where a title holds the store's name, it is made of it; what both drivers must do stands in the contract.
  const textOf = (file: string): string => /store\/(sqlite|redis)\.test/.test(file) ? CONTRACT.map(read).join('') : read(file)
  const isThere = (file: string, title: string): boolean => [title, title.replace(/^(sqlite|redis): /, '${kind}: '), title.replace(/^.*: /, '')]
    .some(words => textOf(file).includes(words))
  const wrong = MUTANTS.filter(({ test: file, killedBy }) => !isThere(file, killedBy))
  assert.deepEqual(wrong.map(({ name }) => name), [])
})

test('every invariant that is built has two mutants or more, and no two have one name', () => {
  for (const invariant of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]) assert.ok(
    MUTANTS.filter(one => one.invariant === invariant).length >= 2,
    `invariant ${invariant}`,
  )
  assert.equal(new Set(MUTANTS.map(({ name }) => name)).size, MUTANTS.length)
})

test('README tells of every mutant, and of no other', () => {
  const told = [...read('test/README.md').matchAll(/^\| (\d+) \| (.+?) \| \S+: .+ \| [\d.]+ \|$/gm)].map(match => `${match[1]} ${match[2]}`)
  assert.deepEqual(told, MUTANTS.map(({ invariant, name }) => `${invariant} ${name}`))
})
