// What a platform team would take if it only wanted to forward: @fastify/http-proxy with its defaults.
import Fastify from 'fastify'
import proxy from '@fastify/http-proxy'
import type { AddressInfo } from 'node:net'
import { serveParent } from './child.ts'

const app = Fastify({ logger: false, keepAliveTimeout: 60_000 })
await app.register(proxy, { upstream: `http://127.0.0.1:${process.argv[2]}` })
await app.listen({ host: '127.0.0.1', port: 0 })

serveParent((app.server.address() as AddressInfo).port, () => { app.server.closeAllConnections() })
