// The catalog of a rehearsal: the same actions, in front of the recording upstream. What differs is where requests go, with which credential, how
// many at once, and that a person's yes is taken as given; whatever else decides about a call is the action itself.
import type { Action, Catalog, CredentialDeclaration, Upstream } from '../../catalog/catalog.ts'

/** Of every access token of a rehearsal; it grants all actions. */
export const REHEARSAL_ROLE = 'aval_rehearsal'
/** Variables that hold the secrets which the recording upstream gets. */
export const REHEARSAL_SECRETS = { read: 'REHEARSAL_READ_SECRET', write: 'REHEARSAL_WRITE_SECRET' } as const

export interface Rehearsing {
  /** Of the recorder. */
  readonly origin: string
  /** `given`: actions that need a person are served as if that person had said yes; `asked`: as they are. */
  readonly consent: 'given' | 'asked'
  /** `ignored`: a version whose time is over is served like any other. */
  readonly sunset: 'kept' | 'ignored'
}

export function rehearsed (catalog: Catalog, { origin, consent, sunset }: Rehearsing): Catalog {
  const upstreams = new Map([...catalog.upstreams].map(([name, upstream]) => [name, redirected(upstream, origin)]))
  const actions = new Map([...catalog.actions].map(([id, action]): [string, Action] => [id, Object.freeze({
    ...action,
    upstream: upstreams.get(action.upstream.name)!,
    consent: consent === 'given' ? 'none' : action.consent,
    sunset: sunset === 'kept' ? action.sunset : null,
  })]))
  const all = new Set(actions.keys())
  const roles = new Map([...catalog.roles, [REHEARSAL_ROLE, { name: REHEARSAL_ROLE, actions: all, core: all }]])
  // Definitions are for a broker that comes later, and none does.
  return Object.freeze({ ...catalog, actions, upstreams, roles, definitions: new Map() })
}

function redirected (upstream: Upstream, origin: string): Upstream {
  const { read, write } = upstream.credentials
  return Object.freeze({
    ...upstream,
    origin,
    basePath: `/${upstream.name}${upstream.basePath}`,
    networks: ['loopback'],
    credentials: { read: own(read, 'read'), write: own(write, 'write') },
    // Limits of a process are not what is rehearsed, and would only make it slow.
    limits: { concurrency: 64, perSecond: null, tenantShare: 1 },
  })
}

function own (declared: CredentialDeclaration | null, use: 'read' | 'write'): CredentialDeclaration | null {
  return declared === null ? null : Object.freeze({ ...declared, secret: `env:${REHEARSAL_SECRETS[use]}` })
}
