// Tokens and agents that are not believed any more although their tokens have not expired: a file of JSON lines that an operator (or a program of
// theirs) writes, `{"iss": "…", "jti": "…"}` for one token, `{"iss": "…", "sub": "…"}` for an agent. No file: nothing is revoked. A file that cannot be
// read or understood revokes everything, because what it was meant to stop must not go on.
import { readFileSync, statSync } from 'node:fs'
import { SYSTEM_CLOCK, type Clock } from './key-set.ts'

/** Between two looks at the file. */
const CHECK_MS = 1_000

export interface Revocations {
  isRevoked (token: { readonly iss: string, readonly sub: string, readonly jti: string }): boolean
}

export interface RevocationsOptions {
  readonly path: string
  readonly clock?: Clock
  /** Each time that the file was read. `fault`: why everything is revoked until it is right. */
  readonly onRead?: (event: { readonly entries: number, readonly fault: string | null }) => void
}

type List = { readonly jtis: ReadonlySet<string>, readonly subs: ReadonlySet<string> } | 'everything'

const NOTHING: List = Object.freeze({ jtis: new Set<string>(), subs: new Set<string>() })

export function createRevocations ({ path, clock = SYSTEM_CLOCK, onRead }: RevocationsOptions): Revocations {
  let list: List = NOTHING
  let stamp = ''
  let checkedAtMs = -Infinity

  function check (): void {
    try {
      const { mtimeMs, ctimeMs, size, ino } = statSync(path)
      const seen = `${mtimeMs} ${ctimeMs} ${size} ${ino}`
      if (seen === stamp) return
      list = parse(readFileSync(path, 'utf8'))
      stamp = seen
      onRead?.({ entries: list.jtis.size + list.subs.size, fault: null })
    } catch (error) {
      stamp = ''
      const { code, message } = error as NodeJS.ErrnoException
      if (code === 'ENOENT') {
        list = NOTHING
        return
      }
      list = 'everything'
      onRead?.({ entries: 0, fault: code ?? message })
    }
  }

  return {
    isRevoked ({ iss, sub, jti }) {
      const nowMs = clock.monotonicMs()
      if (nowMs - checkedAtMs >= CHECK_MS) {
        checkedAtMs = nowMs
        check()
      }
      // Nearly always there is none, and then no name is made.
      return list === 'everything' || holds(list.jtis, iss, jti) || holds(list.subs, iss, sub)
    },
  }
}

const holds = (names: ReadonlySet<string>, iss: string, id: string): boolean => names.size > 0 && names.has(nameOf(iss, id))

/** An id is the issuer's own; two issuers may have the same one. */
const nameOf = (iss: string, id: string): string => JSON.stringify([iss, id])

function parse (text: string): Exclude<List, 'everything'> {
  const jtis = new Set<string>()
  const subs = new Set<string>()
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const entry = entryOf(line)
    if (entry === null) throw new Error(`line ${index + 1} is neither {"iss", "jti"} nor {"iss", "sub"}`)
    ;(entry.kind === 'jti' ? jtis : subs).add(nameOf(entry.iss, entry.id))
  }
  return { jtis, subs }
}

function entryOf (line: string): { readonly kind: 'jti' | 'sub', readonly iss: string, readonly id: string } | null {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return null
  }
  if (value === null || typeof value !== 'object' || Object.keys(value).length !== 2) return null
  const { iss, jti, sub } = value as { readonly [name: string]: unknown }
  if (typeof iss !== 'string') return null
  if (typeof jti === 'string') return { kind: 'jti', iss, id: jti }
  return typeof sub === 'string' ? { kind: 'sub', iss, id: sub } : null
}
