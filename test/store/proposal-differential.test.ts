// The same asks about proposals of three stores: plain data on the reducer, SQLite, and two replicas over one Redis. Whatever the sequence, they answer
// alike, times aside, and no proposal is ever in a state that it must not be in.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { openRedis } from '../../src/store/redis.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import { startRedis } from '../support/redis.ts'
import { plain } from './asks.ts'
import { openMemory } from './memory-store.ts'
import { Lives, ProposalAsker, proposalSequences, type ProposalAsk } from './proposal-asks.ts'

const RUNS = 60
const LEGAL_RUNS = 600

test('no sequence of asks brings a proposal into a state that it must not be in, nor two attempts out of one', async () => {
  const met = new Map<string, number>()
  await fc.assert(fc.asyncProperty(proposalSequences(60), async sequence => {
    const asker = new ProposalAsker([openMemory()], new Lives())
    for (const ask of sequence) {
      const answer = await asker.ask(ask) as { readonly kind?: string } | null
      met.set(`${ask.verb} ${answer?.kind ?? ''}`, (met.get(`${ask.verb} ${answer?.kind ?? ''}`) ?? 0) + 1)
    }
  }), { numRuns: LEGAL_RUNS })
  for (const one of ['propose proposed', 'propose recalled', 'propose too_many_pending', 'propose desk_full', 'decide changed', 'decide refused', 'decide already', 'move changed',
    'commit begun', 'commit recalled', 'commit proposal_changed', 'end changed']) assert.ok((met.get(one) ?? 0) > 20, `${one}: ${met.get(one)}`)
})

test('plain data, SQLite and Redis answer alike about proposals, whatever is asked', { timeout: 600_000 }, async t => {
  const folder = mkdtempSync(join(tmpdir(), 'aval-store-'))
  const server = await startRedis()
  const replicas = await Promise.all([openRedis(server.url), openRedis(server.url)])
  t.after(async () => {
    await Promise.all(replicas.map(store => store.close()))
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  let file = 0
  await fc.assert(fc.asyncProperty(proposalSequences(50), async (sequence: readonly ProposalAsk[]) => {
    await server.command('FLUSHALL')
    const sqlite = openSqlite(join(folder, `${++file}.db`))
    try {
      const askers = [[openMemory()], [sqlite], replicas].map(stores => new ProposalAsker(stores))
      for (const [index, ask] of sequence.entries()) {
        const [model, ...drivers] = await Promise.all(askers.map(async asker => timeless(await asker.ask(ask))))
        for (const [driver, answer] of drivers.entries()) assert.deepEqual(answer, model, `${['sqlite', 'redis'][driver]}, ask ${index}: ${JSON.stringify(ask)}`)
      }
    } finally {
      await sqlite.close()
    }
  }), { numRuns: RUNS })
})

/** How long something lasts is told by spans that the reducer adds, which the contract tests look at. */
const timeless = (answer: unknown): unknown => JSON.parse(JSON.stringify(plain(answer), (key, part: unknown) => /(Until|By|now)Ms$/i.test(key) && part !== null ? 'a time' : part))
