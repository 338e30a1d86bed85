// Step 12: the one send. Before it the attempt is durably marked as dispatched and the intent stands on disk in the audit; whether a byte left is
// decided by the client's sendHeaders channel alone.
import { SEND_WINDOW_MS, unsent, type AttemptRecord } from '../attempts/attempt.ts'
import { sha256Hex } from '../attempts/identity.ts'
import { sendOnce } from '../attempts/send.ts'
import { Refusal } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import type { LostCause, Reply } from '../upstream/wire.ts'
import type { Authorised } from './credential.ts'
import type { CallRecord } from './record.ts'
import type { Reserved } from './reserve.ts'
import { repeatSafely } from './safe-read.ts'
import type { Services } from './services.ts'
import { closeUnsent } from './write-down.ts'
import { messageOf, timedState } from './state.ts'

/** What came back, and for a write the attempt as it is durable. */
export interface Sent {
  readonly reserved: Reserved
  readonly attempt: AttemptRecord | null
  readonly reply: Reply
}

export async function dispatch (authorised: Authorised, record: CallRecord, services: Services): Promise<Sent> {
  const { reserved } = authorised
  if (services.draining()) {
    await closeUnsent(reserved.attempt, unsent('SHUTTING_DOWN', 'The broker was shutting down; nothing was sent.', true), services)
    throw Refusal.of('SHUTTING_DOWN', { retryAfterSeconds: 1 })
  }
  const sent = reserved.attempt === null
    ? { reserved, attempt: null, reply: await observe(authorised, services) }
    : await write(authorised, reserved.attempt, record, services)
  record.upstreamAnswered(sent.reply)
  await services.clock.endOfTurn()
  return sent
}

function observe (authorised: Authorised, services: Services): Promise<Reply> {
  const { reserved, credential } = authorised
  const { action, call } = reserved.facts.scoped.valid.capable
  const send = (timeoutMs: number): Promise<Reply> =>
    sendOnce(services, action.upstream, call.caller.tenant, reserved.request, credential, 'read',
      { kind: 'read', timeoutMs, sendByMs: null, attemptId: null, epoch: reserved.epoch })
  // Only the sheet knows whether asking twice is harmless: a GET can count, bill or mark as read.
  return action.retry === 'safe' ? repeatSafely(action.id, action.limits.timeoutMs, services, send) : send(action.limits.timeoutMs)
}

async function write (authorised: Authorised, attempt: AttemptRecord, record: CallRecord, services: Services): Promise<Sent> {
  const { reserved, credential } = authorised
  const { action, call } = reserved.facts.scoped.valid.capable
  const { clock } = services
  // The window opens before the store is asked, so that a slow reply of the store can only shorten it.
  const sendByMs = clock.nowMs() + SEND_WINDOW_MS
  await failpoint('before_mark')
  const marked = await mark(reserved, attempt, record, services)
  await failpoint('after_mark')
  // Where the store has lost the attempt, a repeat may have begun it anew: a mark under another token is no leave to send, nor ours to close.
  if (marked.token !== attempt.token) throw endedBeforeDispatch(marked)
  if (marked.state !== 'dispatched') return closeUndispatched(marked, services)
  const send = (): Promise<Reply> => sendOnce(services, action.upstream, call.caller.tenant, reserved.request, credential, 'write',
    { kind: 'write', timeoutMs: action.limits.timeoutMs, sendByMs, attemptId: attempt.id, epoch: reserved.epoch })
  await failpoint('before_send')
  let reply = await send()
  for (let pauseMs = 100; reply.kind === 'unsent' && isOfTheMoment(reply) && clock.nowMs() + pauseMs < sendByMs; pauseMs *= 3) {
    await clock.sleep(pauseMs)
    services.telemetry.retried({ actionId: action.id, retry: 'unsent' })
    reply = await send()
  }
  await failpoint('after_send')
  return { reserved, attempt: marked, reply }
}

/**
 * The durable mark and the intent, both or no send. Nothing has been sent when this throws, and nothing will be under this token: it asks for the
 * attempt to be closed as unsent, and a token that ever did so never dispatches.
 */
async function mark (reserved: Reserved, attempt: AttemptRecord, record: CallRecord, services: Services): Promise<AttemptRecord> {
  record.marking()
  record.willSend(requestMark(reserved, services))
  const [advanced, intent] = await Promise.allSettled([
    timedState(services, 'dispatch', () => services.store.advance(attempt, { type: 'dispatch', token: attempt.token })),
    services.telemetry.intent(record.intent(attempt)),
  ])
  if (advanced.status === 'fulfilled' && intent.status === 'fulfilled') {
    if (advanced.value.kind !== 'missing') {
      record.marked()
      return advanced.value.record
    }
    services.telemetry.integrity({ attemptId: attempt.id, what: 'foreign_record' })
  }
  const why = advanced.status === 'rejected' ? advanced.reason : intent.status === 'rejected' ? intent.reason : 'the record is gone'
  const refusal = Refusal.of('STATE_UNAVAILABLE', { retryAfterSeconds: 1, internal: `dispatch: ${messageOf(why)}` })
  await closeUnsent(attempt, unsent(refusal.code, refusal.message, true), services)
  record.provedUnsent()
  throw refusal
}

/**
 * Somebody else was faster than the mark: a cancel or the sweeper closed it, or the sweeper met a mark whose reply took too long. Only this call could
 * have sent it, and it did not.
 */
async function closeUndispatched (marked: AttemptRecord, services: Services): Promise<never> {
  const refusal = endedBeforeDispatch(marked)
  if (marked.state !== 'settled') await closeUnsent(marked, unsent(refusal.code, refusal.message, true), services)
  throw refusal
}

/** Method, path and body, without the credential. */
function requestMark (reserved: Reserved, services: Services): string {
  const { method, path, body } = reserved.request
  return services.identity.mark('request', method, path, body === null ? null : sha256Hex(body))
}

function endedBeforeDispatch (attempt: AttemptRecord): Refusal {
  const cancelled = attempt.settlement?.code === 'CANCELLED'
  return Refusal.of(cancelled ? 'CANCELLED' : 'STATE_UNAVAILABLE', cancelled ? {} : { retryAfterSeconds: 1, internal: `attempt is ${attempt.state}` })
}

const OF_THE_MOMENT: ReadonlySet<LostCause> = new Set(['refused', 'reset', 'closed', 'connect_timeout', 'unresolved_name'])

function isOfTheMoment (reply: Extract<Reply, { kind: 'unsent' }>): boolean {
  return OF_THE_MOMENT.has(reply.cause)
}
