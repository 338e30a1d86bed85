// The scripts of the Redis store, read once from the files beside this one. Each is one atomic step over keys that share one hash tag.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

export interface Script {
  readonly name: string
  readonly text: string
  readonly sha1: string
}

const read = (name: string): string => readFileSync(new URL(`./${name}.lua`, import.meta.url), 'utf8')

const PRELUDE = read('prelude')

function script (name: string): Script {
  const own = read(name)
  // The shebang comes first: with it, Redis checks memory before the script runs and holds it to one slot.
  const end = own.indexOf('\n') + 1
  const text = own.slice(0, end) + PRELUDE + own.slice(end)
  return Object.freeze({ name, text, sha1: createHash('sha1').update(text).digest('hex') })
}

export const SCRIPTS = Object.freeze({
  recall: script('recall'),
  begin: script('begin'),
  change: script('change'),
  read: script('read'),
  ofRun: script('of-run'),
  countDue: script('count-due'),
  claimDue: script('claim-due'),
  stopRun: script('stop-run'),
  listStopped: script('list-stopped'),
  stoppedRuns: script('stopped-runs'),
  countRefusal: script('count-refusal'),
  enter: script('enter'),
  bindKey: script('bind-key'),
})
