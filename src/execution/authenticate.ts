// Step 1: who calls. The token is verified before the body is read. A surface answers a refusal of this step with 401 and `WWW-Authenticate: Bearer`
// (RFC 6750 §3), the same body whatever was wrong. While the vault is locked it ends here for everyone, whatever was asked; whoever has no token is
// not told that.
import { Refusal } from '../errors.ts'
import { actorOf } from './actor.ts'
import type { Ask } from './answering.ts'
import type { Caller } from './call.ts'
import { requireUnlocked } from './lock.ts'
import type { Services } from './services.ts'

/** Whose token it is, and nothing more. @throws Refusal UNAUTHENTICATED or ROLE_CONFLICT */
export async function identify (ask: Pick<Ask, 'authorization'>, services: Pick<Services, 'verifier'>): Promise<Caller> {
  return services.verifier.remembered(ask.authorization) ?? services.verifier.verify(ask.authorization)
}

/**
 * @param record of a call, which tells of its own refusal; whatever else is refused by the lock is told here
 * @throws Refusal UNAUTHENTICATED, ROLE_CONFLICT, VAULT_LOCKED, or STATE_UNAVAILABLE where that cannot be known
 */
export async function authenticate (ask: Ask, services: Ports, record: Recording | null = null): Promise<Caller> {
  const caller = await identify(ask, services)
  record?.identified(caller)
  try {
    await requireUnlocked(services)
    return caller
  } catch (error) {
    if (record === null && error instanceof Refusal && error.code === 'VAULT_LOCKED') {
      services.telemetry.lockedOut({ actor: actorOf(caller, services), correlationId: ask.correlationId })
    }
    throw error
  }
}

type Ports = Pick<Services, 'verifier' | 'lock' | 'telemetry' | 'clock' | 'identity'>

interface Recording {
  identified (caller: Caller): void
}
