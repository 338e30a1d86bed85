// The fault switch of the shop: what the network or the shop does to the next matching request. The tour and the tests turn it.

export type ShopFault =
  /** The effect happens, the connection is destroyed instead of an answer. */
  | { readonly kind: 'lose' }
  /** The connection is destroyed before anything happens. */
  | { readonly kind: 'drop' }
  /** The effect happens at once, the answer comes late. */
  | { readonly kind: 'delay', readonly delayMs: number }
  /** The connection is destroyed now and the effect happens later: what a look-up that is too quick must not take for absence. */
  | { readonly kind: 'late', readonly delayMs: number }
  /** Answers this status; `applied` tells whether the effect happened all the same. */
  | { readonly kind: 'fail', readonly status: number, readonly applied: boolean }

/** Which request a fault is for; an absent part matches any. */
export interface FaultMatch {
  readonly method?: string
  /** How the path without the base path begins. */
  readonly path?: string
  /** How many matching requests it strikes; 1 where it is absent. */
  readonly times?: number
}

interface Armed {
  readonly fault: ShopFault
  readonly match: FaultMatch
  left: number
}

export class ShopFaults {
  #armed: Armed[] = []

  arm (fault: ShopFault, match: FaultMatch = {}): void {
    this.#armed.push({ fault, match, left: match.times ?? 1 })
  }

  clear (): void {
    this.#armed = []
  }

  /** The fault for this request, which is used up by asking. */
  take (method: string, path: string): ShopFault | null {
    const armed = this.#armed.find(({ match }) => (match.method ?? method) === method && path.startsWith(match.path ?? ''))
    if (armed === undefined) return null
    armed.left -= 1
    if (armed.left === 0) this.#armed = this.#armed.filter(other => other !== armed)
    return armed.fault
  }
}
