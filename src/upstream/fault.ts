// What went wrong on the wire, in the words of LostCause. A cause explains; it never decides whether the request left (sent.ts does).
import type { LostCause } from './wire.ts'

/** A fault of our own making, with its cause already known. */
export class WireFault extends Error {
  override readonly name = 'WireFault'
  readonly code = 'AVAL_WIRE'
  readonly lostCause: LostCause

  constructor (lostCause: LostCause, message: string) {
    super(message)
    this.lostCause = lostCause
  }
}

const BY_CODE: { readonly [code: string]: LostCause } = {
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'refused',
  ENETUNREACH: 'refused',
  EADDRNOTAVAIL: 'refused',
  EACCES: 'refused',
  ENOTFOUND: 'unresolved_name',
  EAI_AGAIN: 'unresolved_name',
  EAI_FAIL: 'unresolved_name',
  ENODATA: 'unresolved_name',
  ETIMEDOUT: 'connect_timeout',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ECONNABORTED: 'reset',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  UND_ERR_HEADERS_TIMEOUT: 'deadline',
  UND_ERR_BODY_TIMEOUT: 'deadline',
  UND_ERR_HEADERS_OVERFLOW: 'too_large',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'too_large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'protocol',
  UND_ERR_DESTROYED: 'shutting_down',
  UND_ERR_CLOSED: 'shutting_down',
  UND_ERR_ABORTED: 'aborted',
  UND_ERR_INVALID_ARG: 'aborted',
}

/** undici ends these answers itself and says so only in words. */
const BAD_HEAD = new Set(['bad response', 'bad upgrade'])

export function causeOf (error: unknown): LostCause {
  if (error instanceof WireFault) return error.lostCause
  if (!(error instanceof Error)) return 'aborted'
  // llhttp's codes (HPE_…) and the case without any code both come as this error.
  if (error.name === 'HTTPParserError') return 'protocol'
  const code = 'code' in error ? String(error.code) : ''
  if (code === 'UND_ERR_SOCKET') return BAD_HEAD.has(error.message) ? 'protocol' : 'closed'
  return BY_CODE[code] ?? (isTlsCode(code) ? 'tls' : 'protocol')
}

const TLS_CODE = /^(?:ERR_(?:TLS|SSL)_|EPROTO$|DEPTH_ZERO|SELF_SIGNED|CERT|CRL|UNABLE_TO|ERROR_IN_C|HOSTNAME_|INVALID_(?:CA|PURPOSE)|PATH_LENGTH)/

/** OpenSSL's verification results have many names (DEPTH_ZERO_SELF_SIGNED_CERT, CERT_HAS_EXPIRED, …); Node's own start with ERR_. */
export function isTlsCode (code: string): boolean {
  return TLS_CODE.test(code)
}
