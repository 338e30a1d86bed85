// Percent-encoding (RFC 3986 §2.1).

const hex = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase()}`

/** Everything but the unreserved characters of RFC 3986 §2.3. */
export const escapeStrict = (text: string): string => encodeURIComponent(text).replace(/[!'()*]/g, hex)

/**
 * `allowReserved` in a query: the reserved characters stand as they are, but for those that would end the value, the query or the name, and those
 * that a URL parser rewrites.
 */
export const escapeReserved = (text: string): string =>
  escapeStrict(text).replace(/%(?:3A|2F|3F|40|21|24|28|29|2A|2C|3B)/g, encoded => decodeURIComponent(encoded))
