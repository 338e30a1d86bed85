// README tells what the code does: the ladder, the errors, the commands. (Its configuration table is held by test/config.test.ts.)
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ERRORS, STEPS } from '../src/errors.ts'
import { commands } from '../src/cli.ts'

const readme = readFileSync('README.md', 'utf8')
const mapped = readFileSync('src/README.md', 'utf8')
const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: Record<string, string> }

test('the ladder in README is the ladder of the code', () => {
  const rows = [...readme.matchAll(/^\| (\d+) \| (\w+) \|/gm)].map(match => match[2])
  assert.deepEqual(rows, STEPS)
})

test('every row of the error table stands in README, and README has no other', () => {
  for (const [code, row] of Object.entries(ERRORS)) {
    const line = `| \`${code}\` | ${row.step} | ${row.status ?? 'in 200, 202'} | ${row.retryable ? 'yes' : 'no'} | ${row.message} |`
    assert.ok(readme.includes(line), line)
  }
  const told = [...readme.matchAll(/^\| `([A-Z][A-Z_]+)` \| \w+ \| (?:\d{3}|in 200, 202) \|/gm)].map(match => match[1])
  assert.deepEqual(told, Object.keys(ERRORS))
})

test('the wording of `unknown` says neither that the call failed nor that it should be sent again', () => {
  assert.doesNotMatch(ERRORS.OUTCOME_UNKNOWN.message, /fail|retry|again/i)
})

test('every command stands in README with its summary', async () => {
  for (const { name, summary } of await commands()) assert.ok(readme.includes(`| \`${name}\` | ${summary} |`), `| \`${name}\` | ${summary} |`)
})

test('every runtime dependency has its reason in src/README.md', () => {
  for (const name of Object.keys(dependencies)) assert.ok(new RegExp(`^\\|[^|]*(^|[ ,|])${name.replace('/', '\\/')}([ ,|])`, 'm').test(mapped), name)
})

test('the tests run on Node 24', () => {
  assert.match(process.version, /^v24\./)
})
