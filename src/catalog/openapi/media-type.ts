// Which bodies can be sent, by media type. A sheet that needs another one is refused at load: a body that cannot be written must never go out empty.

export type BodyKind = 'json' | 'form' | 'multipart' | 'text' | 'octets'

/** @param mediaType without parameters, in lower case; undefined where a body of this type cannot be sent */
export function bodyKind (mediaType: string): BodyKind | undefined {
  if (mediaType === 'application/json' || /^[^/]+\/[^/]+\+json$/.test(mediaType)) return 'json'
  if (mediaType === 'application/x-www-form-urlencoded') return 'form'
  if (mediaType === 'multipart/form-data') return 'multipart'
  if (/^text\/[^*]+$/.test(mediaType)) return 'text'
  return /^(?:application\/(?:octet-stream|pdf|zip|gzip)|(?:image|audio|video)\/[^*]+)$/.test(mediaType) ? 'octets' : undefined
}

/** @param mediaType without parameters, in lower case */
export const supportsMediaType = (mediaType: string): boolean => bodyKind(mediaType) !== undefined
