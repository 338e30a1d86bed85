import { parametersOfSchema } from '../parameters.ts'
import { any, NOTHING, type Rule } from '../rule.ts'

const SECRET = new RegExp([
  'password', 'passwd', 'passphrase', 'secret', 'secrets', 'token', 'tokens', 'api_?key', 'access_?key', 'private_?key', 'secret_?key',
  'client_?secret', 'credential', 'credentials', 'authorization', 'bearer', 'cookie', 'session_?id', 'otp', 'totp', 'pin', 'cvv', 'cvc',
  'card_?number', 'pan', 'ssn',
  'webhook_?secret', 'signing_?key', 'recovery_?codes?',
].map(name => `(^|_)${name}$`).join('|'), 'i')

export const viewShowsSecret: Rule = {
  id: 'view-shows-secret',
  severity: 'error',
  weighs: { category: 'safety', cap: 39 },
  says: 'A view names a field that looks like a secret.',
  why: `What an agent has seen is in its prompt, its provider's logs and its next call. The broker withholds its own credentials
wherever they appear; it cannot know those of others. Leave the field out; where its absence must be told, tell that it is set and not
what it is.`,
  example: {
    of: 'observation',
    bad: `result:
  schema:
    required: [customer_id, name, state, access_token]
    properties: {access_token: {type: string, maxLength: 100}}
  view: {access_token: "\${response.body.name}"}
examples:
  - {arguments: {customer_id: cus_1}, result: {customer_id: cus_1, name: Ada, state: active, access_token: x}}`,
    good: `result:
  schema:
    required: [customer_id, name, state, has_token]
    properties: {has_token: {type: boolean}}
  view: {has_token: true}
examples:
  - {arguments: {customer_id: cus_1}, result: {customer_id: cus_1, name: Ada, state: active, has_token: true}}`,
  },
  check ({ result, at }) {
    if (result === null) return NOTHING
    return any(parametersOfSchema(result, at.result).flatMap(({ name, schema, pointer }) => {
      const plain = name.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
      // Whether there is one may be told.
      if (!SECRET.test(plain) || schema.type === 'boolean') return []
      return [{ pointer, atKey: true as const, message: `"${name}" looks like a secret, and agents would see it` }]
    }))
  },
}
