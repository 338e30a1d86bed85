// The shop's operations on customers and products.
import { enter, type Address, type Customer, type ShopAnswer, type ShopState } from './shop-state.ts'
import { fieldsOf, headerOf, ShopProblem, type ShopRequest } from './shop-requests.ts'

export function getCustomer (state: ShopState, request: ShopRequest): ShopAnswer {
  return customerAnswer(requireCustomer(state, request.ids[0]!))
}

/** RFC 9110 §13.1.1: changes only the version that the caller saw; RFC 6585 §3 where it names none. */
export function updateCustomer (state: ShopState, request: ShopRequest): ShopAnswer {
  const customer = requireActive(state, request.ids[0]!)
  const fields = fieldsOf(request, { shipping_address: { type: 'object' } })
  requireMatch(request, customer.version)
  return change(state, customer, { shipping_address: addressOf(fields['shipping_address']) })
}

/** The older way, without a version: the last one to write wins. */
export function putShippingAddress (state: ShopState, request: ShopRequest): ShopAnswer {
  const customer = requireActive(state, request.ids[0]!)
  const text = { type: 'string' } as const
  const fields = fieldsOf(request, { street: text, city: text, postal_code: text, country: text })
  return change(state, customer, { shipping_address: addressOf(fields) })
}

export function deleteCustomer (state: ShopState, request: ShopRequest): ShopAnswer {
  const customer = requireActive(state, request.ids[0]!)
  requireMatch(request, customer.version)
  state.customers.set(customer.id, { ...customer, state: 'deleted', name: '', email: '', version: customer.version + 1 })
  enter(state, 'customer.deleted', customer.id)
  return { status: 204 }
}

export function getProduct (state: ShopState, request: ShopRequest): ShopAnswer {
  const product = state.products.get(request.ids[0]!)
  if (product === undefined) throw new ShopProblem(404, 'no such product')
  return { status: 200, body: product }
}

export function requireActive (state: ShopState, id: string): Customer {
  const customer = requireCustomer(state, id)
  if (customer.state === 'deleted') throw new ShopProblem(409, 'the customer has been deleted')
  return customer
}

/** @throws ShopProblem 428 without If-Match, 412 where it names another version */
export function requireMatch (request: ShopRequest, version: number): void {
  const match = headerOf(request, 'if-match')
  if (match === null) throw new ShopProblem(428, 'send If-Match')
  if (match !== etag(version)) throw new ShopProblem(412, `the version is ${version}`)
}

export const etag = (version: number): string => `"${version}"`

function requireCustomer (state: ShopState, id: string): Customer {
  const customer = state.customers.get(id)
  if (customer === undefined) throw new ShopProblem(404, 'no such customer')
  return customer
}

function change (state: ShopState, customer: Customer, patch: Partial<Customer>): ShopAnswer {
  const changed = { ...customer, ...patch, version: customer.version + 1 }
  state.customers.set(customer.id, changed)
  enter(state, 'customer.changed', customer.id)
  return customerAnswer(changed)
}

function customerAnswer (customer: Customer): ShopAnswer {
  return { status: 200, headers: { etag: etag(customer.version) }, body: customer }
}

function addressOf (value: unknown): Address {
  const { street, city, postal_code, country, ...rest } = value as { [name: string]: unknown }
  const whole = [street, city, postal_code, country].every(part => typeof part === 'string' && part !== '')
  if (!whole || Object.keys(rest).length > 0) throw new ShopProblem(422, 'an address has four texts')
  return { street, city, postal_code, country } as Address
}
