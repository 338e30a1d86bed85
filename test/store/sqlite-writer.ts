// A process of its own that writes attempts without end and prints each state once it is acknowledged. The tests kill it.
import { writeSync } from 'node:fs'
import { openSqlite } from '../../src/store/sqlite.ts'
import { changed, done, draft, FREE, settle } from './drafts.ts'

const [path, series, untilFull] = process.argv.slice(2)
const store = openSqlite(path!)
// Synchronous, so that a line that was printed is not lost with the process.
const tell = (id: string, state: string): void => { writeSync(1, `${id} ${state}\n`) }

async function write (lane: number): Promise<void> {
  for (let index = 0; ; index++) {
    const target = `${series}-${lane}-${index}`
    const record = draft({ args: { target, padding: untilFull === undefined ? '' : 'x'.repeat(2_000) }, target })
    await store.begin(record, null, FREE)
    tell(record.id, 'prepared')
    const dispatched = await changed(store, record, { type: 'dispatch', token: record.token })
    tell(record.id, 'dispatched')
    if (index % 2 === 0) continue
    await settle(store, dispatched, done({ index }))
    tell(record.id, 'settled')
  }
}

await Promise.all(Array.from({ length: 8 }, (_, lane) => write(lane)))
