// The stylesheet, the script and the icon: files beside this one, read at start and served from memory.
import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'

const ASSETS = [
  { path: '/assets/people.css', type: 'text/css; charset=utf-8' },
  { path: '/assets/people.js', type: 'text/javascript; charset=utf-8' },
  { path: '/assets/aval.svg', type: 'image/svg+xml' },
]

export function addAssetRoutes (app: FastifyInstance): void {
  for (const { path, type } of ASSETS) {
    const bytes = readFileSync(new URL(`.${path}`, import.meta.url))
    app.get(path, { exposeHeadRoute: false, config: { plane: 'people', auth: 'none', role: 'anyone' } }, async (_request, reply) =>
      reply.header('content-type', type).header('cache-control', 'private, max-age=300').send(bytes))
  }
}
