// What stands on the screen while the demo stays up: lines to paste, and where the rest is.
import { inDays } from './shop-state.ts'
import type { Stage } from './stage.ts'

/** Each line that starts with `curl` works as it is pasted into a POSIX shell. */
export function leaflet (stage: Pick<Stage, 'broker' | 'shop' | 'tokenFile'>): readonly string[] {
  const { agentsUrl, operationsUrl } = stage.broker
  const token = `-H "Authorization: Bearer $(cat ${stage.tokenFile})"`
  const post = (action: string, args: object): string =>
    `curl -s ${agentsUrl}/v1/actions/${action} ${token} -H 'Content-Type: application/json' -d '${JSON.stringify({ arguments: args })}'`
  return [
    'Try it yourself; each line can be pasted as it is:',
    '',
    `curl -s ${agentsUrl}/v1/actions ${token}`,
    post('get_customer.v1', { customer_id: 'cus_1002' }),
    post('quote_order.v1', { customer_id: 'cus_1002', sku: 'CUP-SET', quantity: 4, delivery_date: inDays(60) }),
    post('place_order.v1', { customer_id: 'cus_1002', sku: 'KETTLE-1', quantity: 1, max_total_minor: 15000 }),
    `curl -s ${agentsUrl}/v1/attempts ${token}`,
    `curl -s ${operationsUrl}/metrics`,
    '',
    `The contract of this broker   ${agentsUrl}/docs and ${agentsUrl}/openapi.json`,
    `Health                        ${operationsUrl}/healthz and ${operationsUrl}/readyz`,
    `The shop behind it            ${stage.shop.url} (it wants a key that only the broker has)`,
    'The sheets                    actions/shop/*.yaml',
  ]
}
