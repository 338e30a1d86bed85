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
const WITH_PROPOSALS = PRELUDE + read('prelude-proposals')

function script (name: string, prelude: string = PRELUDE): Script {
  const own = read(name)
  // The shebang comes first: with it, Redis checks memory before the script runs and holds it to one slot.
  const end = own.indexOf('\n') + 1
  const text = own.slice(0, end) + prelude + own.slice(end)
  return Object.freeze({ name, text, sha1: createHash('sha1').update(text).digest('hex') })
}

export const SCRIPTS = Object.freeze({
  recall: script('recall'),
  begin: script('begin', WITH_PROPOSALS),
  change: script('change', WITH_PROPOSALS),
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
  beat: script('beat'),
  depart: script('depart'),
  declareLoss: script('declare-loss'),
  confirmLoss: script('confirm-loss'),
  acceptLoss: script('accept-loss'),
  restore: script('restore', WITH_PROPOSALS),
  readProposal: script('read-proposal', WITH_PROPOSALS),
  propose: script('propose', WITH_PROPOSALS),
  changeProposal: script('change-proposal', WITH_PROPOSALS),
  listProposals: script('list-proposals', WITH_PROPOSALS),
  grantsOf: script('grants-of', WITH_PROPOSALS),
  followLock: script('follow-lock'),
  turnLock: script('turn-lock'),
})
