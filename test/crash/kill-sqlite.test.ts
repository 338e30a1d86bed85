import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { startBrokerProcess } from '../support/broker.ts'
import { survive } from './kills.ts'
import { makeWorksSite, startWorks } from './works.ts'

/** Two brokers, each on a state of its own, so that the time goes into kills and not into waiting for starts. */
const CAMPAIGNS = 2
const KILLS = 13

test('kill -9 at any moment of a write, on the embedded store: one effect for each errand, nothing lost, nothing told that is not so', async () => {
  const told = await Promise.all(Array.from({ length: CAMPAIGNS }, async (_, offset) => {
    const works = await startWorks()
    const site = await makeWorksSite(works)
    try {
      // Starts twice as fast; written by a process that ends in order.
      const env = { NODE_COMPILE_CACHE: join(site.folder, 'compiled') }
      await (await startBrokerProcess(site, env)).stop()
      return await survive({ works, site, kills: KILLS, offset, start: () => startBrokerProcess(site, env) })
    } finally {
      site.remove()
      await works.stop()
    }
  }))
  const interrupting = told.reduce((sum, one) => sum + one.interrupting, 0)
  assert.ok(interrupting >= 24, `only ${interrupting} kills met an open call`)
  assert.ok(told.some(({ heard }) => heard.has('OUTCOME_UNKNOWN')), 'no kill ever made an outcome unknown')
})
