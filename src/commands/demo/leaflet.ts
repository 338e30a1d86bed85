// What stands on the screen while the demo stays up: lines to paste, and where the rest is.
import { inDays } from './shop-state.ts'
import type { Stage } from './stage.ts'

/** Each line that starts with `curl`, `npm` or `AVAL_DATA` works as it is pasted into a POSIX shell, in the folder of the project. */
export function leaflet (stage: Pick<Stage, 'broker' | 'peopleUrl' | 'shop' | 'tokenFile' | 'actionsFolder' | 'dataFolder'>): readonly string[] {
  const { agentsUrl, operationsUrl } = stage.broker
  const { peopleUrl, actionsFolder, dataFolder } = stage
  const aval = 'npm run -s aval --'
  // The answers end without a line feed; the prompt of a shell needs one.
  const curl = `curl -sw '\\n'`
  const token = `-H "Authorization: Bearer $(cat ${stage.tokenFile})"`
  const post = (action: string, args: object): string =>
    `${curl} ${agentsUrl}/v1/actions/${action} ${token} -H 'Content-Type: application/json' -d '${JSON.stringify({ arguments: args })}'`
  return [
    'Try it yourself; each line that starts with curl, npm or AVAL_DATA can be pasted as it is, in the folder of the project:',
    '',
    'What this agent may call',
    `${curl} ${agentsUrl}/v1/actions ${token}`,
    'A read',
    post('get_customer.v1', { customer_id: 'cus_1002' }),
    'A refusal by a rule of the sheet: the shop has fewer than four',
    post('quote_order.v1', { customer_id: 'cus_1002', sku: 'CUP-SET', quantity: 4, delivery_date: inDays(60) }),
    'A write; pasted again it is a duplicate',
    post('place_order.v1', { customer_id: 'cus_1002', sku: 'KETTLE-1', quantity: 1, max_total_minor: 15000 }),
    'Money: a person is asked first',
    post('refund_order.v1', { customer_id: 'cus_1001', order_id: 'ord_1001', amount_minor: 700 }),
    `  then open ${peopleUrl}/approvals in a browser, be Lena Hart, and decide; the answer's next says how to commit it`,
    'The same person at a terminal; approve PROPOSAL and deny PROPOSAL go on from there',
    `${aval} approvals list --url ${peopleUrl}`,
    'A mail: a person consents once, and the run may send it again for half an hour',
    post('email_order_confirmation.v1', { customer_id: 'cus_1001', order_id: 'ord_1001' }),
    'A deletion: Lena Hart and Omar Said both have to agree',
    post('delete_customer.v1', { customer_id: 'cus_1002' }),
    'The writes of this run',
    `${curl} ${agentsUrl}/v1/attempts ${token}`,
    'The same for a client that speaks MCP, such as Claude Code (the token lives for some hours)',
    `claude mcp add --transport http aval ${agentsUrl}/mcp --header "Authorization: Bearer $(cat ${stage.tokenFile})"`,
    'What an operator sees',
    `curl -s ${operationsUrl}/metrics`,
    'The emergency brake: every agent is refused at once',
    ...['status', 'lock', 'unlock'].map(act => `AVAL_DATA=${dataFolder} ${aval} vault ${act}`),
    'The sheets, read anew',
    `AVAL_DATA=${dataFolder} ${aval} reload`,
    '',
    `The contract of this broker   ${agentsUrl}/docs and ${agentsUrl}/openapi.json`,
    `Where people decide           ${peopleUrl}/approvals (development sign-in: anyone at this machine can be anyone)`,
    `Where operators work          ${peopleUrl}/operator/broker, as Olga Brandt: the lock, runs, what is unresolved`,
    `Health                        ${operationsUrl}/healthz and ${operationsUrl}/readyz`,
    `The shop behind it            ${stage.shop.url} (it wants a key that only the broker has)`,
    `The sheets                    ${actionsFolder}/shop/*.yaml (a copy of actions/shop for this demo)`,
  ]
}
