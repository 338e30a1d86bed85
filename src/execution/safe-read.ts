// Sends that are safe to repeat are repeated: two more tries inside one time-out where nothing usable came back.
import { readOnce, type ReadAsk, type SendPorts } from '../attempts/send.ts'
import type { LostCause, Reply } from '../upstream/wire.ts'

const TRIES = 3
const PAUSE_MS = 100
const LASTING: ReadonlySet<LostCause> = new Set(['address_refused', 'tls', 'too_large', 'shutting_down', 'locked'])

export async function safeRead (actionId: string, ask: ReadAsk, ports: SendPorts): Promise<Reply> {
  return repeatSafely(actionId, ask.timeoutMs, ports, timeoutMs => readOnce({ ...ask, timeoutMs }, ports))
}

export async function repeatSafely (
  actionId: string, timeoutMs: number, ports: SendPorts, send: (timeoutMs: number) => Promise<Reply>
): Promise<Reply> {
  const endsAtMs = ports.clock.nowMs() + timeoutMs
  let reply = await send(timeoutMs)
  for (let tries = 1; tries < TRIES && isWorthAsking(reply); tries++) {
    await ports.clock.sleep(PAUSE_MS * tries)
    const leftMs = endsAtMs - ports.clock.nowMs()
    if (leftMs < PAUSE_MS) break
    ports.telemetry.retried({ actionId, retry: 'safe' })
    reply = await send(leftMs)
  }
  return reply
}

/** Faults of the way or of the moment; an address that may not be dialled stays one. */
function isWorthAsking (reply: Reply): boolean {
  if (reply.kind === 'answer') return reply.status === 408 || reply.status >= 500
  return !LASTING.has(reply.cause)
}
