// A question that waits ends when nobody hears its answer any more, and when the listener closes.
import type { FastifyReply } from 'fastify'

export async function whileAwaited<Value> (reply: FastifyReply, closing: AbortSignal, work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
  const nobody = new AbortController()
  const abort = (): void => { nobody.abort() }
  reply.raw.once('close', abort)
  closing.addEventListener('abort', abort, { once: true })
  if (closing.aborted) abort()
  try {
    return await work(nobody.signal)
  } finally {
    reply.raw.off('close', abort)
    closing.removeEventListener('abort', abort)
  }
}
