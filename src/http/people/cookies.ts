// The cookies of people: written with the `__Host-` prefix, so that no other host and no other path can set them, and read so that a name that stands
// twice counts as absent (a library would take one of the two, and which one is then somebody else's choice).

/** Shows which session it is; comes along when a link in a mail is followed. */
export const VIEW_COOKIE = '__Host-aval_view'
/** Comes along from our own pages alone; nothing is changed without it. */
export const DECIDE_COOKIE = '__Host-aval_decide'
/** Of a sign-in under way. */
export const SIGN_IN_COOKIE = '__Host-aval_signin'

const OURS = [VIEW_COOKIE, DECIDE_COOKIE, SIGN_IN_COOKIE] as const
type CookieName = typeof OURS[number]

/** `Strict` would be left out where the identity provider sends the person back, and where a mail leads here. */
const SAME_SITE: Record<CookieName, 'Lax' | 'Strict'> = { [VIEW_COOKIE]: 'Lax', [DECIDE_COOKIE]: 'Strict', [SIGN_IN_COOKIE]: 'Lax' }

/** 256 bits in base64url. */
const VALUE = /^[A-Za-z0-9_-]{43}$/

/** @returns null where it is absent, twice there, or nothing that we wrote */
export function readCookie (header: string | undefined, name: CookieName): string | null {
  const values = (header ?? '').split(';').flatMap(part => {
    const equals = part.indexOf('=')
    return equals !== -1 && part.slice(0, equals).trim() === name ? [part.slice(equals + 1).trim()] : []
  })
  const [value] = values
  return values.length === 1 && value !== undefined && VALUE.test(value) ? value : null
}

/** A request that carries one of them comes from a person's browser. */
export const carriesPersonCookie = (header: string | undefined): boolean => header !== undefined && /(?:^|;)\s*__Host-aval_/.test(header)

export function writeCookie (name: CookieName, value: string, lifeSeconds: number): string {
  return `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=${SAME_SITE[name]}; Max-Age=${lifeSeconds}`
}

export const clearCookie = (name: CookieName): string => writeCookie(name, '', 0)
