// Several identities of one person, as the operator's file says.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { NO_ALIASES, parsePrincipals, PrincipalFaults, readPrincipals } from '../../src/consent/principals.ts'

const parse = (text: string) => parsePrincipals('people.yaml', Buffer.from(text))

test('identities that stand under one name are one person; everyone else is who they sign in as', () => {
  const principals = parse('people:\n  ann:\n    - {iss: https://one.example, sub: a1}\n    - {iss: https://two.example, sub: "17"}\n  bob: [{iss: https://one.example, sub: b}]\n')
  assert.equal(principals.of('https://one.example', 'a1'), principals.of('https://two.example', '17'))
  assert.notEqual(principals.of('https://one.example', 'a1'), principals.of('https://one.example', 'b'))
  assert.notEqual(principals.of('https://one.example', 'a1'), principals.of('https://one.example', 'A1'))
  assert.equal(principals.of('https://one.example', 'c'), 'https://one.example|c')
  assert.equal(principals.of('https://one.example', 'c'), NO_ALIASES.of('https://one.example', 'c'))
})

test('no identity reads as another, nor as the name of a person', () => {
  const { of } = parse('people: {ann: [{iss: "https://one.example", sub: a1}]}')
  const names = [of('https://a', 'b|c'), of('https://a|b', 'c'), of('https://a%7Cb', 'c'), of('', 'ann'), of('https://one.example', 'a1'), of('|ann', ''), of('ann', '')]
  assert.equal(new Set(names).size, names.length, names.join('\n'))
})

test('a file with faults says where each of them stands, and is not used', async () => {
  for (const [text, fault] of [
    ['people:\n  ann: [{iss: x, sub: "1"}]\n  bob:\n    - {iss: x, sub: "1"}\n', /people.yaml:4:\d+ identity-of-two/],
    ['people: {ann: [{iss: x, sub: "1"}, {iss: x, sub: "1"}]}', /identity-of-two/],
    ['people: {ann: [{iss: x, subject: "1"}]}', /people.yaml:1:\d+ .*subject/],
    ['people: {ann: []}', /people.yaml:1:/],
    ['people: {"a b": [{iss: x, sub: y}]}', /people.yaml:1:/],
    ['persons: {}', /persons/],
    ['', /people.yaml:1:/],
    ['people: {ann: [{iss: x, sub: 1}]}', /people.yaml:1:/],
  ] as const) {
    assert.throws(() => parse(text), (error: unknown) => error instanceof PrincipalFaults && fault.test(error.message), text)
  }
  await assert.rejects(readPrincipals('/nowhere/people.yaml'), (error: unknown) => error instanceof PrincipalFaults && /ENOENT/.test(error.message))
})

test('JSON will do', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'aval-principals-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'people.json')
  writeFileSync(path, JSON.stringify({ people: { ann: [{ iss: 'x', sub: '1' }, { iss: 'y', sub: '2' }] } }))
  const { of } = await readPrincipals(path)
  assert.equal(of('x', '1'), of('y', '2'))
})
