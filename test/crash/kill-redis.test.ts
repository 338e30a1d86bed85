import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { startBrokerProcess, type BrokerProcess } from '../support/broker.ts'
import { startRedis } from '../support/redis.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { survive } from './kills.ts'
import { makeWorksSite, startWorks } from './works.ts'

const KILLS = 26

test('kill -9 at any moment of a write, on Redis, near or slow: one effect for each errand, nothing lost, nothing told that is not so', async () => {
  const redis = await startRedis()
  const proxy = await startTcpProxy({ port: redis.port })
  const works = await startWorks()
  const site = await makeWorksSite(works, { AVAL_STATE: `redis://127.0.0.1:${proxy.port}` })
  // Starts twice as fast; written by a process that ends in order.
  const compiled = join(site.folder, 'compiled')
  let started = 0
  const launch = (): Promise<BrokerProcess> =>
    startBrokerProcess(site, { NODE_COMPILE_CACHE: compiled, AVAL_DATA: join(site.folder, `data-${started++ % 3}`) })
  await (await launch()).stop()
  // The next replica starts while the one before it serves: it takes over what the killed one leaves behind.
  let next = launch()
  try {
    const { interrupting, heard } = await survive({
      works, site, kills: KILLS, offset: 0,
      async start () {
        const broker = await next
        next = launch()
        // Whoever waits for it hears of its failure.
        next.catch(() => {})
        return broker
      },
      // One write makes three round trips; these are so slow that a kill meets each of them.
      disturb: kill => kill % 3 === 2 ? proxy.latency(6, 4) : proxy.pass(),
    })
    assert.ok(interrupting >= 24, `only ${interrupting} kills met an open call`)
    assert.ok(heard.has('OUTCOME_UNKNOWN'), 'no kill ever made an outcome unknown')
  } finally {
    await next.then(broker => broker.kill9(), () => {})
    site.remove()
    await works.stop()
    await proxy.stop()
    await redis.stop()
  }
})
