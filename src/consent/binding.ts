// What a person's yes is bound to: the exact request with all that it rests on, as one canonical text. What is executed later is built anew and must give
// the same text; what only an attempt has, its key and its id, and the credential stand in no binding.
import { hash } from 'node:crypto'
import type { Action, AttemptView, CredentialDeclaration, Effect, Involvement, Json, JsonObject, Target } from '../catalog/catalog.ts'
import type { WireRequest } from '../upstream/wire.ts'
import { canonicalText, isSame } from './canonical.ts'
import type { GrantTerms, InvalidCause, Requirement } from './proposal.ts'

export interface Binding {
  readonly v: 1
  readonly tenant: string
  readonly action: { readonly id: string, readonly sheet_sha256: string }
  readonly policy_sha256: string
  readonly agent: { readonly iss: string, readonly sub: string, readonly run: string }
  readonly on_behalf_of: { readonly iss: string, readonly sub: string } | null
  readonly upstream: {
    readonly id: string
    /** Which secret will stand in it, by its reference. */
    readonly account: string
    readonly method: string
    readonly origin: string
    /** As they stand in the request line. */
    readonly path: string
    readonly query: ReadonlyArray<readonly [string, string]>
    readonly headers: ReadonlyArray<readonly [string, string]>
    readonly body_sha256: string | null
  }
  readonly target: { readonly type: string, readonly id: string, readonly version: Json, readonly version_kind: 'etag' | 'revision' | 'none' } | null
  readonly args: JsonObject
  readonly effect: Effect
  readonly involves: readonly Involvement[]
  readonly requirement: Requirement
  /** Of kind `session`: what is asked for beyond this one call. */
  readonly grant: GrantTerms | null
  /** Of what the person is shown, in RFC 8785. */
  readonly shown_sha256: string
  readonly created_at: string
  /** 128 bits, so that equal requests differ. */
  readonly nonce: string
}

export interface Bound {
  readonly action: Action
  readonly agent: { readonly iss: string, readonly sub: string, readonly tenant: string, readonly run: string }
  readonly onBehalfOf: { readonly iss: string, readonly sub: string } | null
  readonly args: JsonObject
  readonly target: Target | null
  readonly request: WireRequest
  /** Whose id and key stand in the request. */
  readonly attempt: AttemptView
  readonly requirement: Requirement
  readonly grant: GrantTerms | null
}

/** What only its making gives it: of a stored one, to build it again. */
export type Making = Pick<Binding, 'shown_sha256' | 'created_at' | 'nonce'>

/** Stands in for the attempt that there is not yet. */
export const STAND_IN: AttemptView = Object.freeze({ id: 'att_-', key: '00000000-0000-8000-8000-000000000000', reference: null })
const BOUNDARY = /^multipart\/form-data; boundary=(aval-[0-9a-f]{40})$/

export function bindingOf (bound: Bound, { shown_sha256, created_at, nonce }: Making): Binding {
  const { action, agent, onBehalfOf, args, target, requirement, grant } = bound
  const { method, path, headers, body } = withoutAttempt(bound.request, bound.attempt)
  const [line, query] = cut(path, '?')
  return {
    v: 1,
    tenant: agent.tenant,
    action: { id: action.id, sheet_sha256: action.digest },
    policy_sha256: action.rulesDigest,
    agent: { iss: agent.iss, sub: agent.sub, run: agent.run },
    on_behalf_of: onBehalfOf,
    upstream: {
      id: action.upstream.name,
      account: accountOf(action, agent.tenant),
      method,
      origin: action.upstream.origin,
      path: line,
      query: query === null ? [] : query.split('&').map(pair => {
        const [name, value] = cut(pair, '=')
        return [name, value ?? ''] as const
      }),
      headers: Object.entries(headers).sort(([one], [other]) => one < other ? -1 : 1),
      body_sha256: body === null ? null : hash('sha256', body, 'hex'),
    },
    target: target === null ? null : { type: target.type, id: target.id, version: target.version, version_kind: kindOf(target.version) },
    args,
    effect: action.effect,
    involves: action.involves,
    requirement,
    grant,
    shown_sha256,
    created_at,
    nonce,
  }
}

export const bindingText = (binding: Binding): string => canonicalText(binding as unknown as Json)

export const readBinding = (text: string): Binding => JSON.parse(text) as Binding

/** Why one that was approved is not the one of now; null where they are one. What says more about the cause comes first. */
export function whyDiffers (was: Binding, is: Binding): InvalidCause | null {
  const differs = (one: unknown, other: unknown): boolean => !isSame(one as Json, other as Json)
  if (differs(was.action, is.action)) return 'sheet_changed'
  if (differs([was.policy_sha256, was.requirement], [is.policy_sha256, is.requirement])) return 'policy_changed'
  if (differs(was.target, is.target)) return 'target_changed'
  return differs(was, is) ? 'request_changed' : null
}

/** The request as any attempt would make it. */
function withoutAttempt (request: WireRequest, { id, key }: AttemptView): WireRequest {
  const plain = (text: string): string => text.replaceAll(key, STAND_IN.key).replaceAll(id, STAND_IN.id)
  const body = request.body === null ? null : request.body.toString('latin1')
  // Made of the bytes of the body, and so another one with each key.
  const boundary = BOUNDARY.exec(request.headers['content-type'] ?? '')?.[1] ?? null
  const bounded = (text: string): string => boundary === null ? text : text.replaceAll(boundary, 'aval-')
  return {
    method: request.method,
    path: plain(request.path),
    headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, bounded(plain(value))])),
    body: body === null ? null : Buffer.from(bounded(plain(body)), 'latin1'),
  }
}

function accountOf (action: Action, tenant: string): string {
  const declared: CredentialDeclaration | null = action.upstream.credentials[action.write ? 'write' : 'read']
  return declared === null ? 'none' : declared.secret.replaceAll('{tenant}', tenant)
}

function kindOf (version: Json): 'etag' | 'revision' | 'none' {
  if (version === null) return 'none'
  return typeof version === 'string' && /^(W\/)?"/.test(version) ? 'etag' : 'revision'
}

function cut (text: string, mark: string): readonly [string, string | null] {
  const at = text.indexOf(mark)
  return at === -1 ? [text, null] : [text.slice(0, at), text.slice(at + 1)]
}
