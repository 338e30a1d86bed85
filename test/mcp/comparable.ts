// What an answer says apart from the face that said it: ids, which each broker makes anew, are numbered as they come, moments are all one and so are the
// marks of what is kept from people, the id of the request is left out, and what to ask next is the same whether it is a path or a tool.
import { REDACTED } from '../../src/consent/redact.ts'
import { ATTEMPT_TOOL, PROPOSAL_TOOLS } from '../../src/mcp/tool-result.ts'
import { toolNameOf } from '../../src/tools/tool-name.ts'

const ID = /\b(att|prop)_[A-Za-z0-9_-]+/g
const MOMENT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g
/** What is left of some minutes is not the same a moment later. */
const MINUTES_LEFT = /(?<="retry_after_seconds":)\d{3,}/g

/** The answers of one broker, in the order in which they were given. */
export class Comparing {
  readonly #ids: string[] = []

  comparable ({ correlation_id: _request, next, ...rest }: any): any {
    const text = JSON.stringify({ ...rest, next: next === undefined ? null : { asks: asks(next), after_seconds: next.after_seconds } })
    return JSON.parse(text.replaceAll(ID, (id, kind) => `${kind} ${this.#place(id)}`).replaceAll(MOMENT, 'a moment').replaceAll(MINUTES_LEFT, '"a while"').replaceAll(REDACTED, 'a mark'))
  }

  #place (id: string): number {
    if (!this.#ids.includes(id)) this.#ids.push(id)
    return this.#ids.indexOf(id)
  }
}

/** A path as the tool that stands for it. The arguments of a call that is to be made again are those that were sent. */
function asks ({ path, tool, arguments: args }: any): string {
  if (path === undefined) return [tool, ...Object.values(args ?? {})].join(' ')
  const [, , room, id, commit] = path.split('/')
  switch (room) {
    case 'actions': return toolNameOf(id)
    case 'attempts': return `${ATTEMPT_TOOL} ${id}`
    default: return `${commit === undefined ? PROPOSAL_TOOLS.get : PROPOSAL_TOOLS.commit} ${id}`
  }
}
