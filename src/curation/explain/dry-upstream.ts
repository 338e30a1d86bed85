// The upstream of a dry run: it builds requests as they would be, sends none, and answers reads with what it was given.
import type { Action, Json } from '../../catalog/catalog.ts'
import { isJson } from '../../catalog/variables.ts'
import { responseFor, type Operation } from '../../catalog/openapi/operation.ts'
import type { Reply, UpstreamClient, WireRequest } from '../../upstream/wire.ts'

/** A read that nobody gave an answer to. */
export class ReadNeeded extends Error {
  override readonly name = 'ReadNeeded'
  readonly read: string
  readonly request: WireRequest
  constructor (read: string, request: WireRequest) {
    super(`the read ${read} has to be answered first`)
    this.read = read
    this.request = request
  }
}

export interface GivenAnswer {
  readonly status: number
  readonly body: Json
}

/** @param given by the name of the read */
export function dryUpstream (action: Action, build: UpstreamClient['build'], given: ReadonlyMap<string, GivenAnswer>): UpstreamClient {
  // Reads come in their order, each once: one that is answered so that it would be asked again is answered the same again.
  let asked = 0
  return {
    build,
    async send (_upstream, request) {
      const read = action.reads[asked]
      if (read === undefined) throw new Error('a dry run sends nothing')
      const answer = given.get(read.name)
      if (answer === undefined) throw new ReadNeeded(read.name, request)
      if (answer.status < 500 && answer.status !== 408) asked += 1
      return replyOf(read.request.operation, answer)
    },
    enter: async () => () => {},
    close: async () => {},
  }
}

function replyOf (operation: Operation, { status, body }: GivenAnswer): Reply {
  const declared = [...responseFor(operation, status)?.content.keys() ?? []].find(isJson)
  const text = Buffer.from(JSON.stringify(body))
  return { kind: 'answer', status, headers: { 'content-type': declared ?? 'application/json' }, body: text, durationMs: 0 }
}
