// How long an agent is kept waiting: a write that is still open after 20 s is answered 202 as it stands, while its steps go on to their end.
import type { Answer } from './envelope.ts'
import type { CallRecord } from './record.ts'
import type { Services } from './services.ts'

export const PATIENCE_MS = 20_000
/** Before the durable mark there is no attempt to point to yet; from then on there is. */
const LOOK_AGAIN_MS = 500

export function withinPatience (record: CallRecord, steps: Promise<Answer>, services: Services): Promise<Answer> {
  services.background(steps)
  return new Promise((resolve, reject) => {
    let timer = setTimeout(function look () {
      const answer = record.underWay()
      if (answer === null) timer = setTimeout(look, LOOK_AGAIN_MS)
      else resolve(answer)
    }, PATIENCE_MS)
    steps.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
