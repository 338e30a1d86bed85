// A client that cannot be given an access token speaks to this, which adds it and passes everything else on as it is, Host and Origin too.
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface BearerProxy {
  readonly url: string
  close (): Promise<void>
}

export async function startBearerProxy (target: string, token: string): Promise<BearerProxy> {
  const { hostname, port } = new URL(target)
  const server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${token}` }
    const onward = request({ hostname, port, method: incoming.method, path: incoming.url, headers }, answer => {
      outgoing.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close () {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
