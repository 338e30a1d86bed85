// The limits of an upstream in this process: how many sends at once, how many a second, and how much of both one tenant may take. What does not fit
// waits a little, tenants in turn; then it is refused.
import { Refusal } from '../errors.ts'
import type { Upstream } from '../catalog/catalog.ts'

export const GATE_WAIT_MS = 1_000
/** Beyond this many waiting there is no hope within the second; a flood must not become memory. */
const WAITING_MAX = 1_000

type Release = () => void

interface Waiting {
  readonly enter: (release: Release) => void
  readonly timer: NodeJS.Timeout
}

export interface Gate {
  /** @throws Refusal RATE_LIMITED after GATE_WAIT_MS */
  enter (upstream: Upstream, tenant: string): Promise<Release>
}

/** By upstream name: a reload that changes the limits goes on with what is under way. */
export function createGate (): Gate {
  const doors = new Map<string, Door>()
  return {
    enter (upstream, tenant) {
      let door = doors.get(upstream.name)
      if (door === undefined) {
        door = new Door()
        doors.set(upstream.name, door)
      }
      return door.enter(upstream.limits, tenant)
    },
  }
}

class Door {
  #limits: Upstream['limits'] = { concurrency: 1, perSecond: null, tenantShare: 1 }
  #active = 0
  readonly #activeOf = new Map<string, number>()
  /** In the order in which tenants have their turn. */
  readonly #waiting = new Map<string, Waiting[]>()
  #waitingCount = 0
  #pace = new Pace(null)
  #wake: NodeJS.Timeout | null = null

  enter (limits: Upstream['limits'], tenant: string): Promise<Release> {
    if (limits !== this.#limits) {
      if (limits.perSecond !== this.#limits.perSecond) this.#pace = new Pace(limits.perSecond)
      this.#limits = limits
    }
    if (this.#waitingCount > 0) this.#admitWaiting()
    if (!this.#waiting.has(tenant) && this.#fits(tenant) && this.#pace.take()) return Promise.resolve(this.#admit(tenant))
    return this.#wait(tenant)
  }

  /** Room among the sends at once. Every tenant has at least one place, or a small upstream would be closed to all. */
  #fits (tenant: string): boolean {
    const { concurrency, tenantShare } = this.#limits
    return this.#active < concurrency && (this.#activeOf.get(tenant) ?? 0) < Math.max(1, Math.floor(concurrency * tenantShare))
  }

  #admit (tenant: string): Release {
    this.#active += 1
    this.#activeOf.set(tenant, (this.#activeOf.get(tenant) ?? 0) + 1)
    let inside = true
    return () => {
      if (!inside) return
      inside = false
      this.#leave(tenant)
    }
  }

  #leave (tenant: string): void {
    this.#active -= 1
    const active = (this.#activeOf.get(tenant) ?? 1) - 1
    if (active === 0) this.#activeOf.delete(tenant)
    else this.#activeOf.set(tenant, active)
    if (this.#waitingCount > 0) this.#admitWaiting()
  }

  #wait (tenant: string): Promise<Release> {
    if (this.#waitingCount >= WAITING_MAX) return Promise.reject(Refusal.of('RATE_LIMITED', { retryAfterSeconds: 1 }))
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        // The place that a second frees comes free in this very moment.
        this.#admitWaiting()
        if (this.#forget(tenant, waiting)) reject(Refusal.of('RATE_LIMITED', { retryAfterSeconds: 1 }))
      }, GATE_WAIT_MS)
      const waiting: Waiting = { enter: resolve, timer }
      const line = this.#waiting.get(tenant)
      if (line === undefined) this.#waiting.set(tenant, [waiting])
      else line.push(waiting)
      this.#waitingCount += 1
      this.#scheduleWake()
    })
  }

  /** false: it waits no more. */
  #forget (tenant: string, waiting: Waiting): boolean {
    const line = this.#waiting.get(tenant)
    const at = line?.indexOf(waiting) ?? -1
    if (line === undefined || at === -1) return false
    line.splice(at, 1)
    this.#waitingCount -= 1
    if (line.length === 0) this.#waiting.delete(tenant)
    return true
  }

  /** Lets in whoever fits, one a tenant and turn: a tenant that was let in goes to the end of the line of tenants. */
  #admitWaiting (): void {
    for (;;) {
      const tenant = this.#nextTenant()
      if (tenant === null || !this.#pace.take()) break
      const line = this.#waiting.get(tenant)!
      const next = line.shift()!
      this.#waitingCount -= 1
      this.#waiting.delete(tenant)
      if (line.length > 0) this.#waiting.set(tenant, line)
      clearTimeout(next.timer)
      next.enter(this.#admit(tenant))
    }
    this.#scheduleWake()
  }

  #nextTenant (): string | null {
    if (this.#active >= this.#limits.concurrency) return null
    for (const tenant of this.#waiting.keys()) {
      if (this.#fits(tenant)) return tenant
    }
    return null
  }

  /** A place comes free by `release`; a second passes without anybody's doing. */
  #scheduleWake (): void {
    if (this.#wake !== null || this.#waitingCount === 0 || this.#nextTenant() === null) return
    this.#wake = setTimeout(() => {
      this.#wake = null
      this.#admitWaiting()
    }, Math.max(1, Math.ceil(this.#pace.dueInMs())))
  }
}

/**
 * At most `perSecond` in any second, by the monotonic clock: the times of the last so many are kept. A bucket of the same size would let twice as
 * many through in the second after a pause, and the upstream counts those.
 */
class Pace {
  readonly #times: Float64Array | null
  readonly #windowMs: number
  #oldest = 0

  constructor (perSecond: number | null) {
    const size = perSecond === null ? 0 : Math.max(1, Math.floor(perSecond))
    this.#times = perSecond === null ? null : new Float64Array(size).fill(-Infinity)
    this.#windowMs = perSecond === null ? 0 : size / perSecond * 1_000
  }

  take (): boolean {
    if (this.#times === null) return true
    const nowMs = performance.now()
    if (nowMs - this.#times[this.#oldest]! < this.#windowMs) return false
    this.#times[this.#oldest] = nowMs
    this.#oldest = (this.#oldest + 1) % this.#times.length
    return true
  }

  dueInMs (): number {
    return this.#times === null ? 0 : this.#times[this.#oldest]! + this.#windowMs - performance.now()
  }
}
