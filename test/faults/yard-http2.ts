// The yard over TLS, in HTTP/2 for whoever offers it and in HTTP/1.1 for all others. In HTTP/2 it lies as only HTTP/2 can: it says of what it has
// done that it never took it up, which a client may take for leave to send it again.
import { createSecureServer, constants, type Http2SecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import { serverCertificate } from '../support/certificates.ts'
import type { Request, Said } from './yard.ts'

export type Lie = 'goaway, done' | 'refused stream, done'

export interface Serving {
  /** null: nobody's credential. Done once it stands in the ledger. */
  answer (request: Request, conn: number, then: (said: Said | null, lie: Lie | null) => void, canLie: boolean): void
}

export function createHttp2Yard (serving: Serving): Http2SecureServer {
  const server = createSecureServer({ ...serverCertificate('valid'), allowHTTP1: true })
  let connections = 0
  server.on('secureConnection', () => { connections += 1 })
  server.on('sessionError', () => {})
  server.on('request', (incoming: Http2ServerRequest, response: Http2ServerResponse) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => { chunks.push(chunk) })
    incoming.on('error', () => {})
    response.on('error', () => {})
    incoming.on('end', () => {
      const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]))
      const request: Request = { method: incoming.method, path: incoming.url, headers, body: Buffer.concat(chunks).toString() }
      serving.answer(request, connections, (said, lie) => {
        if (said === null) response.writeHead(401, { 'content-type': 'application/json' }).end('{}')
        else if (lie === null) response.writeHead(said.status, { 'content-type': 'application/json' }).end(JSON.stringify(said.body))
        else tell(lie, response)
      }, incoming.httpVersionMajor === 2)
    })
  })
  return server
}

function tell (lie: Lie, { stream }: Http2ServerResponse): void {
  if (lie === 'refused stream, done') {
    stream.close(constants.NGHTTP2_REFUSED_STREAM)
    return
  }
  // "Nothing after stream 0 was taken up."
  stream.session?.goaway(constants.NGHTTP2_NO_ERROR, 0)
  setTimeout(() => stream.session?.destroy(), 20)
}
