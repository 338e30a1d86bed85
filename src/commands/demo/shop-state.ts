// What the shop knows: customers, products, quotes, orders and deployments, in memory, and the ledger of everything that was done to them.

export interface Address {
  readonly street: string
  readonly city: string
  readonly postal_code: string
  readonly country: string
}

export interface Customer {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly state: 'active' | 'deleted'
  readonly version: number
  readonly shipping_address: Address
  /** For the staff of the shop alone; no sheet shows it. */
  readonly internal_note: string
}

export interface Product {
  readonly sku: string
  readonly name: string
  readonly price_minor: number
  readonly currency: string
  readonly stock: number
}

export interface Quote {
  readonly id: string
  readonly key: string
  readonly customer_id: string
  readonly sku: string
  readonly quantity: number
  readonly delivery_date: string
  readonly unit_price_minor: number
  readonly total_minor: number
  readonly currency: string
}

export interface Order {
  readonly id: string
  readonly key: string | null
  readonly customer_id: string
  readonly sku: string
  readonly quantity: number
  readonly total_minor: number
  readonly currency: string
  readonly state: 'reserved' | 'cancelled'
  readonly version: number
  readonly created_at: string
}

export interface Note {
  readonly id: string
  readonly request_id: string
  readonly text: string
}

export interface Refund {
  readonly id: string
  readonly key: string
  readonly amount_minor: number
}

export interface Deployment {
  readonly job_id: string
  readonly request_id: string
  readonly environment: string
  readonly revision: string
  readonly accepted_at_ms: number
}

/** One thing that was done, written before the answer leaves: the truth that an outcome is held against. */
export interface LedgerEntry {
  readonly seq: number
  /** `order.placed`, `customer.changed`, … */
  readonly effect: string
  /** Id of the object it was done to. */
  readonly object: string
  /** The idempotency key or request id that came with it. */
  readonly key: string | null
}

export interface ShopState {
  readonly customers: Map<string, Customer>
  readonly products: Map<string, Product>
  readonly quotes: Map<string, Quote>
  readonly orders: Map<string, Order>
  readonly notes: Map<string, readonly Note[]>
  readonly refunds: Map<string, readonly Refund[]>
  readonly deployments: Map<string, Deployment>
  /** What was answered under an idempotency key: `POST /orders KEY` → the body it came with and the answer. */
  readonly remembered: Map<string, { readonly body: string, readonly answer: ShopAnswer }>
  readonly ledger: LedgerEntry[]
  readonly deployMs: number
  counter: number
}

export interface ShopAnswer {
  readonly status: number
  readonly headers?: { readonly [name: string]: string }
  readonly body?: unknown
}

/** @param deployMs how long a deployment takes from its acceptance */
export function openState (deployMs: number): ShopState {
  return {
    customers: new Map(CUSTOMERS.map(customer => [customer.id, customer])),
    products: new Map(PRODUCTS.map(product => [product.sku, product])),
    quotes: new Map(),
    orders: new Map(ORDERS.map(order => [order.id, order])),
    notes: new Map(),
    refunds: new Map(),
    deployments: new Map(),
    remembered: new Map(),
    ledger: [],
    deployMs,
    counter: 2000,
  }
}

/** A day from today on as `YYYY-MM-DD`, for whoever asks the shop to deliver. */
export const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

export function nextId (state: ShopState, prefix: string): string {
  state.counter += 1
  return `${prefix}_${state.counter}`
}

export function enter (state: ShopState, effect: string, object: string, key: string | null = null): void {
  state.ledger.push(Object.freeze({ seq: state.ledger.length + 1, effect, object, key }))
}

const address = (street: string, city: string, postal_code: string, country: string): Address => ({ street, city, postal_code, country })

const CUSTOMERS: readonly Customer[] = [
  {
    id: 'cus_1001', name: 'Ada Okafor', email: 'ada@customers.example', state: 'active', version: 3,
    shipping_address: address('12 Quay Street', 'Dublin', 'D02 X285', 'IE'), internal_note: 'pays late, keep polite',
  },
  {
    id: 'cus_1002', name: 'Bruno Lang', email: 'bruno@customers.example', state: 'active', version: 1,
    shipping_address: address('Lindenweg 4', 'Bern', '3007', 'CH'), internal_note: '',
  },
  {
    id: 'cus_1003', name: 'Closed account', email: 'closed@customers.example', state: 'deleted', version: 9,
    shipping_address: address('-', '-', '0', 'IE'), internal_note: '',
  },
]

const PRODUCTS: readonly Product[] = [
  { sku: 'TEA-250', name: 'Assam tea, 250 g', price_minor: 1250, currency: 'EUR', stock: 40 },
  { sku: 'CUP-SET', name: 'Set of six cups', price_minor: 3800, currency: 'EUR', stock: 3 },
  { sku: 'KETTLE-1', name: 'Copper kettle', price_minor: 14900, currency: 'EUR', stock: 12 },
]

const ORDERS: readonly Order[] = [
  {
    id: 'ord_1001', key: null, customer_id: 'cus_1001', sku: 'TEA-250', quantity: 2, total_minor: 2500, currency: 'EUR',
    state: 'reserved', version: 1, created_at: '2026-10-02T09:30:00Z',
  },
  {
    id: 'ord_1002', key: null, customer_id: 'cus_1001', sku: 'CUP-SET', quantity: 1, total_minor: 3800, currency: 'EUR',
    state: 'cancelled', version: 2, created_at: '2026-10-11T16:05:00Z',
  },
]
