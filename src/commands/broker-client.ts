// Asking a running broker over HTTP, as an agent would.
import { request } from 'undici'
import type { Envelope } from '../execution/envelope.ts'
import { CommandFault } from './command.ts'

/** Longer than the longest wait of a broker (`?wait=60s`). */
const ANSWER_TIMEOUT_MS = 70_000

export interface Question {
  readonly body?: string
  readonly idempotencyKey?: string
}

export interface BrokerClient {
  /** @throws CommandFault where no answer came, or one that is not Aval's */
  ask (method: 'GET' | 'POST', path: string, question?: Question): Promise<{ readonly status: number, readonly body: Envelope }>
}

/** @param url where agents are served, `http://127.0.0.1:8080` */
export function brokerClient (url: string, accessToken: string): BrokerClient {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw new CommandFault('--url must be an http or https URL')
  return {
    async ask (method, path, { body, idempotencyKey } = {}) {
      let answer: { readonly statusCode: number, readonly body: { text (): Promise<string> } }
      let text: string
      try {
        answer = await request(new URL(path, url), {
          method,
          headers: {
            authorization: `Bearer ${accessToken}`,
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
          },
          body: body ?? null,
          headersTimeout: ANSWER_TIMEOUT_MS,
          bodyTimeout: ANSWER_TIMEOUT_MS,
        })
        text = await answer.body.text()
      } catch (error) {
        // A write may have left all the same: the person is told that nothing is known, not that it failed.
        const { code, message } = error as NodeJS.ErrnoException
        throw new CommandFault(`no answer came from ${url} (${code ?? message}); what became of the call is not known`)
      }
      return { status: answer.statusCode, body: readEnvelope(text, answer.statusCode) }
    },
  }
}

/** An answer without the envelope proves nothing. */
function readEnvelope (text: string, status: number): Envelope {
  try {
    const value = JSON.parse(text) as Envelope | null
    if (typeof value?.ok === 'boolean' && typeof value.correlation_id === 'string') return value
  } catch {
    // Not JSON: the same as JSON that is no envelope.
  }
  throw new CommandFault(`the answer (${status}) is not one of Aval's, so it proves nothing`)
}
