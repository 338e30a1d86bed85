// What the commands that start a broker need of it; main.ts gives it.
import type { Catalog } from '../catalog/catalog.ts'
import type { People } from '../execution/people.ts'
import type { McpOptions } from '../mcp/endpoint.ts'
import type { EmbeddedOptions } from '../store/sqlite.ts'
import type { Store } from '../store/store.ts'

export interface BrokerOptions {
  /** Believe access tokens signed by a demo key, which `serve` never does. */
  readonly demo?: boolean
  /** What is served in place of the sheets of the folders: how they are tried against an upstream of the trial's own. `serve` never gives it. */
  readonly catalog?: () => Promise<Catalog>
  /** Who can be asked for a yes, in the place of the people listener; whoever is told of the store can decide through it. null: as it is configured. */
  readonly people?: (store: Store) => People | null
  /** Of an embedded store that is gone when the broker ends, and for whoever lives through hours in a moment. `serve` never gives it. */
  readonly embedded?: EmbeddedOptions
  /** What the MCP endpoint does otherwise than it is built to, for those who put it to the test. */
  readonly mcp?: Pick<McpOptions, 'extend' | 'answerWithinMs'>
}

export interface Broker {
  /** `http://127.0.0.1:8080`, with the port that was really taken. */
  readonly agentsUrl: string
  readonly operationsUrl: string
  /** null: there is no people listener. */
  readonly peopleUrl: string | null
  readonly controlPath: string
  /** Reads sheets and documents anew. @throws CatalogFaults; the catalog in force stays */
  reload (): Promise<unknown>
  /** Takes no new calls, finishes what is under way, then ends. */
  close (): Promise<void>
}
