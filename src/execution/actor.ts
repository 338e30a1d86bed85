// Who acts, for audit and log: a caller's names as HMACs.
import type { Actor } from '../telemetry/telemetry.ts'
import type { Caller } from './call.ts'
import type { Services } from './services.ts'

/** A caller is made once a token, and so are its marks. */
const actors = new WeakMap<Caller, Actor>()

export function actorOf (caller: Caller, services: Pick<Services, 'identity'>): Actor {
  let actor = actors.get(caller)
  if (actor === undefined) {
    const { iss, sub, tenant, run } = caller
    const runMark = run === null ? null : services.identity.mark('run', iss, sub, tenant, run)
    actor = { kind: 'agent', iss, tenant, subMark: services.identity.mark('sub', iss, sub), runMark }
    actors.set(caller, actor)
  }
  return actor
}
