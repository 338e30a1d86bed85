// JSON Pointers (RFC 6901) as the fragments of references write them.

/** `/a~1b/0` as tokens; undefined where it is not a pointer. '' is the whole document. */
export function parsePointer (text: string): readonly string[] | undefined {
  if (text === '') return []
  if (!text.startsWith('/') || /~(?![01])/.test(text)) return undefined
  // RFC 6901 §4: ~1 first, then ~0, so that ~01 is ~1 and not /
  return text.slice(1).split('/').map(token => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}

export function childPointer (pointer: string, ...tokens: ReadonlyArray<string | number>): string {
  return tokens.reduce<string>((path, token) => `${path}/${String(token).replaceAll('~', '~0').replaceAll('/', '~1')}`, pointer)
}

export type Dictionary = { readonly [key: string]: unknown }

export const isObject = (value: unknown): value is Dictionary => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The own member of an object or array, never an inherited one: `toString` and `constructor` are names like any other. */
export function member (node: unknown, token: string): { readonly value: unknown } | undefined {
  if (Array.isArray(node)) {
    if (!/^(?:0|[1-9]\d{0,8})$/.test(token) || Number(token) >= node.length) return undefined
    return { value: node[Number(token)] }
  }
  return isObject(node) && Object.hasOwn(node, token) ? { value: node[token] } : undefined
}

/** An own member of an object, else undefined. */
export const own = (node: Dictionary, name: string): unknown => Object.hasOwn(node, name) ? node[name] : undefined
