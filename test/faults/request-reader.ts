// Requests from the bytes of one connection; only what the broker's own client sends is understood (a Content-Length or no body).
import type { Request } from './yard.ts'

export class RequestReader {
  readonly #whole: (request: Request) => void
  #pending: Buffer = Buffer.alloc(0)

  constructor (whole: (request: Request) => void) {
    this.#whole = whole
  }

  take (data: Buffer): void {
    this.#pending = this.#pending.length === 0 ? data : Buffer.concat([this.#pending, data])
    for (;;) {
      const end = this.#pending.indexOf('\r\n\r\n')
      if (end === -1) return
      const { method, path, headers } = readHead(this.#pending.toString('latin1', 0, end))
      const from = end + 4
      const length = Number(headers['content-length'] ?? 0)
      if (this.#pending.length < from + length) return
      const body = this.#pending.toString('utf8', from, from + length)
      this.#pending = this.#pending.subarray(from + length)
      this.#whole({ method, path, headers, body })
    }
  }

  /** What is there of a write that never became whole. */
  unfinished (): { readonly attempt: string | null, readonly bytes: number } | null {
    if (this.#pending.length === 0) return null
    const text = this.#pending.toString('latin1')
    if (text.startsWith('GET ')) return null
    return { attempt: /^x-attempt: *(\S+)\r$/im.exec(text)?.[1] ?? null, bytes: this.#pending.length }
  }
}

function readHead (text: string): Omit<Request, 'body'> {
  const [requestLine = '', ...lines] = text.split('\r\n')
  const [method = '', path = ''] = requestLine.split(' ')
  const headers: { [name: string]: string } = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  return { method, path, headers }
}
