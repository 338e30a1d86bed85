// All generated cases of one action, run on the stage: its arguments, then the call around them.
import type { Action, JsonObject } from '../../catalog/catalog.ts'
import { claimsFor, claimsOfBoth, unmetScope } from '../rehearsal/claims.ts'
import { play, type ScriptedReaction } from '../rehearsal/script.ts'
import type { Stage } from '../rehearsal/stage.ts'
import { argumentCasesOf, otherArguments, type ArgumentCases } from './argument-cases.ts'
import { factsFor, refusingFacts, scriptedReads } from './facts.ts'
import type { CaseResult } from './finding.ts'
import { Callers, tryOut, type Trial } from './trial.ts'

export function callBoundaries (action: Action): readonly string[] {
  return [
    '/role',
    ...action.write ? ['/run', '/key'] : [],
    ...action.scope.map((_, index) => `/scope/${index}`),
    ...action.checks.flatMap((check, index) => check.otherwise.kind === 'refuse' ? [`/checks/${index}`] : []),
    ...action.versionGuarded ? ['/target/version'] : [],
  ]
}

/** Runs the cases of one action; what they crossed and found stands in it. */
export class GeneratedCases {
  readonly cases: CaseResult[] = []
  readonly crossed = new Set<string>()
  readonly notes: string[]
  readonly #stage: Stage
  readonly #action: Action
  readonly #made: ArgumentCases
  readonly #callers: Callers

  constructor (stage: Stage, action: Action) {
    this.#stage = stage
    this.#action = action
    this.#made = argumentCasesOf(action)
    this.notes = [...this.#made.notes]
    this.#callers = new Callers(action, `run-${action.id}`)
  }

  /** All boundaries that the sheet declares. */
  get boundaries (): readonly string[] {
    return [...this.#made.boundaries.map(at => `/input${at}`), ...callBoundaries(this.#action)]
  }

  /** Nothing of it may send anything, but where a call is right and nothing but its arguments could refuse it. */
  async beforeSending (): Promise<void> {
    await this.#ofArguments()
    if (this.#made.valid !== null) await this.#ofCall(this.#made.valid)
  }

  /**
   * What cannot be seen without a send: a key that is used again, and a version that is stale. It comes after what may send nothing, for all
   * actions: what is not settled by it is looked up for a while.
   */
  async withSending (): Promise<void> {
    const args = this.#made.valid
    if (args === null || !this.#action.write) return
    const claims = claimsFor(this.#action, args)
    if (unmetScope(this.#action, args, claims, 'default').length === 0) await this.#sent(args, claims)
  }

  async #ofArguments (): Promise<void> {
    const claims = this.#made.valid === null ? {} : claimsFor(this.#action, this.#made.valid)
    // Where a scope refuses what its claims do not name, a call whose arguments are right ends there, and nothing has to be scripted for it.
    const outside = this.#action.scope.length > 0 && unmetScope(this.#action, this.#made.valid ?? {}, {}, 'default').length > 0
    play(this.#stage.upstream, this.#action, [])
    for (const [index, { name, text, refusal, boundaries }] of this.#made.cases.entries()) {
      const expect: Trial['expect'] = refusal === null ? { kind: 'arguments taken' } : { kind: 'refused', ...refusal }
      const caller = this.#callers.next(refusal === null && outside ? {} : claims)
      const key = this.#action.repeatable ? `arguments-${index}` : undefined
      await this.#try({ name, group: 'arguments', text, caller, expect, ...(key === undefined ? {} : { key }) }, boundaries.map(at => `/input${at}`))
    }
  }

  async #ofCall (args: JsonObject): Promise<void> {
    const action = this.#action
    const text = JSON.stringify(args)
    const claims = claimsFor(action, args)
    const key = { key: 'a-key' }
    for (const role of this.#rolesWithout()) {
      const caller = this.#callers.next(claims, { roles: role === null ? [] : [role] })
      await this.#try(
        {
          name: role === null ? 'no role' : `the role ${role}, which does not grant it`,
          group: 'call',
          text,
          ...key,
          caller,
          expect: refusedWith('UNKNOWN_ACTION'),
        },
        ['/role']
      )
    }
    if (action.write) {
      const caller = this.#callers.next(claims, { run: null })
      await this.#try({ name: 'a token without a run', group: 'call', text, ...key, caller, expect: refusedWith('RUN_REQUIRED') }, ['/run'])
    }
    if (action.repeatable) {
      await this.#try(
        { name: 'no idempotency key', group: 'call', text, caller: this.#callers.next(claims), expect: refusedWith('IDEMPOTENCY_KEY_REQUIRED') },
        ['/key']
      )
    }
    await this.#outOfScope(args)
    if (unmetScope(action, args, claims, 'default').length > 0) {
      this.notes.push('no claims were found under which its scope holds; a scenario has to give them')
      return
    }
    await this.#checks(args, claims)
  }

  async #outOfScope (args: JsonObject): Promise<void> {
    const { scope } = this.#action
    for (const [index] of scope.entries()) {
      const without = claimsFor({ scope: scope.filter((_, other) => other !== index) }, args)
      const unmet = unmetScope(this.#action, args, without, 'default')
      if (!unmet.includes(index)) continue
      const trial: Trial = {
        name: `claims that do not fulfil scope ${index + 1}`,
        group: 'call',
        text: JSON.stringify(args),
        key: 'a-key',
        caller: this.#callers.next(without),
        expect: refusedWith('OUT_OF_SCOPE'),
      }
      await this.#try(trial, unmet.length === 1 ? [`/scope/${index}`] : [])
    }
    const other = otherArguments(this.#action, args)
    const foreign = other === null ? {} : claimsFor(this.#action, other)
    if (other === null || unmetScope(this.#action, args, foreign, 'default').length === 0) return
    await this.#try(
      {
        name: 'claims of another object',
        group: 'call',
        text: JSON.stringify(args),
        key: 'a-key',
        caller: this.#callers.next(foreign),
        expect: refusedWith('OUT_OF_SCOPE'),
      },
      []
    )
  }

  /** For each business rule, answers of the upstream that it alone refuses first. */
  async #checks (args: JsonObject, claims: JsonObject): Promise<void> {
    for (const { index, code, answers } of refusingFacts(this.#action, args, claims)) {
      play(this.#stage.upstream, this.#action, scriptedReads(this.#action, answers))
      const expect: Trial['expect'] = { kind: 'refused', codes: [code], field: null, reads: true }
      await this.#try(
        {
          name: `facts that check ${index + 1} refuses`,
          group: 'call',
          text: JSON.stringify(args),
          key: `check-${index}`,
          caller: this.#callers.next(claims),
          expect,
        },
        [`/checks/${index}`]
      )
    }
  }

  async #sent (args: JsonObject, claims: JsonObject): Promise<void> {
    const action = this.#action
    const answers = factsFor(action, args, claims)
    if (answers === null) {
      this.notes.push('no answers of the upstream were found that its checks let pass; a scenario has to give them')
      return
    }
    const other = otherArguments(this.#action, args)
    const text = JSON.stringify(args)
    play(this.#stage.upstream, action, scriptedReads(action, answers))
    const caller = this.#callers.next(other === null ? claims : claimsOfBoth(claims, claimsFor(action, other)))
    const first = await this.#try(
      { name: 'a call that the upstream refuses', group: 'call', text, key: 'used-key', caller, expect: { kind: 'arguments taken' } }, []
    )
    if (other !== null && first.result.envelope.attempt_id !== undefined) {
      const again = {
        text: JSON.stringify(other),
        key: 'used-key',
        caller,
        expect: { kind: 'refused', codes: ['IDEMPOTENCY_KEY_REUSED'], field: null, reads: true } as const,
      }
      await this.#try({ name: 'its key again with other arguments', group: 'call', ...again }, ['/key'])
    }
    if (!action.versionGuarded) return
    const stale: ScriptedReaction = { operation: action.request.operation.id, react: () => ({ kind: 'answer', status: 412, headers: {}, body: {} }) }
    play(this.#stage.upstream, action, [...scriptedReads(action, answers), stale])
    const expect: Trial['expect'] = { kind: 'not completed', codes: ['VERSION_CONFLICT', 'UPSTREAM_CONFLICT', 'OUTCOME_UNKNOWN'] }
    await this.#try(
      { name: 'a version that the upstream finds stale', group: 'call', text, key: 'stale-key', caller: this.#callers.next(claims), expect },
      ['/target/version']
    )
  }

  /** Roles of the policy that do not grant it, and none at all. */
  #rolesWithout (): ReadonlyArray<string | null> {
    return [null, ...[...this.#stage.catalog.roles.values()].filter(role => !role.actions.has(this.#action.id)).map(role => role.name)]
  }

  async #try (trial: Trial, crossing: readonly string[]): Promise<Awaited<ReturnType<typeof tryOut>>> {
    const tried = await tryOut(this.#stage, this.#action, trial)
    const { result, ...found } = tried
    this.cases.push(found)
    if (found.fault === null && trial.expect.kind !== 'arguments taken') for (const boundary of crossing) this.crossed.add(boundary)
    return tried
  }
}

const refusedWith = (code: string): Trial['expect'] => ({ kind: 'refused', codes: [code], field: null })
