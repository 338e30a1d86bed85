// Names and values of header fields (RFC 9110 §5.1, §5.5), and those that nobody but the broker sets.

/** Hop-by-hop (RFC 9110 §7.6.1), framing, routing, credentials, and what the client decides by itself. */
const RESERVED = new Set([
  'connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect', 'http2-settings',
  'host', 'content-length', 'content-type', 'content-encoding', 'accept-encoding', 'date', 'via', 'forwarded',
  'cookie', 'cookie2', 'set-cookie', 'authorization', 'proxy-authorization', 'proxy-authenticate',
])

/** @param name in lower case */
export const isReservedHeader = (name: string): boolean => RESERVED.has(name) || /^(?::|proxy-|x-forwarded-)/.test(name)

export const isHeaderName = (name: string): boolean => /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(name)

/** Visible ASCII with single spaces and tabs inside; no field may begin or end a line. */
export const isHeaderText = (text: string): boolean => /^[\x20-\x7e]*$/.test(text)
