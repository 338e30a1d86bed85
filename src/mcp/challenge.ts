// What an OAuth client is told when its token is not enough: RFC 9728 metadata, and the challenges of RFC 6750 that point to it.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { sendJson } from '../http/envelope.ts'

const METADATA_PATH = '/.well-known/oauth-protected-resource'

export interface ProtectedResource {
  /** Who issues the tokens. */
  readonly issuer: string
  /** For whom they are. A client asks for tokens for the resource, so where it is a URL it is the resource (RFC 8707). */
  readonly audience: string
}

/** For `/mcp` and, as clients look there too, for the root. Needs no token. */
export function addMetadataRoutes (app: FastifyInstance, { issuer, audience }: ProtectedResource): void {
  for (const path of [METADATA_PATH, `${METADATA_PATH}/mcp`]) {
    app.get(path, {
      config: { plane: 'agents', auth: 'none' },
      schema: {
        operationId: path === METADATA_PATH ? 'getResourceMetadata' : 'getMcpResourceMetadata',
        summary: 'Where to get an access token (RFC 9728)',
        tags: ['mcp'],
        response: { 200: { description: 'Metadata of the protected resource.', type: 'object' } },
      },
    }, async (request, reply) => sendJson(reply, 200, {
      resource: isHttpUrl(audience) ? audience : `${originOf(request)}/mcp`,
      authorization_servers: [issuer],
      bearer_methods_supported: ['header'],
      resource_name: 'Aval',
    }))
  }
}

/** RFC 6750 §3.1: an error is named only where a token was sent. */
export function invalidToken (request: FastifyRequest): string {
  const error = request.headers.authorization === undefined ? '' : 'error="invalid_token", '
  return `Bearer ${error}${pointer(request)}`
}

/** @param scope everything that the operation needs, in one challenge */
export const insufficientScope = (request: FastifyRequest, scope: string): string =>
  `Bearer error="insufficient_scope", scope="${scope}", ${pointer(request)}`

const pointer = (request: FastifyRequest): string => `resource_metadata="${originOf(request)}${METADATA_PATH}/mcp"`

/** The Host header is one that is served here: the listener has refused any other. */
const originOf = (request: FastifyRequest): string => `${request.protocol}://${request.host}`

const isHttpUrl = (text: string): boolean => /^https?:\/\//.test(text) && URL.canParse(text)
