// Asking the broker of this machine over its control socket.
import type { Json } from '../catalog/catalog.ts'
import { readLocalConfig } from '../config.ts'
import { askControl, ControlUnavailable, type ControlAnswer, type ControlCommand } from '../http/control.ts'
import { CommandFault, type Ask } from './command.ts'

/** @throws CommandFault where no broker answers, ConfigFaults */
export async function tellBroker (ask: Pick<Ask, 'env'>, command: ControlCommand): Promise<ControlAnswer> {
  try {
    return await askControl(readLocalConfig(ask.env).controlPath, command)
  } catch (error) {
    if (error instanceof ControlUnavailable) throw new CommandFault(error.message)
    throw error
  }
}

/** @throws CommandFault also where the broker refused */
export async function askBroker (ask: Pick<Ask, 'env'>, command: ControlCommand): Promise<Json> {
  const answer = await tellBroker(ask, command)
  if (!answer.ok) throw new CommandFault(`${answer.error.code}: ${answer.error.message}`)
  return answer.result
}
