// Generated cases of an action that needs a person, on a stage whose people are played: what was approved is sent once, and what was not approved, not
// any more, or not for this is refused or asked anew, with nothing sent.
import type { Action, Answer, JsonObject } from '../../catalog/catalog.ts'
import type { EnvelopeProposal } from '../../execution/envelope.ts'
import { claimsFor, claimsOfBoth, unmetScope } from '../rehearsal/claims.ts'
import { DECISIONS, whyNot, type Decided } from '../rehearsal/decisions.ts'
import { play } from '../rehearsal/script.ts'
import type { Answered, RehearsedCaller, Stage } from '../rehearsal/stage.ts'
import { argumentCasesOf, otherArguments } from './argument-cases.ts'
import { changedFacts, factsFor, scriptedReads, targetUnder } from './facts.ts'
import type { CaseResult } from './finding.ts'
import { Callers, faultOf, inWords, type Expectation } from './trial.ts'

type Facts = ReadonlyMap<string, Answer>

/** What happens between the proposal and what ends a case; answered is what came last. */
interface ConsentCase {
  readonly name: string
  readonly expect: Expectation
  /** What it shows to hold. */
  readonly crosses: readonly string[]
  run (id: string): Promise<Answered>
}

/** Something that can be called, and proposed. */
interface Ground {
  readonly args: JsonObject
  readonly claims: JsonObject
  readonly facts: Facts
}

const refused = (code: string): Expectation => ({ kind: 'refused', codes: [code], field: null, reads: true })
const ASKED: Expectation = { kind: 'asked' }
const SENT: Expectation = { kind: 'sent' }

/** Of one call: what a commit is answered. */
const OF_CALL: Readonly<Record<Decided, readonly [string, Expectation]>> = {
  asked: ['a commit that nobody has approved', refused('PROPOSAL_PENDING')],
  partly: ['a proposal that too few people have approved', refused('PROPOSAL_PENDING')],
  denied: ['a proposal that was denied', refused('PROPOSAL_DENIED')],
  undecided: ['a proposal that nobody decided in time', refused('PROPOSAL_EXPIRED')],
  expired: ['an approval that was not committed in time', refused('PROPOSAL_EXPIRED')],
  revoked: ['an approval that was taken back', refused('PROPOSAL_REVOKED')],
  role_lost: ['an approval by somebody who has lost the role', refused('PROPOSAL_INVALIDATED')],
  approved: ['a proposal that was approved, committed twice', SENT],
}

/** Of a grant: what the same call is answered then. */
const OF_GRANT: Readonly<Record<Decided, readonly [string, Expectation]>> = {
  asked: ['a call whose grant nobody has approved', ASKED],
  partly: ['a grant that too few people have approved', ASKED],
  denied: ['a grant that was denied', refused('RECENTLY_DENIED')],
  undecided: ['a grant that nobody decided in time', ASKED],
  expired: ['a grant whose time is over', ASKED],
  revoked: ['a grant that was taken back', ASKED],
  role_lost: ['a grant by somebody who has lost the role', ASKED],
  approved: ['a call whose grant was approved', SENT],
}

const boundaryOf = (decided: Decided): string => `/consent/${decided}`
const DECIDED = Object.keys(DECISIONS) as readonly Decided[]

export class ConsentCases {
  readonly cases: CaseResult[] = []
  readonly crossed = new Set<string>()
  readonly notes: string[] = []
  readonly #stage: Stage
  readonly #action: Action
  readonly #callers: Callers
  /** An observation that needs a yes for each call gets a grant for that one call. */
  readonly #isGrant: boolean
  readonly #ground: Ground | null
  #caller: RehearsedCaller

  constructor (stage: Stage, action: Action) {
    this.#stage = stage
    this.#action = action
    this.#isGrant = action.consent !== 'call' || !action.write
    this.#callers = new Callers({ ...action, limits: { ...action.limits, callsPerRun: 1 } }, `consent-${action.id}`)
    this.#caller = this.#callers.next({})
    this.#ground = this.#found()
  }

  /** What has to hold, whatever people do. */
  get boundaries (): readonly string[] {
    return ['/consent/none', ...DECIDED.filter(decided => whyNot(decided, this.#action) === null).map(boundaryOf)]
  }

  /** Nothing of it may send anything. */
  async beforeSending (): Promise<void> {
    if (this.#ground === null) return
    for (const decided of DECIDED) {
      if (decided !== 'approved' && whyNot(decided, this.#action) === null) await this.#try(this.#caseOf(decided), this.#ground)
    }
    for (const one of this.#isGrant ? this.#elsewhere(this.#ground) : this.#changed(this.#ground)) await this.#try(one, this.#ground)
  }

  /** What was approved; it comes after what may send nothing, for all actions: what is not settled by it is looked up for a while. */
  async withSending (): Promise<void> {
    if (this.#ground === null) return
    await this.#try(this.#caseOf('approved'), this.#ground)
  }

  #found (): Ground | null {
    const { valid: args } = argumentCasesOf(this.#action)
    if (args === null) return null
    if (this.#action.requirement.roles.length === 0) {
      this.notes.push('the policy names nobody who may decide it, so that no call of it can ever be approved')
      return null
    }
    const claims = claimsFor(this.#action, args)
    const facts = unmetScope(this.#action, args, claims, 'default').length > 0 ? null : factsFor(this.#action, args, claims)
    if (facts !== null) return { args, claims, facts }
    this.notes.push('nothing could be proposed without claims and answers of the upstream; scenarios with an approval have to give them')
    return null
  }

  #caseOf (decided: Decided): ConsentCase {
    const [name, expect] = (this.#isGrant ? OF_GRANT : OF_CALL)[decided]
    return {
      name,
      expect,
      crosses: [boundaryOf(decided)],
      run: async id => {
        await DECISIONS[decided](this.#stage.people(), id)
        const answered = await this.#goOn(id)
        return decided === 'approved' && !this.#isGrant ? this.#goOn(id) : answered
      },
    }
  }

  #changed ({ args, claims, facts }: Ground): readonly ConsentCase[] {
    const changed = changedFacts(this.#action, args, claims, facts)
    return changed === null ? [] : [{
      name: 'a target that changed after the approval',
      expect: refused('VERSION_CONFLICT'),
      crosses: [],
      run: async id => {
        await this.#stage.people().approve(id)
        play(this.#stage.upstream, this.#action, scriptedReads(this.#action, changed))
        return this.#goOn(id)
      },
    }]
  }

  #elsewhere ({ args, claims, facts }: Ground): readonly ConsentCase[] {
    const other = otherArguments(this.#action, args)
    if (other === null) return []
    const foreign = claimsOfBoth(claims, claimsFor(this.#action, other))
    const elsewhere = factsFor(this.#action, other, foreign)
    if (elsewhere === null || this.#targetOf({ args: other, claims: foreign, facts: elsewhere }) === this.#targetOf({ args, claims, facts })) return []
    return [{
      name: 'another target than the grant is for',
      expect: ASKED,
      crosses: [],
      run: async id => {
        await this.#stage.people().approve(id)
        play(this.#stage.upstream, this.#action, scriptedReads(this.#action, elsewhere))
        this.#caller = { ...this.#caller, claims: foreign }
        return this.#call(other, 'another-key')
      },
    }]
  }

  #targetOf ({ args, claims, facts }: Ground): string | null {
    const target = targetUnder(this.#action, args, claims, facts)
    return target === null ? null : JSON.stringify([target.type, target.id])
  }

  async #try ({ name, expect, crosses, run }: ConsentCase, { args, claims, facts }: Ground): Promise<void> {
    this.#caller = this.#callers.next(claims)
    play(this.#stage.upstream, this.#action, scriptedReads(this.#action, facts))
    const before = this.#stage.upstream.requests.length
    const first = await this.#call(args)
    const id = askedIn(first)?.id ?? null
    const last = id === null ? first : await run(id)
    const seen = this.#stage.upstream.requests.slice(before)
    const fault = id === null ? 'a person had to be asked' : faultOf(expect, last, this.#action, seen)
    this.cases.push({ name, group: 'call', fault, answered: inWords(last), requests: seen.length, refused: expect.kind === 'refused' })
    if (fault === null) for (const boundary of crosses) this.crossed.add(boundary)
    for (const open of [id, askedIn(last)?.id ?? null]) {
      // What is left undecided counts against what this agent may have undecided.
      if (open !== null) await this.#stage.people().outlast(open)
    }
  }

  /** As its agent goes on with it. */
  #goOn (id: string): Promise<Answered> {
    return this.#isGrant ? this.#call(this.#ground!.args) : this.#stage.commit(id, this.#caller)
  }

  #call (args: JsonObject, key = 'a-key'): Promise<Answered> {
    return this.#stage.call({ action: this.#action.id, text: JSON.stringify(args), key, caller: this.#caller })
  }
}

/** The proposal that a call is waiting on; null: it waits on none. */
export function askedIn ({ envelope }: Answered): EnvelopeProposal | null {
  return envelope.pending_on === 'consent' && envelope.proposal?.state === 'pending' ? envelope.proposal : null
}

/**
 * What a scenario shows to hold, by what its people did and how it ended.
 * @param sent whether the request of the action itself was seen
 */
export function consentCrossed (decided: Decided, { envelope }: Answered, isGrant: boolean, sent: boolean): readonly string[] {
  const [, expect] = (isGrant ? OF_GRANT : OF_CALL)[decided]
  const wanted = decided === 'asked' ? ASKED : expect
  const holds = wanted.kind === 'sent' ? sent : !sent && (
    wanted.kind === 'asked' ? envelope.pending_on === 'consent' : wanted.kind === 'refused' && wanted.codes.includes(envelope.error?.code ?? '')
  )
  return holds ? [boundaryOf(decided)] : []
}
