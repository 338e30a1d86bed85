// `aval audit verify`: whether an audit folder is as it was written, offline.
import { auditExitCode, auditJson, AuditUnreadable, describeAudit, verifyAudit, type AuditReport } from './audit.ts'
import { CommandFault, type Ask, type Command, type ExitCode } from './command.ts'

export const auditVerify: Command = {
  name: 'audit verify',
  summary: 'Verify an audit folder offline. Exit code 1 where a row was changed or is missing, or a write has no end.',
  usage: 'FOLDER [--pubkey FILE] [--checkpoints FILE]',
  flags: {
    pubkey: { type: 'string', value: 'FILE', about: 'the public key in PEM that signs checkpoints, kept elsewhere' },
    checkpoints: { type: 'string', value: 'FILE', about: 'checkpoints kept elsewhere: they prove that the folder was not rolled back' },
  },
  words: { min: 1, max: 1 },
  run,
}

async function run (ask: Ask): Promise<ExitCode> {
  const report = await verified(ask)
  if (ask.json) ask.print(auditJson(report))
  else for (const line of describeAudit(report)) ask.print(line)
  return auditExitCode(report)
}

async function verified (ask: Ask): Promise<AuditReport> {
  const publicKeyFile = ask.flags.text('pubkey')
  const checkpointsFile = ask.flags.text('checkpoints')
  try {
    return await verifyAudit(ask.words[0]!, {
      ...(publicKeyFile !== null && { publicKeyFile }),
      ...(checkpointsFile !== null && { checkpointsFile }),
    })
  } catch (error) {
    if (error instanceof AuditUnreadable) throw new CommandFault(error.message)
    throw error
  }
}
