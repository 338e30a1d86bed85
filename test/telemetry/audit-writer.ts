// A process that writes intents as fast as it can and says which ones are durable, until it is killed.
import { openAudit } from '../../src/telemetry/audit.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { intentEvent } from './events.ts'

const audit = await openAudit({ folder: process.argv[2]!, keyId: 'hmac-1', metrics: createMetrics().audit, onFault: () => {} })
for (let index = 0; ; index += 1) {
  const id = `att_${index}`
  await audit.intent(intentEvent(id))
  process.send!(id)
}
