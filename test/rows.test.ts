// The table of the hostile list in test/README.md is what the titles of the tests say, and leaves out no row.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const told = new Map([...readFileSync(join(import.meta.dirname, 'README.md'), 'utf8').matchAll(/^\| ([ABDF]\d+) \| .+ \| (`.+`) \|$/gm)]
  .map(([, row, files]) => [row!, [...files!.matchAll(/`([^`]+)`/g)].map(match => match[1]!)]))

/** By the end of a title, or by a row of a table that titles are made of. */
const shown = new Map<string, string[]>()
for (const file of globSync('**/*.test.ts', { cwd: import.meta.dirname }).sort()) {
  const text = readFileSync(join(import.meta.dirname, file), 'utf8')
  const ends = [...text.matchAll(/\(((?:[A-Z]\d+(?:, )?)+)\)['"`]/g)].flatMap(match => match[1]!.split(', '))
  const cells = [...text.matchAll(/(?:\[|row: |^ {6})'([A-Z]\d+)',/gm)].map(match => match[1]!)
  for (const row of new Set([...ends, ...cells])) if (/^[ABDF]/.test(row)) shown.set(row, [...shown.get(row) ?? [], file.replace(/\.test\.ts$/, '')])
}

test('each row of the hostile list names the tests that show it, and those have its number in a title', () => {
  const lines = (rows: ReadonlyMap<string, readonly string[]>): readonly string[] => [...rows].map(([row, files]) => `${row}: ${files.join()}`).sort()
  assert.deepEqual(lines(told), lines(shown))
})

test('no row is missing', () => {
  const LISTS: { readonly [list: string]: readonly number[] } = {
    A: [1, 2, 3, 4, 6, 8, 9, 10, 11, 13, 15, 16, 17, 18, 21, 22, 25, 26, 27, 28, 30, 31, 32, 33, 35, 36, 37, 38, 39, 40, 41, 42, 43, 45, 47, 49, 50],
    B: [1, 2, 3, 4, 5, 7, 8, 11, 12, 14, 15, 16, 18, 19],
    D: [1, 2, 3, 5, 7, 8, 10, 12, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26, 29],
    F: [1, 2, 3, 6, 8, 9, 10, 11, 12, 14],
  }
  const missing = Object.entries(LISTS).flatMap(([list, numbers]) => numbers.map(number => `${list}${number}`)).filter(row => !told.has(row))
  assert.deepEqual(missing, [])
})
