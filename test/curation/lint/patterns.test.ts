// What the linter knows of a pattern without running it: how long its longest match is, and whether an engine that backtracks stands still on it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { backtracking } from '../../../src/curation/lint/backtracking.ts'
import { longestMatch } from '../../../src/curation/lint/longest-match.ts'

test('patterns that double the work with every character are exponential', () => {
  for (const pattern of [
    '^(a+)+$', '^(a|a)*$', '^(a|aa)+$', '^([a-z]+)*$', '^(\\w+\\s?)*$', '^(x*)*y$', '^(ab|a(b))+$', '^(.*,){11}P$', '(\\d|[0-9])+x', '^(a?b?c?)*$',
    '^([a-zA-Z0-9._%-]+@[a-zA-Z0-9.-]+\\.[a-zA-Z]{2,6})*$', '^((?:a|b)+c?)+$', '^(\\p{L}+-?)+$',
  ]) assert.equal(backtracking(pattern), 'exponential', pattern)
})

test('patterns in which two repeats take the same text are polynomial', () => {
  for (const pattern of ['^a*a*$', '^\\s*\\s*$', '^\\d+\\d+$', '^.*foo.*bar.*$', '^[a-z]*[a-c]*$']) {
    assert.equal(backtracking(pattern), 'polynomial', pattern)
  }
})

test('patterns that take every text in one way are linear, however nested', () => {
  for (const pattern of [
    '^cus_[0-9]{1,12}$', '^[A-Z0-9]+(-[A-Z0-9]+)*$', '^[a-z0-9-]+(\\.[a-z0-9-]+)*\\.$', '^\\s*x\\s*$', '^[a-z]+[0-9]+$', '^(?:a?){20}$', '^(a*)?$',
    '^[0-9]{4}-(0[1-9]|1[0-2])$', '^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])$', '^(?:ab|cd)*$',
  ]) assert.equal(backtracking(pattern), null, pattern)
})

test('what is not understood is claimed to be nothing', () => {
  for (const pattern of ['^(?=a)b$', '^(?<!a)b$', '^(a)\\1$', '^\\k<x>$', '^(', '^[a', '^a{2']) {
    assert.equal(backtracking(pattern), null, pattern)
    assert.equal(longestMatch(pattern), null, pattern)
  }
})

test('the longest match is that of the longest branch, in code points; without both ends, or without an end, there is none', () => {
  for (const [pattern, length] of [
    ['^cus_[0-9]{1,12}$', 16], ['^(a|bcd)$', 3], ['^a$|^bc$', 2], ['^(ab?){2,3}$', 6], ['^[\\u{1F600}-\\u{1F64F}]{2}$', 2], ['^$', 0],
    ['^\\bx\\b$', 1],
    ['^(?<year>[0-9]{4})-(?:0[1-9]|1[0-2])$', 7], ['^\\x41\\u0042\\t[\\]\\-a-z^]$', 4], ['^[^a-z]?$', 1],
    ['^a+$', null], ['a{3}', null], ['^a{3}', null], ['^a{3,}$', null], ['^a$|b', null], ['^(a*)$', null], ['^a{99999}$', null],
  ] as const) assert.equal(longestMatch(pattern), length, pattern)
})

test('no match is longer than the longest, and some is as long', () => {
  const character = fc.constantFrom('a', '[a-z]', '\\d', '(?:b|c)', '\\.')
  const piece = fc.tuple(character, fc.constantFrom('', '?', '{2}', '{1,3}', '{0,2}'))
  fc.assert(fc.property(fc.array(piece, { minLength: 1, maxLength: 5 }), pieces => {
    const pattern = `^${pieces.map(([one, times]) => one + times).join('')}$`
    const longest = longestMatch(pattern)!
    const most = { '': 1, '?': 1, '{2}': 2, '{1,3}': 3, '{0,2}': 2 }
    const sample = { a: 'a', '[a-z]': 'q', '\\d': '7', '(?:b|c)': 'c', '\\.': '.' }
    const text = pieces.map(([one, times]) => sample[one as keyof typeof sample].repeat(most[times as keyof typeof most])).join('')
    assert.ok(new RegExp(pattern, 'u').test(text))
    assert.equal(longest, text.length)
  }))
})
