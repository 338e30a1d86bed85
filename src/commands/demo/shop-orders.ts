// The shop's operations on quotes, orders, notes and refunds. Idempotency keys are really honoured, and what was done under one can be found by it.
import { enter, nextId, type Note, type Order, type Quote, type Refund, type ShopAnswer, type ShopState } from './shop-state.ts'
import { fieldsOf, headerOf, ShopProblem, type ShopRequest } from './shop-requests.ts'
import { etag, requireActive, requireMatch } from './shop-customers.ts'

/** The shop believes the price it is told: whoever calls must have computed it. */
export function createQuote (state: ShopState, request: ShopRequest): ShopAnswer {
  return once(state, request, key => {
    const fields = fieldsOf(request, {
      customer_id: { type: 'string' }, sku: { type: 'string' }, quantity: { type: 'integer' }, delivery_date: { type: 'string' },
      unit_price_minor: { type: 'integer' }, total_minor: { type: 'integer' }, currency: { type: 'string' },
    }) as unknown as Omit<Quote, 'id' | 'key'>
    requireActive(state, fields.customer_id)
    if (!state.products.has(fields.sku)) throw new ShopProblem(422, 'no such product')
    const quote: Quote = { id: nextId(state, 'quo'), key, ...fields }
    state.quotes.set(quote.id, quote)
    enter(state, 'quote.created', quote.id, key)
    return { status: 201, body: quote }
  })
}

export function findQuotes (state: ShopState, request: ShopRequest): ShopAnswer {
  const key = request.query.get('key')
  return { status: 200, body: { items: [...state.quotes.values()].filter(quote => quote.key === key) } }
}

/** Takes the goods out of stock and keeps them for the customer; nothing is charged until the customer pays. */
export function placeOrder (state: ShopState, request: ShopRequest): ShopAnswer {
  return once(state, request, key => {
    const fields = fieldsOf(request, {
      customer_id: { type: 'string' }, sku: { type: 'string' }, quantity: { type: 'integer' },
      total_minor: { type: 'integer' }, currency: { type: 'string' },
    }) as unknown as Pick<Order, 'customer_id' | 'sku' | 'quantity' | 'total_minor' | 'currency'>
    requireActive(state, fields.customer_id)
    const product = state.products.get(fields.sku)
    if (product === undefined || fields.quantity < 1) throw new ShopProblem(422, 'no such product or quantity')
    if (product.stock < fields.quantity) throw new ShopProblem(409, 'not enough in stock')
    state.products.set(product.sku, { ...product, stock: product.stock - fields.quantity })
    const order: Order = { id: nextId(state, 'ord'), key, ...fields, state: 'reserved', version: 1, created_at: new Date().toISOString() }
    state.orders.set(order.id, order)
    enter(state, 'order.placed', order.id, key)
    return orderAnswer(201, order)
  })
}

export function findOrders (state: ShopState, request: ShopRequest): ShopAnswer {
  const key = request.query.get('key')
  return { status: 200, body: { items: [...state.orders.values()].filter(order => order.key !== null && order.key === key) } }
}

export function getOrder (state: ShopState, request: ShopRequest): ShopAnswer {
  return orderAnswer(200, requireOrder(state, request))
}

/** `?state=reserved&state=cancelled`; the cookie chooses the storefront, and a wholesale order is no retail order. */
export function listOrders (state: ShopState, request: ShopRequest): ShopAnswer {
  const customer = request.ids[0]!
  if (!state.customers.has(customer)) throw new ShopProblem(404, 'no such customer')
  const states = request.query.getAll('state')
  const storefront = /(?:^|;\s*)storefront=([^;]*)/.exec(headerOf(request, 'cookie') ?? '')?.[1] ?? 'retail'
  const items = storefront !== 'retail'
    ? []
    : [...state.orders.values()].filter(order => order.customer_id === customer && (states.length === 0 || states.includes(order.state)))
  return { status: 200, body: { storefront, items } }
}

/** Puts the goods back into stock. Cancelling a cancelled order changes nothing. */
export function cancelOrder (state: ShopState, request: ShopRequest): ShopAnswer {
  const order = requireOrder(state, request)
  if (order.state === 'cancelled') return orderAnswer(200, order)
  requireMatch(request, order.version)
  const product = state.products.get(order.sku)!
  state.products.set(product.sku, { ...product, stock: product.stock + order.quantity })
  const cancelled: Order = { ...order, state: 'cancelled', version: order.version + 1 }
  state.orders.set(order.id, cancelled)
  enter(state, 'order.cancelled', order.id)
  return orderAnswer(200, cancelled)
}

/** JSON or a form; `?request_id=` makes it safe to repeat. */
export function addNote (state: ShopState, request: ShopRequest): ShopAnswer {
  const order = requireOrder(state, request)
  const request_id = request.query.get('request_id')
  if (request_id === null) throw new ShopProblem(422, 'send request_id')
  const { text } = fieldsOf(request, { text: { type: 'string' } }) as { readonly text: string }
  const notes = state.notes.get(order.id) ?? []
  const known = notes.find(note => note.request_id === request_id)
  if (known !== undefined) return { status: 201, body: known }
  const note: Note = { id: nextId(state, 'note'), request_id, text }
  state.notes.set(order.id, [...notes, note])
  enter(state, 'note.added', note.id, request_id)
  return { status: 201, body: note }
}

export function listNotes (state: ShopState, request: ShopRequest): ShopAnswer {
  return { status: 200, body: { items: state.notes.get(requireOrder(state, request).id) ?? [] } }
}

/** A mail that left cannot be found again, and a second one would be a second mail. */
export function sendConfirmation (state: ShopState, request: ShopRequest): ShopAnswer {
  const order = requireOrder(state, request)
  const mail = nextId(state, 'mail')
  enter(state, 'mail.sent', order.id)
  return { status: 200, body: { mail_id: mail } }
}

export function refundOrder (state: ShopState, request: ShopRequest): ShopAnswer {
  const order = requireOrder(state, request)
  return once(state, request, key => {
    const { amount_minor } = fieldsOf(request, { amount_minor: { type: 'integer' } }) as { readonly amount_minor: number }
    const refunds = state.refunds.get(order.id) ?? []
    const already = refundedMinor(refunds)
    if (amount_minor < 1 || already + amount_minor > order.total_minor) throw new ShopProblem(409, 'more than was paid')
    const refund: Refund = { id: nextId(state, 'ref'), key, amount_minor }
    state.refunds.set(order.id, [...refunds, refund])
    state.orders.set(order.id, { ...order, version: order.version + 1 })
    enter(state, 'order.refunded', order.id, key)
    return { status: 201, body: refund }
  })
}

export function listRefunds (state: ShopState, request: ShopRequest): ShopAnswer {
  const items = state.refunds.get(requireOrder(state, request).id) ?? []
  return { status: 200, body: { items, refunded_minor: refundedMinor(items) } }
}

const refundedMinor = (refunds: readonly Refund[]): number => refunds.reduce((sum, { amount_minor }) => sum + amount_minor, 0)

/** The same key and body get the first answer again; the same key with another body is refused, as the IETF draft on idempotency keys asks. */
function once (state: ShopState, request: ShopRequest, run: (key: string) => ShopAnswer): ShopAnswer {
  const key = headerOf(request, 'idempotency-key')
  if (key === null) throw new ShopProblem(400, 'send Idempotency-Key')
  const name = `${request.method} ${request.path} ${key}`
  const body = request.body.toString('utf8')
  const known = state.remembered.get(name)
  if (known !== undefined && known.body !== body) throw new ShopProblem(422, 'this key came with another body before')
  if (known !== undefined) return { ...known.answer, headers: { ...known.answer.headers, 'idempotent-replayed': 'true' } }
  const answer = run(key)
  state.remembered.set(name, { body, answer })
  return answer
}

function requireOrder (state: ShopState, request: ShopRequest): Order {
  const order = state.orders.get(request.ids[0]!)
  if (order === undefined) throw new ShopProblem(404, 'no such order')
  return order
}

function orderAnswer (status: number, order: Order): ShopAnswer {
  return { status, headers: { etag: etag(order.version) }, body: order }
}
