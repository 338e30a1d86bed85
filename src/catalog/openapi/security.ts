// The security schemes of a document: how it says that a credential is sent.
import type { SecurityScheme } from './operation.ts'
import { isObject, own } from './pointer.ts'
import { checked } from './reader.ts'
import type { Reading } from './reader.ts'
import { childOf } from './reference.ts'
import type { Place } from './reference.ts'

const schemesOf = (reading: Reading): Place =>
  reading.dialect === '2.0' ? childOf(reading.root, 'securityDefinitions') : childOf(reading.root, 'components', 'securitySchemes')

export function securitySchemeNames (reading: Reading): readonly string[] {
  const { node } = schemesOf(reading)
  return isObject(node) ? Object.keys(node) : []
}

/** @throws DocumentFault where it is there and does not have the form that OpenAPI gives it */
export function readSecurityScheme (reading: Reading, name: string): SecurityScheme | undefined {
  const all = schemesOf(reading)
  if (!isObject(all.node) || !Object.hasOwn(all.node, name)) return undefined
  const { node } = checked(reading, childOf(all, name), 'securityScheme')
  if (!isObject(node)) return undefined
  switch (own(node, 'type')) {
    case 'apiKey':
      return { kind: 'apiKey', in: own(node, 'in') as 'header' | 'query' | 'cookie', name: String(own(node, 'name')) }
    case 'basic':
      return { kind: 'http', scheme: 'basic' }
    case 'http':
      // RFC 9110 §11.1: names of schemes are case-insensitive
      return { kind: 'http', scheme: String(own(node, 'scheme')).toLowerCase() }
    case 'oauth2':
      return { kind: 'oauth2' }
    case 'openIdConnect':
      return { kind: 'openIdConnect' }
    case 'mutualTLS':
      return { kind: 'mutualTLS' }
    default:
      return undefined
  }
}
