// Once, a write that had read the version of its target, and began only after another write on it had ended, was sent on a version that was old: where the
// upstream does not compare versions, the change of the other was lost.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { edited, STORES, worksGround } from '../invariants/ground.ts'

const TARGET = 'target: {type: item, id: "${args.item}"}'
const READ_FIRST = `reads:
  item: {operation: getItem, path: {id: "\${args.item}"}}
target: {type: item, id: "\${args.item}", version: "\${reads.item.body.version}"}`

for (const kind of STORES) {
  test(`${kind}: a write that ends between the read of a version and its claim makes that version old`, async t => {
    const { works, broker: start, token } = await worksGround(t, kind, {}, site =>
      edited(site, 'actions/works/replace_item.v1.yaml', text => text.replace(TARGET, READ_FIRST)))
    const broker = await start()
    let release = (): void => {}
    const read = new Promise<void>(resolve => {
      works.onRead = asked => {
        works.onRead = later => later.honest()
        release = () => asked.answer(200, { id: 'one', version: 1, text: '' })
        resolve()
      }
    })
    const late = broker.call(token, 'replace_item.v1', { item: 'one', text: 'late' }, 'key-late')
    await read
    const early = await broker.call(token, 'replace_item.v1', { item: 'one', text: 'early' }, 'key-early')
    assert.equal(early.body.outcome, 'completed', JSON.stringify(early.body))
    release()
    const refused = await late
    assert.deepEqual([refused.status, refused.body.error.code, refused.body.error.retryable, refused.body.sent], [409, 'VERSION_CONFLICT', true, false])
    assert.equal(works.effects.length, 1)
    const again = await broker.call(token, 'replace_item.v1', { item: 'one', text: 'late' }, 'key-late')
    assert.deepEqual([again.body.outcome, again.body.result], ['completed', { version: 3 }])
  })
}
