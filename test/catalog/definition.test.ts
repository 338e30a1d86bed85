// The definition of an action as text, and back.
import assert from 'node:assert/strict'
import { gunzipSync, gzipSync } from 'node:zlib'
import { before, describe, test } from 'node:test'
import { BUNDLED } from '../../src/commands/demo/sheets.ts'
import type { Action, AttemptView, Bindings, Catalog, Json } from '../../src/catalog/catalog.ts'
import { readDefinition } from '../../src/catalog/definition.ts'
import { loadCatalog } from '../../src/catalog/load.ts'

const attempt: AttemptView = { id: 'att_1', key: 'a-key', reference: 'job_1' }

function bindingsOf (action: Action): Bindings {
  const args = action.examples[0]?.arguments ?? { customer_id: 'cus_1001', destination: { street: 's', city: 'c', postal_code: 'p', country: 'IE' } }
  return {
    args, reads: {}, values: { unit_price_minor: 1250, total_minor: 2500, currency: 'EUR', amount: '5.00 EUR' },
    caller: { sub: 'agent', tenant: 'default', run: 'run-1', claims: { customers: ['cus_1001'] } },
    target: { type: 'customer', id: 'cus_1001', version: 3 }, attempt, response: null, now: '2026-11-30T12:00:00.000Z',
  }
}

const answers: readonly Json[] = [
  { items: [] },
  { items: [{ key: 'a-key', request_id: 'a-key', id: 'ord_1', job_id: 'job_1', state: 'done', total_minor: 2500, unit_price_minor: 1250, currency: 'EUR' }] },
  { id: 'cus_1001', version: 4, state: 'cancelled' },
  { id: 'cus_1001', version: 3, state: 'active' },
]

describe('a definition that was written and read', () => {
  let catalog: Catalog
  before(async () => {
    catalog = await loadCatalog({ actionsFolder: BUNDLED.actionsFolder, openapiFolder: BUNDLED.openapiFolder })
  })

  test('is there for every write of the bundled sheets, and for nothing else', () => {
    const writes = [...catalog.actions.values()].filter(({ write }) => write)
    assert.deepEqual(new Set(catalog.definitions.keys()), new Set(writes.map(({ digest }) => digest)))
  })

  test('is the same action: what it sends, where it looks, and what it makes of every answer', () => {
    for (const [digest, write] of catalog.definitions) {
      const action = [...catalog.actions.values()].find(one => one.digest === digest)!
      const again = readDefinition(write(), digest)
      assert.ok(again !== null, action.id)
      const bindings = bindingsOf(action)
      const names = ['id', 'digest', 'effect', 'retry', 'sensitivity', 'idempotency', 'inputSchema', 'errors', 'versionGuarded', 'upstream'] as const
      for (const name of names) assert.deepEqual(again[name], action[name], `${action.id} ${name}`)
      assert.deepEqual(again.request.operation, action.request.operation)
      if (action.consent === 'none') assert.deepEqual(again.request.place(bindings), action.request.place(bindings))
      assert.equal(again.lookup === null, action.lookup === null)
      if (action.lookup === null) continue
      assert.deepEqual(again.lookup!.request.place(bindings), action.lookup.request.place(bindings))
      for (const body of answers) {
        const answered: Bindings = { ...bindings, response: { status: 200, headers: {}, body } }
        assert.deepEqual(again.lookup!.judge(answered), action.lookup.judge(answered))
        assert.equal(again.lookup!.absent?.holds(answered), action.lookup.absent?.holds(answered))
      }
    }
  })

  test('is nothing where it is another one, no definition, or of a form that is not known', () => {
    const [digest, write] = [...catalog.definitions][0]!
    const text = write()
    assert.equal(readDefinition(text, 'f'.repeat(64)), null, 'another digest')
    const value = JSON.parse(gunzipSync(Buffer.from(text, 'base64')).toString()) as { format: number, sheet: { lookup: unknown, title: string } }
    const packed = (other: unknown): string => gzipSync(JSON.stringify(other)).toString('base64')
    assert.notEqual(readDefinition(packed(value), digest), null)
    assert.equal(readDefinition(packed({ ...value, format: 2 }), digest), null, 'another format')
    assert.equal(readDefinition(packed({ ...value, sheet: { ...value.sheet, title: 'changed' } }), digest), null, 'changed')
    for (const nonsense of ['', 'no base64 at all!', packed({}), packed(null), gzipSync('{').toString('base64')]) assert.equal(readDefinition(nonsense, digest), null)
  })
})
