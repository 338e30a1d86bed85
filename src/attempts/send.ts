// One send to an upstream (the client tells it to the metrics); and one read, with the read credential, as facts, observations and look-ups make it.
import type { Bindings, RequestTemplate, Upstream } from '../catalog/catalog.ts'
import type { Clock } from '../clock.ts'
import { Refusal } from '../errors.ts'
import type { Credential, Credentials, CredentialUse } from '../credentials/credential.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { Reply, SendOptions, UpstreamClient, WireRequest } from '../upstream/wire.ts'

export interface SendPorts {
  readonly upstream: UpstreamClient
  readonly credentials: Credentials
  readonly telemetry: Telemetry
  readonly clock: Clock
}

export async function sendOnce (
  ports: SendPorts, upstream: Upstream, tenant: string, request: WireRequest, credential: Credential, use: CredentialUse, options: SendOptions
): Promise<Reply> {
  let authorised: WireRequest
  try {
    authorised = credential.apply(request)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // The vault was closed after it had been obtained, so nothing can leave; a call that is past its mark must be told that and not a fault.
    return { kind: 'unsent', cause: 'locked', durationMs: 0 }
  }
  const reply = await ports.upstream.send(upstream, authorised, options)
  // No storm of refused credentials: it rests, and calls meanwhile are answered without a send.
  if ('status' in reply && reply.status === 401) ports.credentials.refused(upstream, tenant, use)
  return reply
}

export interface ReadAsk {
  readonly upstream: Upstream
  readonly tenant: string
  readonly request: RequestTemplate
  readonly bindings: Bindings
  readonly timeoutMs: number
}

/** @throws ExpressionFault, Refusal INVALID_ARGUMENTS or CREDENTIAL_UNAVAILABLE: nothing was sent */
export async function readOnce (ask: ReadAsk, ports: SendPorts): Promise<Reply> {
  const { upstream, tenant } = ask
  const request = ports.upstream.build(upstream, ask.request.place(ask.bindings))
  const credential = await ports.credentials.obtain(upstream, tenant, 'read')
  return sendOnce(ports, upstream, tenant, request, credential, 'read', { kind: 'read', timeoutMs: ask.timeoutMs, sendByMs: null, attemptId: null })
}
