// The body of a request, read only when somebody asks for it: that is after the access token was verified.
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { Refusal } from '../errors.ts'

export const BODY_BYTES_MAX = 64 * 1024

// RFC 9110 §8.3.1: type and parameter names are case-insensitive. Nothing but UTF-8 is JSON here, whatever a parameter says.
const JSON_TYPE = /^application\/json(?:; ?charset=(?:utf-8|"utf-8"))?$/i

export interface BodyLimits {
  readonly bytesMax: number
  /** What the media type must be; absent: JSON. */
  readonly type?: RegExp
}

/**
 * All bytes of the body. Ends with whatever ends the connection (the listener's request timeout among them); past the limit it reads no further.
 * @throws Refusal UNSUPPORTED_MEDIA_TYPE, TOO_LARGE, or MALFORMED_REQUEST where the body ended early
 */
export async function readBody (stream: Readable, headers: IncomingHttpHeaders, limits: BodyLimits): Promise<Buffer> {
  if (headers['content-encoding'] !== undefined || !(limits.type ?? JSON_TYPE).test(headers['content-type'] ?? '')) throw Refusal.of('UNSUPPORTED_MEDIA_TYPE')
  const tooLarge = (): Refusal => Refusal.of('TOO_LARGE', { hint: `At most ${limits.bytesMax} bytes.` })
  if (Number(headers['content-length'] ?? 0) > limits.bytesMax) throw tooLarge()

  const arrived = takeArrived(stream)
  if (arrived !== null) {
    if (arrived.length > limits.bytesMax) throw tooLarge()
    return arrived
  }
  return collect(stream, limits.bytesMax, tooLarge)
}

function collect (stream: Readable, bytesMax: number, tooLarge: () => Refusal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const settle = (end: () => void): void => {
      stream.off('data', onData).off('end', onEnd).off('error', onLost).off('close', onLost)
      end()
    }
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      if (size <= bytesMax) {
        chunks.push(chunk)
        return
      }
      stream.pause()
      settle(() => { reject(tooLarge()) })
    }
    const onEnd = (): void => { settle(() => { resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)) }) }
    const onLost = (): void => { settle(() => { reject(Refusal.of('MALFORMED_REQUEST', { rule: 'body_incomplete' })) }) }
    if (stream.destroyed) {
      onLost()
      return
    }
    stream.on('data', onData).on('end', onEnd).on('error', onLost).on('close', onLost)
  })
}

/** The whole body where it is here already, as a small one is; null where it must be waited for. */
function takeArrived (stream: Readable & { readonly complete?: boolean }): Buffer | null {
  return stream.complete === true && !stream.destroyed && !stream.readableEnded ? stream.read() as Buffer | null : null
}
