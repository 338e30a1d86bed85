// What a fault says beside the rule: the word that was probably meant, or what there is.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultsOf, type Shop } from './shop-folder.ts'

const HINTS: ReadonlyArray<readonly [what: string, change: (shop: Shop) => void, message: RegExp]> = [
  ['an operation', s => { s.write.operation = 'updateCustomerr' }, /^The document has no such operation\. Did you mean "updateCustomer"\?/],
  ['a method and a path', s => { s.write.operation = 'PATCH /customer/{id}' }, /Did you mean "PATCH \/customers\/\{id\}"\?/],
  ['an operation that is like none', s => { s.write.operation = 'zzzzzzzzzz' }, /^The document has no such operation\. \(/],
  ['a type', s => { s.write.input.properties.customer_id = { type: 'strng' } }, /^must be one of array, .*; did you mean "string"\?$/],
  [
    'a field of the caller', s => { s.write.scope = [{ require: 'caller.zzzzzz == "a"' }] },
    /^there is no "zzzzzz" in caller; there is .*\bsub\b.*\bclaims\b/,
  ],
  ['a role', s => { s.policy.roles.reader = 'get_customer.v1' }, /^has none of the forms it can have \(A list of actions, or an object with .*\)$/],
  ['a security scheme', s => { s.upstream.credential.scheme = 'apiKey' }, /"apiKey"; name one of its securitySchemes, or bearer, or basic, or \{in, name\}$/],
]

for (const [what, change, message] of HINTS) {
  test(`the fault of ${what} says what would do`, async t => {
    const faults = await faultsOf(t, change)
    assert.ok(faults.some(fault => message.test(fault.message)), faults.map(fault => fault.message).join('\n'))
  })
}
