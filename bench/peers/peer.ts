// A server that makes MCP tools of an OpenAPI document, as its own README tells: `peer.ts NAME UPSTREAM_PORT DOCUMENT`.
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { listen, serveParent } from '../child.ts'

const [, , name, upstreamPort, document] = process.argv as unknown as [string, string, string, string, string]
const baseUrl = `http://127.0.0.1:${upstreamPort}/v1`
const key = process.env['BENCH_KEY'] ?? ''

const probe = createServer()
const port = await listen(probe)
await new Promise(resolve => probe.close(resolve))

/** Named by variables, because they are installed for this alone: types are looked for elsewhere. */
const modules = { fastmcp: 'fastmcp/openapi', ivotoby: './node_modules/@ivotoby/openapi-mcp-server/bin/mcp-server.js' }

if (name === 'fastmcp') {
  const { fromOpenAPI } = await import(modules.fastmcp)
  const server = await fromOpenAPI({ spec: document, baseUrl, headers: { 'X-Bench-Key': key } })
  await server.start({ transportType: 'httpStream', httpStream: { port, host: '127.0.0.1', stateless: true } })
} else {
  process.argv.splice(
    2, Number.POSITIVE_INFINITY, '--transport', 'http', '--port', String(port), '--host', '127.0.0.1', '--api-base-url', baseUrl,
    '--openapi-spec', document, '--headers', `X-Bench-Key:${key}`,
  )
  await import(modules.ivotoby)
}

for (let tries = 0; tries < 200; tries++) {
  const open = await new Promise<boolean>(resolve => {
    const socket = connect(port, '127.0.0.1', () => { socket.end(); resolve(true) }).once('error', () => resolve(false))
  })
  if (open) break
  await new Promise(resolve => setTimeout(resolve, 50))
}
serveParent(port, () => {})
