// The table of the rig's mutants must fit the code: a line that moved is a mutant that no longer proves anything. `npm run faults:mutants` runs them.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isStale } from '../mutant-tree.ts'
import { INVARIANTS } from './check.ts'
import { RIG_MUTANTS } from './mutants-table.ts'
import { MODES } from './replies.ts'
import { DOWN, LYING } from './status.ts'
import { ACTIONS, STORIES } from './stories.ts'

test('the text that each mutant replaces stands in the code exactly once', () => {
  assert.deepEqual(RIG_MUTANTS.flatMap(({ name, edits }) => edits.filter(isStale).map(({ file }) => `${name}: ${file}`)), [])
})

test('the runs name modes, stories and actions that there are, and invariants that are checked', () => {
  const modes = new Set(MODES.map(({ name }) => name))
  const statuses = { ...DOWN, ...LYING }
  const invariants = new Set(INVARIANTS.map(({ name }) => name))
  const strange = RIG_MUTANTS.flatMap(({ run, caughtBy }) => [
    ...(run.only ?? []).filter(name => !modes.has(name)),
    ...(run.statusOnly ?? []).filter(name => statuses[name] === undefined),
    ...(run.stories ?? []).filter(name => STORIES[name] === undefined),
    ...(run.actions ?? []).filter(name => ACTIONS[name] === undefined),
    ...caughtBy.filter(name => !invariants.has(name)),
  ])
  assert.deepEqual(strange, [])
})

test('README tells of every mutant, of no other, and says why where none is run', () => {
  const told = [...readFileSync(join(import.meta.dirname, 'README.md'), 'utf8').matchAll(/^\| (\([a-p]\) .+?) \| (.+?) \|/gm)].map(match => match[1])
  assert.deepEqual(told, RIG_MUTANTS.map(({ name }) => name))
  assert.deepEqual(told.map(name => name!.slice(1, 2)).join(''), 'abcdefghijklmnop')
  for (const { edits, instead, fires } of RIG_MUTANTS) {
    assert.equal(edits.length === 0, instead !== undefined)
    assert.ok(instead !== undefined || Object.keys(fires).length > 0, 'a run must say which faults it needs')
  }
})
