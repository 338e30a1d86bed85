// Some servers answer a POST with 202 and send the answer down another connection, a GET that stays open. This reads that one, so that the load generator
// can take the moment at which the answer is there.
import { Client } from 'undici'

export interface AnswerStream {
  /** Called with the text of each message. */
  onMessage: (text: string) => void
  close (): Promise<void>
}

/** The head of such an answer may come with its first message only, so it is not waited for. */
const OPENING_MS = 300

export async function openAnswerStream (port: number, path: string, headers: Readonly<Record<string, string>>): Promise<AnswerStream> {
  const client = new Client(`http://127.0.0.1:${port}`, { bodyTimeout: 0, headersTimeout: 0 })
  const stream: AnswerStream = { onMessage: () => {}, close: () => client.destroy() }
  let rest = ''
  client.request({ method: 'GET', path, headers: { ...headers, accept: 'text/event-stream' } }).then(({ body }) => {
    body.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString('latin1')).split('\n')
      rest = lines.pop()!
      for (const line of lines) if (line.startsWith('data: {')) stream.onMessage(line.slice('data: '.length))
    })
    body.on('error', () => {})
  }, () => {})
  await new Promise(resolve => setTimeout(resolve, OPENING_MS))
  return stream
}
