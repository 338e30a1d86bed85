// How long an agent is kept waiting: a write that is still open after 20 s is answered 202 as it stands, while its steps go on to their end.
import type { Answer } from './envelope.ts'
import type { CallRecord } from './record.ts'
import type { Services } from './services.ts'

export const PATIENCE_MS = 20_000

export function withinPatience (record: CallRecord, steps: Promise<Answer>, services: Services): Promise<Answer> {
  services.background(steps)
  return new Promise((resolve, reject) => {
    // Before the durable mark there is no attempt to point to yet; an observation never has one.
    record.whenMarked(elapsedMs => {
      record.onClose(services.clock.after(Math.max(0, PATIENCE_MS - elapsedMs), () => { resolve(record.underWay()!) }))
    })
    steps.then(resolve, reject)
  })
}
