// The hints of a tool, all four of them: what the sheet says of effect and retry decides them, and there is no other way to say them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadCatalog } from '../../src/catalog/load.ts'
import { SHEET_SCHEMA } from '../../src/catalog/sheet.ts'
import { BUNDLED } from '../../src/commands/demo/sheets.ts'
import { annotationsOf, toolOf } from '../../src/tools/tool.ts'

type Asked = Parameters<typeof annotationsOf>[0]

/** readOnly, destructive, idempotent, openWorld */
const hints = (asked: Asked): string => Object.values(annotationsOf(asked)).map(hint => hint ? 'yes' : 'no').join(' ')
const write = (effect: Asked['effect'], retry: Asked['retry'], involves: Asked['involves'] = []): Asked => ({ effect, write: true, retry, involves })

test('hints follow from effect and retry', () => {
  assert.deepEqual(Object.keys(annotationsOf(write('reversible_change', 'never'))), ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'])
  const rows: ReadonlyArray<readonly [Asked, string]> = [
    [{ effect: 'observation', write: false, retry: 'safe', involves: [] }, 'yes no yes no'],
    [{ effect: 'observation', write: false, retry: 'never', involves: ['public'] }, 'yes no yes yes'],
    [write('reversible_change', 'never'), 'no no no no'],
    [write('reversible_change', 'natural'), 'no no yes no'],
    // A key of the upstream makes a repeat harmless only where the same key is sent again, which no model can do.
    [write('reversible_change', 'same_key'), 'no no no no'],
    [write('reversible_change', 'never', ['public']), 'no no no yes'],
    [write('external_commitment', 'same_key', ['money']), 'no yes no yes'],
    [write('irreversible_change', 'natural'), 'no yes yes no'],
  ]
  for (const [asked, expected] of rows) assert.equal(hints(asked), expected, JSON.stringify(asked))
})

test('every bundled tool has the hints of its action, and a sheet has no field to say others', async () => {
  const { actions } = await loadCatalog(BUNDLED)
  for (const action of actions.values()) assert.deepEqual(toolOf(action).annotations, annotationsOf(action))
  const fields = Object.keys((SHEET_SCHEMA as { readonly properties: object }).properties)
  assert.ok(fields.includes('effect') && fields.includes('retry'))
  assert.deepEqual(fields.filter(name => /hint|annotation/i.test(name)), [])
})
