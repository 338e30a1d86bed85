// The sheet: the file format of one version of one action, as a JSON Schema for checking and printing, and as a type.
import type { Consent, Effect, Involvement, Json, JsonObject, Outcome, Retry, Sensitivity } from './catalog.ts'
import type { JsonSchema } from './openapi/operation.ts'
import { DURATION_PATTERN, SIZE_PATTERN } from './units.ts'

export interface PartsSheet {
  readonly path?: JsonObject
  readonly query?: JsonObject
  readonly headers?: JsonObject
  readonly cookies?: JsonObject
  readonly body?: Json
  readonly media_type?: string
}

export interface OutcomeRuleSheet {
  readonly when: string
  readonly outcome: Outcome
  readonly error?: string
  readonly message?: string
  readonly retryable?: boolean
  readonly reference?: Json
  readonly result?: Json
}

export interface CheckSheet {
  readonly require: string
  readonly error?: string
  readonly message?: string
  readonly retryable?: boolean
  readonly outcome?: 'already_in_desired_state'
}

export interface LookupSheet extends PartsSheet {
  readonly operation: string
  readonly find?: { readonly in: string, readonly where: string }
  readonly outcomes: readonly OutcomeRuleSheet[]
  readonly absent?: { readonly when: string, readonly settles_after: string }
}

export interface Sheet {
  readonly action: string
  readonly version: number
  readonly upstream: string
  readonly operation: string
  readonly title: string
  readonly description: string
  readonly effect: Effect
  readonly involves?: readonly Involvement[]
  readonly sensitivity?: Sensitivity
  readonly consent: Consent
  readonly retry: Retry
  readonly input: JsonObject
  readonly scope?: ReadonlyArray<{ readonly require: string }>
  readonly reads?: { readonly [name: string]: PartsSheet & { readonly operation: string, readonly allow?: readonly number[] } }
  readonly values?: JsonObject
  readonly checks?: readonly CheckSheet[]
  readonly target?: { readonly type: string, readonly id: string, readonly version?: Json }
  readonly proposal?: { readonly effect: string, readonly before?: Json, readonly after?: Json, readonly facts?: Json, readonly redact?: readonly string[] }
  readonly request?: PartsSheet
  readonly idempotency?: { readonly header?: string, readonly query?: string, readonly body?: string, readonly retention: string }
  readonly outcomes?: readonly OutcomeRuleSheet[]
  readonly result?: { readonly schema: JsonObject, readonly view?: Json, readonly max_bytes?: string, readonly max_items?: number }
  readonly lookup?: LookupSheet | 'none'
  readonly limits?: {
    readonly timeout?: string
    readonly calls_per_run?: number
    readonly refusals_per_run?: number
    readonly concurrency_per_tenant?: number
    readonly serialize?: string
  }
  readonly repeatable?: boolean
  readonly durability?: 'strict'
  readonly compensate_with?: string
  readonly examples?: ReadonlyArray<{ readonly arguments: JsonObject, readonly result?: Json }>
  readonly sunset?: { readonly after: string, readonly use?: string }
}

export const ACTION_NAME_PATTERN = '^[a-z][a-z0-9_]{0,35}$'
export const ACTION_ID_PATTERN = '^[a-z][a-z0-9_]{0,35}\\.v[1-9][0-9]{0,3}$'
export const UPSTREAM_NAME_PATTERN = '^[a-z][a-z0-9_-]{0,35}$'
const IDENTIFIER_PATTERN = '^[a-z][a-z0-9_]{0,35}$'
const CODE_PATTERN = '^[A-Z][A-Z0-9_]{1,63}$'
export const INVOLVEMENTS = ['money', 'access', 'personal_data', 'bulk', 'public'] as const
export const EFFECTS = ['observation', 'reversible_change', 'external_commitment', 'irreversible_change'] as const
export const CONSENTS = ['none', 'session', 'call'] as const

const expression = (description: string): JsonSchema =>
  ({ description: `${description} One CEL expression.`, type: 'string', minLength: 1, maxLength: 4000 })
const template = (description: string): JsonSchema => ({ description: `${description} Texts may hold \${…}.` })
const named = (description: string): JsonSchema => ({ description: `${description} Values may hold \${…}.`, type: 'object' })
const count = (description: string): JsonSchema => ({ description, type: 'integer', minimum: 1, maximum: 1_000_000 })
const duration = (description: string): JsonSchema =>
  ({ description: `${description} As 500ms, 2s, 30m, 24h or 7d.`, type: 'string', pattern: DURATION_PATTERN })
const flag = (description: string): JsonSchema => ({ description, type: 'boolean' })
const text = (description: string, maxLength: number): JsonSchema => ({ description, type: 'string', minLength: 1, maxLength })

const closed = (description: string, required: readonly string[], properties: { readonly [name: string]: JsonSchema }): JsonSchema =>
  ({ description, type: 'object', additionalProperties: false, required, properties })

const PARTS = {
  path: named('Path parameters, by name.'),
  query: named('Query parameters, by name.'),
  headers: named('Request headers, by name.'),
  cookies: named('Cookie parameters, by name.'),
}

const OUTCOME_RULE = closed('What an answer means.', ['when', 'outcome'], {
  when: expression('Whether this rule speaks.'),
  outcome: { description: 'What became of the call.', enum: ['completed', 'pending', 'already_in_desired_state', 'rejected', 'unknown'] },
  error: { description: 'The code of a rejection: one of the table, or one of this sheet.', type: 'string', pattern: CODE_PATTERN },
  message: text('What the agent is told; written out, never from the upstream.', 500),
  retryable: flag('Whether the same call may be made again.'),
  reference: template('What a later look-up needs.'),
  result: template('The result, where it is not the view.'),
})

export const SHEET_SCHEMA: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Action sheet',
  ...closed('One version of one action: actions/<upstream>/<action>.v<N>.yaml', [
    'action', 'version', 'upstream', 'operation', 'title', 'description', 'effect', 'consent', 'retry', 'input',
  ], {
    action: { description: 'verb_object; the name that agents call, with the version behind it.', type: 'string', pattern: ACTION_NAME_PATTERN },
    version: { description: 'Rises with every change that a caller could notice.', type: 'integer', minimum: 1, maximum: 9999 },
    upstream: { description: 'The folder that the sheet lies in.', type: 'string', pattern: UPSTREAM_NAME_PATTERN },
    operation: text('operationId, or "PATCH /customers/{id}".', 500),
    title: text('A few words for people and agents.', 120),
    description: text('What it does, when to use it and when not, what it returns, what to do after which error.', 4000),
    effect: { description: 'The consequence.', enum: EFFECTS },
    involves: { description: 'What the call touches.', type: 'array', uniqueItems: true, items: { enum: INVOLVEMENTS } },
    sensitivity: {
      description: 'Of what the result shows; secret results are never stored. internal where it is not given.',
      enum: ['public', 'internal', 'personal', 'secret'],
    },
    consent: { description: 'Whether a person has to say yes; the policy may make it stricter.', enum: CONSENTS },
    retry: { description: 'What a repeat does upstream.', enum: ['never', 'safe', 'same_key', 'natural'] },
    input: { description: 'Closed JSON Schema 2020-12: all that an agent may send.', type: 'object' },
    scope: {
      description: 'Object-level authorization; all must hold before anything is read or sent. Knows args, caller and now.',
      type: 'array',
      maxItems: 50,
      items: closed('A rule.', ['require'], { require: expression('What must hold.') }),
    },
    reads: {
      description: 'Observations before deciding, in order; later ones may use earlier ones.',
      type: 'object',
      maxProperties: 3,
      propertyNames: { pattern: IDENTIFIER_PATTERN },
      additionalProperties: closed('A read.', ['operation'], {
        operation: text('The operation to ask.', 500),
        ...PARTS,
        allow: {
          description: 'Statuses beside 2xx that do not refuse the call.',
          type: 'array',
          uniqueItems: true,
          items: { type: 'integer', minimum: 300, maximum: 599 },
        },
      }),
    },
    values: {
      ...named('Computed here, never by the agent; readable as values.<name> from here on.') as object,
      propertyNames: { pattern: IDENTIFIER_PATTERN },
    },
    checks: {
      description: 'Business rules.',
      type: 'array',
      maxItems: 50,
      items: closed('A rule.', ['require'], {
        require: expression('What must hold.'),
        error: {
          description: 'The code where it does not: one of this sheet; OUT_OF_SCOPE where none is given.',
          type: 'string',
          pattern: CODE_PATTERN,
        },
        message: text('What the agent is told; written out.', 500),
        retryable: flag('Whether the same call may be made again.'),
        outcome: { description: 'Instead of an error: nothing needs to be sent.', const: 'already_in_desired_state' },
      }),
    },
    target: closed('The object that a write touches.', ['type', 'id'], {
      type: { description: 'Its kind.', type: 'string', pattern: IDENTIFIER_PATTERN },
      id: { ...template('Its id.') as object, type: 'string', minLength: 1 },
      version: template('Its version as it was read.'),
    }),
    proposal: closed('What the approver sees; from facts, never from the agent\'s words.', ['effect'], {
      effect: { ...template('The effect in one sentence.') as object, type: 'string', minLength: 1, maxLength: 1000 },
      before: template('The object before.'),
      after: template('The object after.'),
      facts: template('What else the approver should know.'),
      redact: {
        description: 'JSON Pointers into before and after: what stands there is shown as a mark, here and wherever else it would be shown.',
        type: 'array', minItems: 1, maxItems: 50, uniqueItems: true, items: { type: 'string', pattern: '^(/([^/~]|~[01])*)+$', maxLength: 200 },
      },
    }),
    request: closed('The exact request.', [], {
      ...PARTS,
      body: template('The body.'),
      media_type: text('Which of the operation\'s media types, where it has several.', 100),
    }),
    idempotency: closed('Where the upstream takes an idempotency key; only where it really honours it.', ['retention'], {
      header: text('Name of the header.', 100),
      query: text('Name of the query parameter.', 100),
      body: { description: 'JSON Pointer into the body.', type: 'string', pattern: '^(/([^/~]|~[01])*)+$', maxLength: 200 },
      retention: duration('How long the upstream remembers a key.'),
    }),
    outcomes: {
      description: 'What an answer means; the first that matches wins, then the default table.',
      type: 'array',
      maxItems: 50,
      items: OUTCOME_RULE,
    },
    result: closed('The view: only what is named here ever reaches the agent.', ['schema'], {
      schema: { description: 'Closed JSON Schema 2020-12 of the result.', type: 'object' },
      view: template('How it is made. Left out: the body, pruned to the schema.'),
      max_bytes: { description: 'As 16KiB; 32KiB where it is not given.', type: 'string', pattern: SIZE_PATTERN },
      max_items: { description: 'Lists are cut to this; 50 where it is not given.', type: 'integer', minimum: 1, maximum: 1000 },
    }),
    lookup: {
      description: 'How an unknown or pending attempt is resolved; none: a person decides.',
      oneOf: [
        { const: 'none' },
        closed('A look-up.', ['operation', 'outcomes'], {
          operation: text('The operation to ask.', 500),
          ...PARTS,
          find: closed('One item of a list, bound as found.', ['in', 'where'], {
            in: expression('The list.'),
            where: expression('Which item; sees it as item.'),
          }),
          outcomes: {
            description: 'What its answer means; one that matches no rule is no evidence.',
            type: 'array',
            minItems: 1,
            maxItems: 50,
            items: OUTCOME_RULE,
          },
          absent: closed('When absence proves that the call had no effect.', ['when', 'settles_after'], {
            when: expression('What a well-formed answer says where there is nothing.'),
            settles_after: duration('How long the upstream may take until what it did can be seen.'),
          }),
        }),
      ],
    },
    limits: closed('Limits of this action.', [], {
      timeout: duration('Total time of the one send.'),
      calls_per_run: count('Calls in one run.'),
      refusals_per_run: count('Refused calls in one run before all are refused.'),
      concurrency_per_tenant: count('Calls at once in one tenant.'),
      serialize: { ...template('A second key: writes with an equal one wait for each other\'s end.') as object, type: 'string', minLength: 1 },
    }),
    repeatable: flag('Equal writes in a run are meant; then the runtime must send Idempotency-Key.'),
    durability: {
      description: 'strict: sent only once Redis has its mark on disk (appendfsync always, or WAITAOF), else refused. The embedded store always has.',
      const: 'strict',
    },
    compensate_with: { description: 'The write that undoes this one, as far as it can be undone.', type: 'string', pattern: ACTION_ID_PATTERN },
    examples: {
      description: 'Calls with their results; checked at load.',
      type: 'array',
      maxItems: 20,
      items: closed(
        'An example.',
        ['arguments'],
        { arguments: { description: 'The arguments.', type: 'object' }, result: { description: 'The result.' } }
      ),
    },
    sunset: closed('The version will go.', ['after'], {
      after: { description: 'The last day it can be called.', type: 'string', format: 'date' },
      use: { description: 'What to call instead.', type: 'string', pattern: ACTION_ID_PATTERN },
    }),
  }) as object,
}
