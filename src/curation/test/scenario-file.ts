// `actions/<upstream>/<action>.scenarios.yaml`: what a team says about an action beyond its sheet: given an upstream that answers so, when this is
// called, then that is told and those requests were seen.
import type { Catalog, Json, JsonObject, Outcome } from '../../catalog/catalog.ts'
import { FaultList } from '../../catalog/faults.ts'
import type { JsonSchema } from '../../catalog/openapi/operation.ts'
import { ACTION_NAME_PATTERN } from '../../catalog/sheet.ts'
import { checkStructure } from '../../catalog/structure.ts'
import { DURATION_PATTERN } from '../../catalog/units.ts'
import { readYaml, YamlFile } from '../../catalog/yaml-file.ts'
import { DECISIONS, type Decided } from '../rehearsal/decisions.ts'
import { checkKnown } from './known-scenarios.ts'

export interface ScriptedAnswer {
  readonly operation: string
  readonly status?: number
  readonly headers?: { readonly [name: string]: string }
  readonly body?: Json
  readonly fault?: 'lost' | 'cut' | 'malformed'
}

export interface ScenarioCall {
  readonly arguments: JsonObject
  readonly key?: string
}

export interface SeenRequest {
  readonly operation: string
  readonly path?: string
  readonly query?: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: Json
}

export interface Then {
  readonly outcome: Outcome
  readonly error?: string
  readonly cause?: string
  readonly withheld?: string
  readonly duplicate?: boolean
  readonly result?: Json
  readonly requests?: readonly SeenRequest[]
  /** What a person was shown of it. */
  readonly proposal?: Partial<Record<(typeof SHOWN)[number], Json>>
  readonly settles?: { readonly outcome: Outcome, readonly error?: string, readonly result?: Json, readonly within?: string }
}

/** Parts of a proposal that a scenario can look at, as its agent is told of it too. */
export const SHOWN = ['kind', 'effect', 'diff', 'facts'] as const

/** What is said of people where they are asked, and where they are not. */
export type Approval = 'given' | 'none' | Decided
const APPROVALS: readonly Approval[] = ['given', 'none', ...Object.keys(DECISIONS) as readonly Decided[]]

export interface Scenario {
  readonly name: string
  readonly version?: number
  readonly given?: {
    readonly caller?: { readonly tenant?: string, readonly roles?: readonly string[], readonly claims?: JsonObject }
    readonly approval?: Approval
    readonly upstream?: readonly ScriptedAnswer[]
    readonly upstream_after?: readonly ScriptedAnswer[]
  }
  readonly when: ScenarioCall | readonly ScenarioCall[]
  readonly then: Then
}

export interface ScenarioFile {
  readonly action: string
  readonly known_gaps?: ReadonlyArray<{ readonly boundary: string, readonly reason: string }>
  readonly scenarios?: readonly Scenario[]
}

const closed = (description: string, required: readonly string[], properties: { readonly [name: string]: JsonSchema }): JsonSchema =>
  ({ description, type: 'object', additionalProperties: false, required, properties })
const text = (description: string): JsonSchema => ({ description, type: 'string', minLength: 1, maxLength: 500 })
const texts = (description: string): JsonSchema => ({ description, type: 'object', additionalProperties: { type: 'string' } })
const anything = (description: string): JsonSchema => ({ description })
const OUTCOME: JsonSchema = {
  description: 'What became of the call.', enum: ['completed', 'pending', 'already_in_desired_state', 'rejected', 'unknown'],
}

const CALL = closed('One call.', ['arguments'], {
  arguments: { description: 'What the agent sends.', type: 'object' },
  key: text('The Idempotency-Key.'),
})

const IN_TURN = 'What the upstream does when an operation is asked; answers of one operation are taken in turn, the last one stays.'
const ANSWER = closed(IN_TURN, ['operation'], {
  operation: text('operationId, or "PATCH /customers/{id}".'),
  status: { description: '200 where it is not given.', type: 'integer', minimum: 200, maximum: 599 },
  headers: texts('Headers of the answer.'),
  body: anything('JSON. In texts ${attempt.key}, ${attempt.id} and ${secret} stand for what was really sent.'),
  fault: { description: 'lost: no answer comes. cut: half of one. malformed: a success that is no JSON.', enum: ['lost', 'cut', 'malformed'] },
})

const REQUEST = closed('A request that the upstream has to have seen; what is not given is not looked at.', ['operation'], {
  operation: text('operationId, or "PATCH /customers/{id}".'),
  path: text('The path as it was sent.'),
  query: { description: 'The query as it was sent.', type: 'string' },
  headers: texts('Headers, by name.'),
  body: anything('The body: JSON, or the text of another media type.'),
})

export const SCENARIOS_SCHEMA: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Scenarios',
  ...closed('Scenarios of one action: actions/<upstream>/<action>.scenarios.yaml', ['action'], {
    action: { description: 'The name of the action, without its version.', type: 'string', pattern: ACTION_NAME_PATTERN },
    known_gaps: {
      description: 'Boundaries of the sheet that no refused call crosses, and why that is left so.',
      type: 'array',
      items: closed('A gap.', ['boundary', 'reason'], { boundary: text('As the report names it, /checks/1.'), reason: text('Why.') }),
    },
    scenarios: {
      description: 'Each on its own: nothing of one is left for the next.',
      type: 'array',
      items: closed('A scenario.', ['name', 'when', 'then'], {
        name: text('What it shows, in a few words.'),
        version: { description: 'Of the action; all versions where it is not given.', type: 'integer', minimum: 1, maximum: 9999 },
        given: closed('Who calls, and what the upstream knows.', [], {
          caller: closed('The access token.', [], {
            tenant: text('The tenant.'),
            roles: {
              description: 'Roles of the policy; a role that grants everything where they are not given.', type: 'array', items: { type: 'string' },
            },
            claims: { description: 'Claims that scopes look at; made from the scope and the arguments where they are not given.', type: 'object' },
          }),
          approval: {
            description: 'Of a call that needs a person. given: taken as said, nobody is asked; so it is where nothing is said. none: nobody can be asked. '
              + 'asked: it is proposed and not decided. approved: as many as it takes approve it, and the agent commits it, or calls again where it is a grant; '
              + 'so it goes on after all that follows. denied: they deny it. undecided: nobody decides in time. expired: it is approved, and the agent comes '
              + 'too late. revoked: it is approved, and taken back. role_lost: it is approved, and one of those who did has lost the role since. partly: all but '
              + 'one of those that it takes approve it, where it takes several.',
            enum: APPROVALS,
          },
          upstream: { description: 'What is not scripted is answered 422.', type: 'array', items: ANSWER },
          upstream_after: {
            description: 'What the upstream does from the decision on, in the place of upstream: an object that has changed meanwhile.', type: 'array', items: ANSWER,
          },
        }),
        when: {
          description: 'One call, or several in a run; what then says is of the last one.',
          oneOf: [CALL, { type: 'array', minItems: 1, maxItems: 20, items: CALL }],
        },
        then: closed('What has to be told and seen.', ['outcome'], {
          outcome: OUTCOME,
          error: text('The code of the error.'),
          cause: text('Why what was approved is not good any more, approver_ineligible.'),
          withheld: text('Why there is no result.'),
          duplicate: { description: 'Whether the call repeats an earlier one.', type: 'boolean' },
          result: anything('The whole result.'),
          requests: { description: 'All requests of the scenario up to the answer, in order; an empty list: none.', type: 'array', items: REQUEST },
          proposal: closed('What a person is shown of the proposal; what is not given is not looked at.', [], {
            kind: { description: 'call: for this call alone. session: a grant for the run.', enum: ['call', 'session'] },
            effect: text('The effect sentence.'),
            diff: { description: 'Rows of pointer, was and now; an empty list: no field is known to change. What is kept from people reads ••••.', type: 'array', items: { type: 'object' } },
            facts: { description: 'All facts of the sheet.', type: 'object' },
          }),
          settles: closed('What a call that is not settled yet becomes.', ['outcome'], {
            outcome: OUTCOME,
            error: text('The code of the error.'),
            result: anything('The whole result.'),
            within: { description: '30s where it is not given.', type: 'string', pattern: DURATION_PATTERN },
          }),
        }),
      }),
    },
  }) as object,
}

/**
 * @param name relative to the folder of the sheets
 * @param faults told `file:line:column` of all that is wrong
 * @param catalog null: what it names is not looked for
 */
export function readScenarios (name: string, bytes: Buffer, faults: FaultList, catalog: Catalog | null): ScenarioFile | null {
  const file = readYaml(name, bytes)
  if (!(file instanceof YamlFile)) {
    for (const fault of file) faults.add(fault)
    return null
  }
  const report = faults.in(file)
  if (!checkStructure(file.value, SCENARIOS_SCHEMA, report)) return null
  const written = file.value as unknown as ScenarioFile
  const named = name.slice(name.lastIndexOf('/') + 1).replace(/\.scenarios\.yaml$/, '')
  if (written.action !== named) report.fault('/action', 'name-differs', `the file is named after "${named}"`)
  else if (catalog !== null) checkKnown(written, catalog, report)
  return written
}
