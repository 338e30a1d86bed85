// The exact request for people. What only an attempt has, its key and its id, is not made yet, and the words for that stand where the stand-ins do.
import type { JsonObject } from '../catalog/catalog.ts'
import { STAND_IN } from './binding.ts'
import type { Shown } from './proposal.ts'

const LATER = '(made when it is sent)'

/** @param args of the call; where they hold a stand-in themselves everything is shown as it is, so that no agent can write our words */
export function requestView ({ request }: Pick<Shown, 'request'>, args: JsonObject): Shown['request'] {
  const said = JSON.stringify(args)
  const plain = (text: string): string =>
    [STAND_IN.key, STAND_IN.id].reduce((shown, standIn) => said.includes(standIn) ? shown : shown.replaceAll(standIn, LATER), text)
  return {
    method: request.method,
    url: plain(request.url),
    headers: Object.fromEntries(Object.entries(request.headers).map(([name, text]) => [name, plain(text)])),
    body: request.body === null ? null : plain(request.body),
  }
}
