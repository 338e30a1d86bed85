// `aval vault lock`, `unlock` and `status`: what the running broker, and every other replica on the same state, does with all agents at once.
import { askBroker } from './broker-control.ts'
import type { Ask, Command, ExitCode } from './command.ts'
import type { ControlCommand } from '../http/control.ts'
import { KEY_FLAGS, keyOfFlags, typedPassphrase } from './vault-key.ts'

const NOTE = { note: { type: 'string', value: 'TEXT', about: 'why; operators and the log are told' } } as const

export const vaultLock: Command = {
  name: 'vault lock',
  summary: 'Refuse every agent on every replica at once. Approvals and grants end. Exit code 1 where a replica does not confirm it.',
  usage: '[--note TEXT]',
  flags: NOTE,
  words: { min: 0, max: 0 },
  run: async ask => tell(ask, await asked(ask, { command: 'vault lock', note: noteOf(ask) })),
}

export const vaultUnlock: Command = {
  name: 'vault unlock',
  summary: 'Open the vault and let agents in again. What was approved before the lock stays void.',
  usage: '[--passphrase | --identity-file PATH | --passphrase-file PATH] [--note TEXT]',
  flags: { ...NOTE, ...KEY_FLAGS, passphrase: { type: 'boolean', about: 'ask for the passphrase; needed where the broker has no key of its own' } },
  words: { min: 0, max: 0 },
  async run (ask) {
    const key = await keyOfFlags(ask) ?? (ask.flags.on('passphrase') ? await typedPassphrase('passphrase of the vault: ') : null)
    return tell(ask, await asked(ask, { command: 'vault unlock', note: noteOf(ask), key }))
  },
}

export const vaultStatus: Command = {
  name: 'vault status',
  summary: 'Say whether the vault is locked, and which replicas do not go by that yet.',
  usage: '',
  flags: {},
  words: { min: 0, max: 0 },
  run: async ask => tell(ask, await asked(ask, { command: 'vault status' })),
}

interface Standing {
  readonly locked: boolean
  readonly epoch: number
  readonly waiting_for: readonly string[]
  /** `closed`: it waits for its key, and what it holds cannot be used. */
  readonly vault: 'none' | 'open' | 'closed'
  /** It was so before; absent where nothing was asked to change. */
  readonly already?: boolean
  /** Of what is locked, as far as that is kept. */
  readonly locked_by?: string
  readonly locked_at?: string
  readonly note?: string
}

const asked = async (ask: Ask, command: ControlCommand): Promise<Standing> => await askBroker(ask, command) as unknown as Standing
const noteOf = (ask: Ask): string => ask.flags.text('note')?.trim() || 'no reason was given'

function tell (ask: Ask, standing: Standing): ExitCode {
  const { locked, epoch, waiting_for: waiting } = standing
  if (ask.json) {
    ask.print(JSON.stringify(standing))
  } else {
    ask.tell(`the vault ${standing.already === true ? 'was' : 'is'} ${locked ? 'locked' : 'unlocked'}${standing.already === true ? ' already' : ''}, in epoch ${epoch}`)
    if (standing.locked_by !== undefined) ask.tell(`locked by ${standing.locked_by}, ${standing.locked_at}: ${standing.note}`)
    if (!locked && standing.vault === 'closed') ask.tell('the file of the vault is not opened here yet: aval vault unlock --passphrase')
    if (waiting.length > 0) ask.tell(`these replicas do not go by it yet: ${waiting.join(', ')}`)
  }
  return waiting.length === 0 ? 0 : 1
}
