// What stands on the screen while the demo stays up: lines to paste, and where the rest is.
import { inDays } from './shop-state.ts'
import type { Stage } from './stage.ts'

/** Each line that starts with `curl` works as it is pasted into a POSIX shell. */
export function leaflet (stage: Pick<Stage, 'broker' | 'shop' | 'tokenFile'>): readonly string[] {
  const { agentsUrl, operationsUrl } = stage.broker
  // The answers end without a line feed; the prompt of a shell needs one.
  const curl = `curl -sw '\\n'`
  const token = `-H "Authorization: Bearer $(cat ${stage.tokenFile})"`
  const post = (action: string, args: object): string =>
    `${curl} ${agentsUrl}/v1/actions/${action} ${token} -H 'Content-Type: application/json' -d '${JSON.stringify({ arguments: args })}'`
  return [
    'Try it yourself; each line that starts with curl can be pasted as it is:',
    '',
    'What this agent may call',
    `${curl} ${agentsUrl}/v1/actions ${token}`,
    'A read',
    post('get_customer.v1', { customer_id: 'cus_1002' }),
    'A refusal by a rule of the sheet: the shop has fewer than four',
    post('quote_order.v1', { customer_id: 'cus_1002', sku: 'CUP-SET', quantity: 4, delivery_date: inDays(60) }),
    'A write; pasted again it is a duplicate',
    post('place_order.v1', { customer_id: 'cus_1002', sku: 'KETTLE-1', quantity: 1, max_total_minor: 15000 }),
    'The writes of this run',
    `${curl} ${agentsUrl}/v1/attempts ${token}`,
    'What an operator sees',
    `curl -s ${operationsUrl}/metrics`,
    '',
    `The contract of this broker   ${agentsUrl}/docs and ${agentsUrl}/openapi.json`,
    `Health                        ${operationsUrl}/healthz and ${operationsUrl}/readyz`,
    `The shop behind it            ${stage.shop.url} (it wants a key that only the broker has)`,
    'The sheets                    actions/shop/*.yaml',
  ]
}
