// One send to an upstream (the client tells it to the metrics); and one read, with the read credential, as facts, observations and look-ups make it.
import type { Bindings, RequestTemplate, Upstream } from '../catalog/catalog.ts'
import type { Credential, Credentials, CredentialUse } from '../credentials/credential.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { Reply, SendOptions, UpstreamClient, WireRequest } from '../upstream/wire.ts'

export interface SendPorts {
  readonly upstream: UpstreamClient
  readonly credentials: Credentials
  readonly telemetry: Telemetry
}

export async function sendOnce (
  ports: SendPorts, upstream: Upstream, tenant: string, request: WireRequest, credential: Credential, use: CredentialUse, options: SendOptions
): Promise<Reply> {
  const reply = await ports.upstream.send(upstream, credential.apply(request), options)
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
