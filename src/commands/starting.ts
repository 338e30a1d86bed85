// Why a broker does not start, for the person who started it.
import { CatalogFaults } from '../catalog/catalog.ts'
import { ConfigFaults } from '../config.ts'
import { CommandFault, type Ask } from './command.ts'

/** Faults of our own code keep their stack, and these two are told by cli.ts; whatever else stands in the way is one line. */
const KEPT = [TypeError, RangeError, ReferenceError, SyntaxError, ConfigFaults, CommandFault]

/** @throws CommandFault, ConfigFaults */
export async function started<Value> (ask: Pick<Ask, 'tell'>, start: () => Promise<Value>): Promise<Value> {
  try {
    return await start()
  } catch (error) {
    if (error instanceof CatalogFaults) {
      ask.tell(error.message)
      throw new CommandFault(`the catalog has ${error.faults.length} ${error.faults.length === 1 ? 'fault' : 'faults'}; nothing was started`)
    }
    if (!(error instanceof Error) || KEPT.some(kind => error instanceof kind)) throw error
    throw new CommandFault(error.message)
  }
}
