// What the commands that start a broker need of it; main.ts gives it.

export interface BrokerOptions {
  /** Believe access tokens signed by a demo key, which `serve` never does. */
  readonly demo?: boolean
}

export interface Broker {
  /** `http://127.0.0.1:8080`, with the port that was really taken. */
  readonly agentsUrl: string
  readonly operationsUrl: string
  readonly controlPath: string
  /** Reads sheets and documents anew. @throws CatalogFaults; the catalog in force stays */
  reload (): Promise<unknown>
  /** Takes no new calls, finishes what is under way, then ends. */
  close (): Promise<void>
}
