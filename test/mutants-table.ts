// The mutants: one line each that protects an invariant of DESIGN §10, taken away, and the test that must then fail.

export interface Edit {
  readonly file: string
  /** Stands there exactly once. */
  readonly search: string
  readonly replacement: string
}

export interface Mutant {
  readonly invariant: number
  /** What the mutant does wrong. */
  readonly name: string
  readonly edits: readonly Edit[]
  readonly test: string
  /** Words of the title of the test that must fail. */
  readonly killedBy: string
}

type Change = readonly [file: string, search: string, replacement: string]

const mutant = (invariant: number, name: string, test: string, killedBy: string, ...changes: readonly Change[]): Mutant => ({
  invariant,
  name,
  test: `test/${test}.test.ts`,
  killedBy,
  edits: changes.map(([file, search, replacement]) => ({ file: `src/${file}`, search, replacement })),
})

const ONCE = 'invariants/01-at-most-one-dispatch'
const DURABLE = 'invariants/02-durable-first'
const TRUE = 'invariants/03-true-outcomes'
const WHY = 'invariants/04-unknown-says-why'
const SECRET = 'invariants/07-no-secret'
const SLOT = 'invariants/08-only-what-the-sheet-names'
const LISTED = 'invariants/09-listed-is-callable'
const BROKEN = 'invariants/10-broken-sheet'
const DOWN = 'invariants/11-store-down'
const LINE = 'invariants/12-one-line'
const REPEAT = 'invariants/13-repeats'

const WRITE_DISPATCH = "timedState(services, 'dispatch', () => services.store.advance(attempt, { type: 'dispatch', token: attempt.token })),"

export const MUTANTS: readonly Mutant[] = [
  mutant(1, 'a write whose answer was lost is sent again', ONCE, 'sqlite: an answer that is lost',
    [
      'execution/dispatch.ts',
      "reply.kind === 'unsent' && isOfTheMoment(reply)",
      "(reply.kind === 'unsent' || reply.kind === 'lost') && isOfTheMoment(reply as never)",
    ]),
  mutant(1, 'a reset connection is taken for proof that nothing left', ONCE, 'sqlite: an answer that is lost',
    ['upstream/exchange.ts', "this.#sends === 0 && !this.#released ?", "(this.#sends === 0 && !this.#released) || cause === 'reset' ?"]),
  mutant(1, 'a lease that runs out frees the key of what was dispatched', ONCE, 'redis: what was under way when its broker died',
    [
      'attempts/attempt.ts',
      "if (record.state === 'prepared') return settle(record, unsent('STATE_UNAVAILABLE', 'The call was abandoned",
      "if (record.state === 'prepared' || record.state === 'dispatched') return settle(record, unsent('STATE_UNAVAILABLE', 'The call was abandoned",
    ]),
  mutant(1, 'SQLite begins an attempt without looking at its key again', ONCE, 'sqlite: of fifty equal calls',
    [
      'store/sqlite.ts',
      "if (latest?.id !== after?.id || latest?.revision !== after?.revision || own !== undefined) return { kind: 'recalled', recalled }",
      '',
    ]),
  mutant(1, 'Redis begins an attempt without looking at its key again', ONCE, 'redis: of fifty equal calls',
    ['store/begin.lua', "if owner or (latest_id or '') ~= after_id or (latest_revision or '') ~= after_revision then", 'if false then']),
  mutant(1, 'a mark that another begin made is leave to send', ONCE, 'redis: where the state was lost',
    ['execution/dispatch.ts', 'if (marked.token !== attempt.token) throw endedBeforeDispatch(marked)', '']),

  mutant(2, 'the durable mark is skipped', DURABLE, 'sqlite: when a write arrives upstream',
    [
      'execution/dispatch.ts',
      WRITE_DISPATCH,
      "Promise.resolve({ kind: 'changed' as const, record: { ...attempt, state: 'dispatched' as const } }),",
    ]),
  mutant(2, 'the mark is made beside the send and not before it', DURABLE, 'redis: where a step before the send',
    [
      'execution/dispatch.ts',
      'const marked = await mark(reserved, attempt, record, services)',
      "const marking = mark(reserved, attempt, record, services)\n  const marked = { ...attempt, state: 'dispatched' as const }",
    ],
    ['execution/dispatch.ts', 'return { reserved, attempt: marked, reply }', 'return { reserved, attempt: await marking, reply }']),
  mutant(2, 'the mark is made after the send', DURABLE, 'redis: when a write arrives upstream',
    [
      'execution/dispatch.ts',
      'const marked = await mark(reserved, attempt, record, services)',
      "const marked = { ...attempt, state: 'dispatched' as const }",
    ],
    [
      'execution/dispatch.ts',
      'return { reserved, attempt: marked, reply }',
      'return { reserved, attempt: await mark(reserved, attempt, record, services), reply }',
    ]),
  mutant(2, 'the intent is not waited for', DURABLE, 'redis: where the intent cannot be kept',
    [
      'execution/dispatch.ts',
      'services.telemetry.intent(record.intent(attempt)),',
      'Promise.resolve(void services.telemetry.intent(record.intent(attempt)).catch(() => undefined)),',
    ]),
  mutant(2, 'a commit that fails is answered as done', DURABLE, 'sqlite: where the file cannot grow',
    ['store/sqlite-batch.ts', 'control.commit.run()', 'attempt(() => control.commit.run())']),

  mutant(3, 'a lost answer is told as rejected', TRUE, 'sqlite: whatever the upstream does',
    [
      'execution/outcome.ts',
      "action.write ? unknownFor(`no answer came back (${reply.cause})`) : rejectedAs('UPSTREAM_ERROR')",
      "rejectedAs('UPSTREAM_ERROR')",
    ]),
  mutant(3, 'a success whose body was cut is told as completed', TRUE, 'sqlite: whatever the upstream does',
    ['execution/outcome.ts', 'unknownFor(`the answer, of status ${reply.status}, was cut (${reply.cause})`)', 'COMPLETED']),
  mutant(3, 'a success that cannot be read is told as completed', TRUE, 'sqlite: whatever the upstream does',
    ['execution/outcome.ts', 'action.write ? unknownFor(why)', 'action.write ? COMPLETED']),
  mutant(3, 'a fault of the upstream is told as rejected', TRUE, 'redis: whatever the upstream does',
    [
      'catalog/outcome.ts',
      'if (status === 408 || status >= 500) return unknownFor(`the upstream answered ${status}, which does not say whether the call had an effect`)',
      '',
    ]),
  mutant(3, 'what is not found is not there, however soon', TRUE, 'redis: not found twice is no proof',
    [
      'attempts/attempt.ts',
      'if (provable && finding.quiesced && nowMs >= quietAtMs && second && nowMs >= settledAtMs!) {',
      'if (provable && second) {',
    ]),
  mutant(3, 'a conflict with the own echo is told as rejected', TRUE, 'sqlite: whatever the upstream does',
    ['execution/outcome.ts', 'return judged.verdict.lookFirst && sent.attempt !== null ? lookFirst(judged, services) : judged', 'return judged']),
  mutant(3, 'whoever holds any token settles an attempt', 'attempts/attempt', 'only the token that began it dispatches and reports',
    ['attempts/attempt.ts', "if (token !== record.token) return REFUSED\n  if (record.state === 'settled') {", "if (record.state === 'settled') {"]),

  mutant(4, 'what is missing is not written down', WHY, 'sqlite: each way in which a write can end',
    ['execution/settle.ts', "missing: verdict.missing ?? 'no rule of the sheet matched the answer'", "missing: 'something'"]),
  mutant(4, 'a plain refusal is told as unknown', WHY, 'redis: each way in which a write can end',
    [
      'catalog/outcome.ts',
      'if (status === 408 || status >= 500) return unknownFor(',
      'if (status === 408 || status === 422 || status >= 500) return unknownFor(',
    ]),
  mutant(4, 'what provably never left is told as unknown', WHY, 'sqlite: a call of which it is proved that nothing left',
    [
      'execution/outcome.ts',
      "case 'unsent': return because(rejectedAs('UPSTREAM_UNREACHABLE'), false)",
      "case 'unsent': return because(unknownFor('nothing came back'))",
    ]),
  mutant(4, 'the evidence of a look-up is not used', WHY, 'sqlite: as soon as there is evidence',
    [
      'attempts/attempt.ts',
      "case 'settled': return settle(record, finding.settlement)",
      "case 'settled': return change(record, { lookups }, null, scheduledMs)",
    ]),

  mutant(7, 'only the view is scanned, not the whole answer', SECRET, 'whatever an upstream echoes',
    ['execution/project.ts', "if (holdsSecret(judged, services)) return unusable(plain, 'RESULT_WITHHELD', action.write, services, action.id)", '']),
  mutant(7, 'nothing is scanned', SECRET, 'whatever an upstream echoes',
    ['credentials/credentials.ts', 'return holdsAny(bytes, needles)', 'return false']),
  mutant(7, 'a secret is looked for as it is, and in no other writing', SECRET, 'whatever an upstream echoes',
    ['credentials/scan.ts', 'for (let round = 0; round < ROUNDS_MAX; round += 1) {', 'for (let round = 0; round < 0; round += 1) {']),
  mutant(7, 'a reference is kept unseen', SECRET, 'whatever an upstream echoes',
    [
      'execution/project.ts',
      'if (sent.attempt === null || verdict.reference === null || !leaks(judged, JSON.stringify(verdict.reference), services)) return verdict',
      'return verdict',
    ]),
  mutant(7, 'the log tells the access token of a refused call', SECRET, 'access tokens, good, bad',
    ['execution/record.ts', 'this.#internal = refusal.details.internal ?? null', 'this.#internal = this.#arrival.authorization ?? null']),

  mutant(8, 'a path takes any text, escaped', SLOT, 'a hostile word arrives whole',
    [
      'upstream/request.ts',
      "if (text === '' || text === '.' || text === '..' || text.startsWith('@') || /[/\\\\%?#;]|\\p{Cc}/u.test(text)) {",
      "if (text === '') {",
    ]),
  mutant(8, 'what stands in a query is not escaped', SLOT, 'a hostile word arrives whole',
    ['upstream/escape.ts', "=> encodeURIComponent(text).replace(/[!'()*]/g, hex)", "=> text.replaceAll(' ', '%20')"]),
  mutant(8, 'the agent\'s own key goes upstream', SLOT, 'headers, query, path and body',
    [
      'execution/reserve.ts',
      'key: identity.upstreamKey(name.recordKey, place.g)',
      'key: facts.scoped.valid.capable.call.idempotencyKey ?? identity.upstreamKey(name.recordKey, place.g)',
    ]),

  mutant(9, 'the list shows what is not granted', LISTED, 'for any roles',
    ['execution/actions.ts', 'callableActions(catalog, caller).filter(', '[...catalog.actions.values()].filter(']),
  mutant(9, 'the token\'s own narrowing holds for the list alone', LISTED, 'for any roles',
    [
      'execution/capability.ts',
      'return granted && (caller.claimedActions === null || caller.claimedActions.includes(actionId)) ? action : null',
      'return granted ? action : null',
    ]),
  mutant(9, 'the scope is not looked at', LISTED, 'for any roles',
    ['execution/scope.ts', "if (!isInScope(action, bindings)) throw Refusal.of('OUT_OF_SCOPE')", '']),
  mutant(9, 'a version whose time is over is listed on', LISTED, 'a version whose last day is over',
    ['execution/actions.ts', '.filter(action => !isRetired(action, now))', '']),

  mutant(10, 'what is good of a broken set is taken', BROKEN, 'a reload with one fault changes nothing',
    ['catalog/load.ts', 'if (this.#faults.count > 0) return null', ''], ['catalog/load.ts', 'faults.throwIfAny()', '']),
  mutant(10, 'faults of the policy are passed over', BROKEN, 'a reload with one fault changes nothing',
    [
      'catalog/load.ts',
      'compileRoles(policy, this.#effects, this.#broken, this.#faults.in(files.policy!))',
      'compileRoles(policy, this.#effects, this.#broken, new FaultList().in(files.policy!))',
    ]),

  mutant(11, 'a store that cannot be reached has marked', DOWN, 'redis: no call of any write is sent',
    [
      'execution/dispatch.ts',
      "if (advanced.status === 'fulfilled' && intent.status === 'fulfilled') {",
      "if (advanced.status === 'rejected') return { ...attempt, state: 'dispatched' }\n  if (intent.status === 'fulfilled') {",
    ],
    [
      'execution/reserve.ts',
      "await reachState(services, 'begin', () => services.store.begin(attempt, place.after, beginLimits(facts)))",
      "await services.store.begin(attempt, place.after, beginLimits(facts)).catch(() => ({ kind: 'begun' as const, record: attempt }))",
    ]),
  mutant(11, 'Redis takes writes beyond its memory', DOWN, 'redis: no call of any write is sent',
    ['store/begin.lua', '#!lua\n', '#!lua flags=allow-oom\n'], ['store/change.lua', '#!lua\n', '#!lua flags=allow-oom\n']),

  mutant(12, 'refused calls have no line', LINE, 'sqlite: calls that end in every way',
    ['execution/record.ts', 'this.#services.telemetry.callSoon(', 'if (this.#refusal === null) this.#services.telemetry.callSoon(']),
  mutant(12, 'what a look-up ended is not told', LINE, 'sqlite: calls that end in every way',
    ['attempts/resolver.ts', 'if (next.state === record.state) return', "if (next.state === record.state || next.state === 'settled') return"]),
  mutant(12, 'a repeat is told as the end of its attempt', LINE, 'redis: calls that end in every way',
    ['telemetry/audit.ts', "if (event.duplicate) return 'action.called'", ''], ['execution/record.ts', 'ended: this.#ended,', 'ended: true,']),
  mutant(12, 'an end that is not written down is told as one', LINE, 'a look-up was faster',
    ['telemetry/audit.ts', "event.ended ? 'execution.result' : 'action.called'", "'execution.result'"]),
  mutant(12, 'an end that is written down late is not told', LINE, 'the broker was faster',
    ['execution/write-down.ts', 'if (isOwn(advanced, event) && record.settlement?.sent === true) tellLateEnd(record, services)', '']),
  mutant(12, 'intents without a result are not listed', LINE, 'sqlite: an intent whose attempt has not ended',
    ['telemetry/audit-attempts.ts', 'this.#intents.set(id, { writer: row.writer, seq: row.seq })', '']),

  mutant(13, 'recall comes after the facts', REPEAT, 'sqlite: after the target changed',
    ['execution/recall.ts', 'if (action.reads.length === 0 && action.checks.length === 0) return', 'return']),
  mutant(13, 'nothing claims a target', REPEAT, 'sqlite: two different writes on one target',
    ['store/sqlite.ts', 'sql.claimIsHeld(record.id, target, serialize, record.guarded) || ', '']),
  mutant(13, 'nothing claims a target in Redis', REPEAT, 'redis: two different writes on one target',
    ['store/begin.lua', "if state and state ~= 'settled' and not (guarded and state == 'escalated') then", 'if false then']),
  mutant(13, 'an equal write does not wait for one that is unknown', REPEAT, 'sqlite: while an attempt is unknown',
    ['store/sqlite.ts', ' || sql.equalIsUnknown(record.id, equal)', '']),
  mutant(13, 'an equal write does not wait for one that is unknown in Redis', REPEAT, 'redis: while an attempt is unknown',
    ['store/begin.lua', "if state == 'unknown' or state == 'escalated' then", 'if false then']),
  mutant(13, 'A, B and A again are one A', REPEAT, 'sqlite: A, B and A again',
    ['store/recall.ts', ' || lastWrite !== record.id)', ')']),
  mutant(13, 'a key answers for whatever comes under it', REPEAT, 'redis: one key means one call',
    ['store/recall.ts', "if (record.fingerprint !== name.fingerprint) return { kind: 'key_reused' }", '']),
  mutant(13, 'a key of one run answers in another', REPEAT, 'sqlite: while the first is under way',
    ['attempts/identity.ts', 'const who = [owner.iss, owner.sub, owner.tenant, owner.run]', 'const who = [owner.iss, owner.sub, owner.tenant]']),
]
