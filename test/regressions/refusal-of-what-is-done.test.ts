// Once, a refusal that may be the echo of the own write was believed as soon as one look-up did not find the write, although its upstream says that a
// write is seen only after a while; and a success without the body that the document promises was told as completed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ending, STORES, worksGround } from '../invariants/ground.ts'

for (const kind of STORES) {
  test(`${kind}: a write that is refused and seen a moment later is completed`, async t => {
    const { works, broker: start, token } = await worksGround(t, kind)
    const broker = await start()
    for (const status of [404, 409, 410, 412]) {
      works.onWrite = asked => {
        asked.answer(status, { title: 'said' })
        setTimeout(asked.apply, 60)
      }
      const { body } = await broker.call(token, 'do_work.v1', { item: `echo-${status}`, amount: 7 }, `key-${status}`)
      assert.deepEqual([body.outcome, body.evidence.source], ['completed', 'lookup'], JSON.stringify(body))
    }
  })

  test(`${kind}: a write that is refused and never seen is rejected as it was refused`, async t => {
    const { works, broker: start, token } = await worksGround(t, kind)
    const broker = await start()
    works.onWrite = asked => asked.answer(409, { title: 'said' })
    const { body } = await broker.call(token, 'do_work.v1', { item: 'refused', amount: 7 }, 'key')
    assert.deepEqual([body.outcome, body.error.code], ['rejected', 'UPSTREAM_CONFLICT'])
    assert.equal(works.lookups.length, 2, 'it was looked for once more after the time that its sheet declares')
  })
}

test('a success without the body that the document promises is unknown, whether or not anything was done', async t => {
  const { works, broker: start, token } = await worksGround(t, 'sqlite')
  const broker = await start()
  for (const done of [true, false]) {
    works.onWrite = asked => {
      if (done) asked.apply()
      asked.socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    }
    const first = await broker.call(token, 'change_item.v1', { item: `done-${done}`, text: 'new' }, `key-${done}`)
    assert.equal(first.body.outcome, 'unknown')
    const last = await ending(broker, token, first)
    assert.equal(last.body.outcome, done ? 'completed' : 'rejected', JSON.stringify(last.body))
  }
})
