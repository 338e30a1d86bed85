// The limit of the runtime: node:http in, undici's dispatch out, and nothing between them but the copying of bytes.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { Pool, type Dispatcher } from 'undici'
import { listen, serveParent } from './child.ts'

const pool = new Pool(`http://127.0.0.1:${process.argv[2]}`, { connections: 64, pipelining: 1 })

class Forwarding implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse

  constructor (response: ServerResponse) {
    this.#response = response
  }

  onRequestStart (): void {}

  onResponseStart (_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#response.writeHead(status, { 'content-type': headers['content-type'], 'content-length': headers['content-length'] })
  }

  onResponseData (_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#response.write(chunk)
  }

  onResponseEnd (): void {
    this.#response.end()
  }

  onResponseError (): void {
    this.#response.writeHead(502).end()
  }
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
    pool.dispatch({ method: 'POST', path: request.url!, headers: { 'content-type': 'application/json' }, body }, new Forwarding(response))
  })
})

serveParent(await listen(server), () => { server.closeAllConnections() })
