// The mutants: one line each that protects an invariant of DESIGN §10, taken away, and the test that must then fail.
import { CONSENT_MUTANTS } from './mutants-consent.ts'
import { MCP_MUTANTS } from './mutants-mcp.ts'
import { mutant, type Mutant } from './mutant.ts'

export type { Edit, Mutant } from './mutant.ts'

const ONCE = 'invariants/01-at-most-one-dispatch'
const DURABLE = 'invariants/02-durable-first'
const TRUE = 'invariants/03-true-outcomes'
const WHY = 'invariants/04-unknown-says-why'
const SECRET = 'invariants/07-no-secret'
const SLOT = 'invariants/08-only-what-the-sheet-names'
const PEOPLE = 'people/approvals'
const SIGN_IN = 'people/sign-in'
const LISTED = 'invariants/09-listed-is-callable'
const BROKEN = 'invariants/10-broken-sheet'
const DOWN = 'invariants/11-store-down'
const LINE = 'invariants/12-one-line'
const REPEAT = 'invariants/13-repeats'
const LOSS = 'store/state-loss'
const SHOWN = 'invariants/05-what-was-shown'
const AGENTS = 'consent/agents-side'
const GRANTS = 'consent/grants'
const SIM = 'sim/sim'
const SCHEDULES = 'thousands of schedules'
const TURNS = 'attempts/resolver-turns'
const DIFFERENTIAL = 'store/differential'
const ALIKE = 'plain data, SQLite and Redis answer alike'

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
  mutant(1, 'a mark that another begin made is leave to send', ONCE, 'redis: a record that stands under the token of another begin',
    ['execution/dispatch.ts', 'if (marked.token !== attempt.token) throw endedBeforeDispatch(marked)', '']),
  mutant(1, 'a state that has lost what it acknowledged is believed', LOSS, 'while one replica has not told',
    ['store/watch.ts', 'if (!this.#isWhole()) throw this.#refusal()\n    if (this.#isVerified()', 'if (this.#isVerified()']),
  mutant(1, 'the first replica that has told a lossy state what it knew ends the quarantine', LOSS, 'while one replica has not told',
    ['store/confirm-loss.lua', 'if not waiting then', 'if true then']),
  mutant(1, 'a mark is made where an earlier one was lost', LOSS, 'a mark whose store has lost an earlier one',
    ['store/change.lua', "if beat and beat < tonumber(remembered) then return { 'lost' } end", '']),
  mutant(1, 'a name that is forgotten is given again', 'regressions/forgotten-names', 'sqlite: an equal write after its attempt is forgotten',
    ['execution/reserve.ts', 'return { n: nowMs,', 'return { n: 0,']),

  mutant(2, 'the durable mark is skipped', DURABLE, 'sqlite: when a write arrives upstream',
    [
      'execution/dispatch.ts',
      WRITE_DISPATCH,
      "Promise.resolve({ kind: 'changed' as const, record: { ...attempt, state: 'dispatched' as const } }),",
    ]),
  mutant(3, 'what is lost behind the latest canary is not missed', LOSS, 'an end is all that is gone',
    ['store/watch.ts', ' || await this.acknowledged.isForgottenBy(this.#options.redis)', '']),
  mutant(2, 'a write is begun before its definition is kept', 'regressions/definition-before-begin', 'no attempt is begun before',
    ['execution/reserve.ts', "    if (keeping !== null) await reachState(services, 'definition', () => keeping)\n", '']),
  mutant(3, 'an end that is assumed stands against who knows it', 'regressions/overtaken', 'the end that a journal knows',
    ['store/restore.lua', ' and not is_known_better then', ' then']),
  mutant(2, 'the journal is not waited for', LOSS, 'a mark is not made before the journal has it',
    ['store/replica.ts', 'Promise.allSettled([this.#journal.sending(planned), ', 'Promise.allSettled([void this.#journal.sending(planned).catch(() => {}), ']),
  mutant(2, 'a mark whose record the journal does not take is leave to send', LOSS, 'a disk under the journal that takes nothing',
    ['store/replica.ts', "if (kept.status === 'rejected') {", "if (kept.status === 'rejected' && kept.reason === null) {"]),
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
    ['credentials/credentials.ts', 'return holdsAny(texts, needles)', 'return false']),
  mutant(7, 'a secret is looked for as it is, and in no other writing', SECRET, 'whatever an upstream echoes',
    ['credentials/scan.ts', 'for (let round = 0; round < ROUNDS_MAX; round += 1) {', 'for (let round = 0; round < 0; round += 1) {']),
  mutant(7, 'a reference is kept unseen', SECRET, 'whatever an upstream echoes',
    [
      'execution/project.ts',
      'if (sent.attempt === null || verdict.reference === null || !leaks(judged, [JSON.stringify(verdict.reference)], services)) return verdict',
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
    ['execution/capability.ts', 'callableActions(catalog, caller).filter(', '[...catalog.actions.values()].filter(']),
  mutant(9, 'the token\'s own narrowing holds for the list alone', LISTED, 'for any roles',
    [
      'execution/capability.ts',
      'return granted && (caller.claimedActions === null || caller.claimedActions.includes(actionId)) ? action : null',
      'return granted ? action : null',
    ]),
  mutant(9, 'the scope is not looked at', LISTED, 'for any roles',
    ['execution/scope.ts', "if (!isInScope(action, bindings)) throw Refusal.of('OUT_OF_SCOPE')", '']),
  mutant(9, 'a version whose time is over is listed on', LISTED, 'a version whose last day is over',
    ['execution/capability.ts', '.filter(action => !isRetired(action, now))', '']),

  mutant(10, 'what is good of a broken set is taken', BROKEN, 'a reload with one fault changes nothing',
    ['catalog/load.ts', 'if (this.#faults.count > 0) return { catalog: null, policy }', ''],
    ['catalog/load.ts', 'catalog === null || faults.length > 0', 'catalog === null']),
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
      "await reachState(services, 'begin', () => services.store.begin(attempt, place.after, beginLimits(approved, recalled.state)))",
      "await services.store.begin(attempt, place.after, beginLimits(facts, recalled.state)).catch(() => ({ kind: 'begun' as const, record: attempt }))",
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
    ['execution/write-down.ts', "if (advanced.kind === 'changed' && record.settlement?.sent === true) tellLateEnd(record, services)", '']),
  mutant(12, 'intents without a result are not listed', LINE, 'sqlite: an intent whose attempt has not ended',
    ['telemetry/audit-attempts.ts', 'this.#intents.set(id, { writer: row.writer, seq: row.seq })', '']),

  mutant(13, 'recall comes after the facts', REPEAT, 'sqlite: after the target changed',
    ['execution/recall.ts', "if (action.consent === 'none' && readsNothing) return", "if (action.consent === 'none') return"]),
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
  // Those that only many schedules find.
  mutant(1, 'the key of an attempt that is pending is free', SIM, SCHEDULES,
    ['store/recall.ts', "  if (record.state !== 'settled') return", "  if (record.state !== 'settled' && record.state !== 'pending') return"],
    [
      'store/recall.ts',
      '  if (!isFree && !forgotten) return',
      "  if (record.state === 'settled' && !isFree && !forgotten) return",
    ]),
  mutant(1, 'a broker whose mark came too late sends all the same', SIM, SCHEDULES,
    ['execution/dispatch.ts', "  if (marked.state !== 'dispatched') return closeUndispatched(marked, services)", '']),
  mutant(3, 'the send window never closes', SIM, SCHEDULES,
    ['execution/dispatch.ts', 'timeoutMs: action.limits.timeoutMs, sendByMs,', 'timeoutMs: action.limits.timeoutMs, sendByMs: null,']),
  mutant(3, 'absence is believed before all is quiet', SIM, SCHEDULES,
    ['attempts/attempt.ts', 'finding.quiesced && nowMs >= quietAtMs && second', 'second']),
  mutant(3, 'a resolver believes the clock of the store alone', SIM, SCHEDULES,
    ['attempts/attempt.ts', 'provable && finding.quiesced && nowMs', 'provable && nowMs']),
  mutant(3, 'a later answer changes what is settled', SIM, SCHEDULES,
    [
      'attempts/attempt.ts',
      "  if (record.state === 'settled') {\n    if (sameEnd",
      "  if (record.state === 'settled' && record.settlement === null) {\n    if (sameEnd",
    ]),
  mutant(3, 'what was taken up is told as done', SIM, SCHEDULES,
    [
      'catalog/outcome.ts',
      "    return { ...COMPLETED, outcome: 'pending', retryAfterSeconds: retryAfterSeconds(response, bindings.now) }\n  }\n  if (status >= 200",
      '    return COMPLETED\n  }\n  if (status >= 200',
    ]),
  mutant(3, 'the echo of a write is looked for once, at once', SIM, SCHEDULES,
    ['execution/outcome.ts', "  if (first.kind !== 'absent' || first.settlesAfterMs === 0) return first\n", '  return first\n']),
  mutant(3, 'a mark that the store has forgotten is not made again', SIM, SCHEDULES,
    [
      'execution/write-down.ts',
      "  if (advanced.kind !== 'refused' || !advanced.alarm || advanced.record.state !== 'prepared') return advanced\n",
      '  return advanced\n',
    ]),
  mutant(3, 'what was sent can be cancelled', SIM, SCHEDULES,
    [
      'attempts/attempt.ts',
      "if (record.state === 'prepared') return settle(record, unsent('CANCELLED'",
      "if (record.state === 'prepared' || record.state === 'dispatched') return settle(record, unsent('CANCELLED'",
    ]),
  mutant(4, 'what the store could not be told is forgotten', SIM, SCHEDULES,
    ['execution/write-down.ts', '    services.background(keepTrying(held, event, changeId, services))\n', '']),
  mutant(12, 'an end by a look-up whose reply was lost is not told', SIM, SCHEDULES,
    ['attempts/resolver.ts', '        if (clock.nowMs() >= Math.min(endsAtMs, (this.#stoppedAtMs ?? Infinity) + TRY_AT_THE_END_MS)) throw error\n', '        throw error\n']),
  mutant(12, 'what is claimed while a resolver stops is taken up by it', TURNS, 'a claim that is answered after it was told to stop',
    ['attempts/resolver.ts', '      if (this.#stoppedAtMs !== null) return\n      for', '      for']),
  mutant(12, 'who stops a resolver does not wait for its turn', TURNS, 'a claim that is answered after it was told to stop',
    ['attempts/resolver.ts', '    await this.#turning\n', '']),
  mutant(12, 'a resolver that is told to stop asks for no end again', TURNS, 'an end that the store may have taken when it was told to stop',
    ['attempts/resolver.ts', '(this.#stoppedAtMs ?? Infinity) + TRY_AT_THE_END_MS', 'this.#stoppedAtMs ?? Infinity']),
  mutant(12, 'the store is asked again in other words', SIM, SCHEDULES,
    ['attempts/resolver.ts', 'await store.advance(record, event, change)', 'await store.advance(record, event)']),
  mutant(13, 'a write without a key is forgotten as soon as it has ended', SIM, SCHEDULES, ['store/recall.ts', '> UNKEYED_MERGE_MS', '>= 0']),
  mutant(13, 'an escalated write frees its target for every other one in Redis', DIFFERENTIAL, ALIKE,
    [
      'store/begin.lua',
      "if state and state ~= 'settled' and not (guarded and state == 'escalated') then",
      "if state and state ~= 'settled' and state ~= 'escalated' then",
    ]),
  mutant(3, 'SQLite changes what a newer version made', DIFFERENTIAL, ALIKE,
    ['store/sqlite.ts', "  if (record.format > RECORD_FORMAT) return { kind: 'refused', record, alarm: false }\n", '']),
  mutant(5, 'an approval is not used up by its attempt', 'consent/propose-and-commit', 'a repeat of either is that one attempt',
    ['execution/reserve.ts', '{ consume: { proposal: approval.id, revision: approval.revision } }', '{}']),
  mutant(5, 'the request is not held against what was approved', SHOWN, 'a fact that the request is made of',
    ['execution/consent.ts', 'if (bindingText(is) !== this.approval.binding) throw', 'if (false) throw']),
  mutant(5, 'stored bytes are believed', SHOWN, 'an alarm, and PROPOSAL_INVALIDATED', ['execution/holds.ts', 'if (isIntact(record)) return', 'if (true) return']),
  mutant(5, 'a changed sheet does not matter', SHOWN, 'the sheet: PROPOSAL_INVALIDATED',
    ['consent/grant.ts', "if (sheet !== action.digest) return 'sheet_changed'", ''],
    ['consent/binding.ts', "if (differs(was.action, is.action)) return 'sheet_changed'", '']),
  mutant(5, 'a yes outlives the lock of the vault', SHOWN, 'which the yes was given under',
    ['execution/entitled.ts', 'yeses.filter(yes => yes.epoch === epoch)', 'yeses.filter(yes => yes.epoch <= epoch)']),
  mutant(5, 'the roles of whoever said yes are those of then', SHOWN, 'where their own sign-in tells it',
    ['execution/entitled.ts', 'known ?? approver.roles', 'approver.roles']),
  mutant(5, 'what comes with a commit is ignored', SHOWN, 'refused and never merged',
    ['execution/commit.ts', 'if (body === undefined || (isObject(body)', 'if (true || (isObject(body)']),
  mutant(5, 'another run of an agent commits its proposals', AGENTS, 'is answered like one that there is not',
    ['execution/proposals.ts', ' && owner.run === run', '']),
  mutant(5, 'what was denied is asked again at once', AGENTS, 'refused for a while, whatever its key',
    ['execution/recall-proposal.ts', '<= COOL_DOWN_MS) throw', '< 0) throw']),
  mutant(5, 'a grant is good for any object', GRANTS, 'is for the one object', ['consent/grant.ts', 'type === target.type && id === target.id', 'type === target.type']),
  mutant(5, 'a use of a grant for what never left is lost', GRANTS, 'given its use back', ['execution/record.ts', 'this.#giveBack?.()', 'this.#giveBack = null']),
  ...CONSENT_MUTANTS,
  ...MCP_MUTANTS,
  mutant(6, 'an access token is let through to people', PEOPLE, 'an access token opens nothing here',
    ['http/people/guard.ts', 'if (request.headers.authorization !== undefined) {', 'if (false) {']),
  mutant(6, 'the origin of a decision does not matter', PEOPLE, 'by a browser that says nothing of sites', ['http/people/guard.ts', ' || from !== origin', '']),
  mutant(6, 'the cookie that a link brings along decides', PEOPLE, 'takes the strict cookie',
    ['http/people/guard.ts', '    if (changes && !ports.sessions.mayChange(visitor.session, decide)) throw new PageRefusal(REFUSALS.forged)\n', '']),
  mutant(6, 'a form of anybody is taken', PEOPLE, 'a form of another session',
    ['http/people/sessions.ts', 'return same(given, mac(session, purpose, clickId, at)) && ageMs <= FORM_MS ?', 'return true ?']),
  mutant(6, 'a proposal is seen by whoever embeds it', PEOPLE, 'nothing is decided by opening an address',
    ['http/people/guard.ts', '    if (!changes) requireNavigation(request)\n', '']),
  mutant(6, 'a sign-in that another browser began is taken', SIGN_IN, 'in another browser than the one that began',
    ['http/people/sessions.ts', '`${id} ${underWay.state}`', 'underWay.state'], ['http/people/sessions.ts', '`${browser} ${state}`', 'state']),
  mutant(6, 'when somebody typed their password does not matter', SIGN_IN, 'longer ago than a session lasts',
    ['http/people/identity-provider.ts', 'pkceCodeVerifier: verifier, maxAge: maxAgeS,', 'pkceCodeVerifier: verifier,']),
  mutant(6, 'a session lives as long as it is used', SIGN_IN, 'ends after eight hours', ['http/people/sessions.ts', 'at - kept.startedAtMs > ABSOLUTE_MS || ', '']),
  mutant(6, 'a script of another site reads what our cookies open', 'people/other-origins', 'a socket that another site asks for',
    ['http/people/guard.ts', '    if (!changes) refuseOtherOrigin(request, ports.origin)\n', '']),
  mutant(5, 'what was told as over may be good again after a restart', 'consent/clock-jumps', 'leaves an approval expired, over a restart too: sqlite',
    ['store/sqlite-proposals.ts', ' await batch.write(() => { sql.keepClock(held.nowMs) })', ' return held']),
  mutant(7, 'the letters of secrets outlive the closing of the vault', 'vault/broker', 'of a locked broker the heap holds neither',
    ['credentials/credentials.ts', '    this.#needles = new WeakMap()\n', '']),
]
