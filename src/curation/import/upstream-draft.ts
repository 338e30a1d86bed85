// upstream.yaml for a document that has none yet. The server is typed by hand: a document must not choose where requests and credentials go.
import { isReservedHeader } from '../../catalog/header-names.ts'
import type { Document } from '../../catalog/openapi/documents.ts'
import type { SecurityScheme } from '../../catalog/openapi/operation.ts'
import { Judged, writeDrafted, type DraftedObject } from './drafted.ts'
import type { Draft } from './draft.ts'
import { listed } from './narrow.ts'

/** Reserved by RFC 2606 §2: no request can go there by mistake. */
const NOWHERE = 'https://api.invalid'

/**
 * @param file as upstream.yaml names it, below the folder of documents
 * @param needs what the drafts ask of it
 */
export function draftUpstream (document: Document, upstream: string, file: string, needs: ReadonlyArray<Draft['needs']>): string {
  const own = [...new Set(needs.flatMap(({ servers }) => servers))]
  const servers = own.length > 0 ? own : document.servers()
  const said = servers.length === 0 ? 'The document names none' : `The document says ${listed(servers)}`
  const schemes = document.securitySchemes()
  const known = schemes.length === 0 ? 'The document names no scheme' : `The document has ${listed(schemes)}`
  const secret = `env:${upstream.toUpperCase().replaceAll('-', '_')}_SECRET`
  const [parameter] = needs.flatMap(({ secrets }) => secrets)
  const credential = parameter === undefined ? credentialOf(document, secret) : { scheme: { in: parameter.in, name: parameter.name }, secret }
  return writeDrafted({
    upstream,
    openapi: file,
    server: new Judged(NOWHERE, `type the origin and base path by hand. ${said}`),
    ...credential !== null && { credential: new Judged(credential, `which scheme, and where is the secret? ${known}`) },
    timeouts: { connect: '2s', total: '10s' },
    limits: { concurrency: 8, per_second: 20 },
  }, ['Where the actions of this folder are sent, and with which credential.'])
}

function credentialOf (document: Document, secret: string): DraftedObject | null {
  for (const name of document.securitySchemes()) {
    const scheme = read(document, name)
    if (scheme?.kind === 'apiKey' && (scheme.in !== 'header' || !isReservedHeader(scheme.name.toLowerCase()))) return { scheme: name, secret }
    if (scheme?.kind === 'apiKey') return { scheme: 'bearer', secret }
    if (scheme?.kind === 'http' && scheme.scheme === 'bearer') return { scheme: name, secret }
    if (scheme?.kind === 'http' && scheme.scheme === 'basic') return { scheme: name, username: 'aval', secret }
    if (scheme?.kind === 'oauth2' || scheme?.kind === 'openIdConnect') return { scheme: 'bearer', secret }
  }
  return null
}

function read (document: Document, name: string): SecurityScheme | undefined {
  try {
    return document.securityScheme(name)
  } catch {
    // What cannot be read cannot be proposed; a sheet that names it is told why.
    return undefined
  }
}
