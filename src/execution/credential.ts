// Step 11: the credential, chosen by upstream, tenant and use; never by anything that the agent sent.
import type { Credential } from '../credentials/credential.ts'
import type { Reserved } from './reserve.ts'
import type { Services } from './services.ts'
import { Refusal } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { closeUnsent } from './write-down.ts'
import { unsent } from '../attempts/attempt.ts'

/** A reserved request with what authorises it upstream. */
export interface Authorised {
  readonly reserved: Reserved
  readonly credential: Credential
}

export async function obtainCredential (reserved: Reserved, services: Services): Promise<Authorised> {
  const { action, call } = reserved.facts.scoped.valid.capable
  try {
    if (action.write) await failpoint('before_credential')
    const credential = await services.credentials.obtain(action.upstream, call.caller.tenant, action.write ? 'write' : 'read')
    if (action.write) await failpoint('after_credential')
    return { reserved, credential }
  } catch (error) {
    const refusal = error instanceof Refusal ? error : Refusal.of('CREDENTIAL_UNAVAILABLE')
    await closeUnsent(reserved.attempt, unsent(refusal.code, refusal.message, true), services)
    throw refusal
  }
}
