// What commands print may hold text of upstreams, agents and documents: as results, as references, in the faults of sheets.
import { escapeForTerminal } from '../telemetry/visible.ts'

/** The same, with every line made safe: nothing in it moves the cursor, colours or reorders what is read. */
export function safely<Io extends { print (text: string): unknown, tell (text: string): unknown }> (io: Io): Io {
  return { ...io, print: (text: string) => io.print(escapeForTerminal(text)), tell: (text: string) => io.tell(escapeForTerminal(text)) }
}
