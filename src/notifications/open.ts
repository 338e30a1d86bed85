// The notifier of a broker: endpoints of the file, their secrets looked at once, so that a wrong one is known at start.
import type { CheckedCredentials } from '../credentials/credentials.ts'
import { createNoticePoster } from '../upstream/notice-post.ts'
import { readEndpoints } from './endpoints.ts'
import { createNotifier, type Notifier, type NotifierOptions } from './notifier.ts'

export interface OpenNotifierOptions extends Pick<NotifierOptions, 'origin' | 'clock' | 'told' | 'note'> {
  readonly path: string
  readonly credentials: Pick<CheckedCredentials, 'signer'>
}

/** @throws EndpointFaults; an Error where a secret cannot be had */
export async function openNotifier ({ path, credentials, ...options }: OpenNotifierOptions): Promise<Notifier> {
  const endpoints = (await readEndpoints(path)).map(endpoint => ({ endpoint, signer: credentials.signer(endpoint.secrets) }))
  for (const { endpoint, signer } of endpoints) {
    const fault = await signer.fault()
    if (fault !== null) throw new Error(`the notices to ${endpoint.url.host} cannot be signed: ${fault}`)
  }
  return createNotifier({ ...options, endpoints, poster: createNoticePoster(), now: () => new Date() })
}
