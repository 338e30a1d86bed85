// The verbs that a name or a description may begin with, and what they claim.

const list = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/))

export const READING = list(`
  get list read find search look fetch show check count compare describe browse query lookup view inspect retrieve preview estimate quote calculate
  validate verify resolve track watch monitor summarize explain export download scan test`)

export const WRITING = list(`
  add adjust allocate announce append apply approve archive assign attach block book bill cancel change charge clear clone close commit complete
  configure confirm connect convert copy create credit deactivate activate debit decline delete deliver deploy detach disable disconnect dismiss
  drop edit email enable enqueue enrol enroll expire extend fail file fill flag forward freeze fulfil fulfill generate grant hide hold import
  increase decrease initiate insert install invite invoice issue join keep label leave link load lock log mark mail merge migrate move mute name
  notify onboard open order pause pay pin place post prepare print promote propose provision publish purge put queue raise rebuild recall receive
  record refund refresh register reject release remind remove rename renew reopen reorder replace reply report request reschedule reserve reset
  resend restart restore resume retry return revert review revoke rotate run save schedule send set share ship sign start stop store submit
  subscribe suspend swap switch sync tag terminate toggle transfer trigger trim tweet unassign unblock undo unlink unlock unpublish unsubscribe
  update upgrade upload upsert use void wake withdraw write begin end draft charge collect dispatch pick pack ping poll seed select split`)

/** They say that something is done and not what. */
export const VAGUE = list('manage process handle do perform execute operate deal work make')

/** They claim that the work begins, and no more. */
export const BEGINNING = list('start begin request queue enqueue submit schedule initiate trigger propose')

/** What they do to others cannot be taken back by the same API. */
export const COMMITTING = list('email mail send pay charge refund transfer publish tweet announce notify ship invoice')

export const isVerb = (word: string): boolean => READING.has(word) || WRITING.has(word) || VAGUE.has(word)

/** `replaces` → `replace`, `cancels` → `cancel`; null where it is no verb that is known. */
export function verbOf (word: string): string | null {
  const lower = word.toLowerCase()
  for (const stem of [lower, lower.replace(/s$/, ''), lower.replace(/es$/, ''), lower.replace(/ies$/, 'y')]) {
    if (isVerb(stem)) return stem
  }
  return null
}

/** The first word of a text, without what stands around it. */
export const firstWord = (text: string): string => /[A-Za-z][A-Za-z-]*/.exec(text)?.[0] ?? ''
