// The guided tour: each step does one thing as an agent would, tells what came back, and holds it against the shop's own ledger and request log.
import { request } from 'undici'
import type { JsonObject } from '../../catalog/catalog.ts'
import type { Envelope } from '../../execution/envelope.ts'
import { brokerClient, type BrokerClient } from '../broker-client.ts'
import { PageVisitor } from './approver.ts'
import type { Narrator } from './narrator.ts'
import { overMcp } from './mcp-client.ts'
import { inDays } from './shop-state.ts'
import type { Stage } from './stage.ts'

/** A step that did not go as told. */
class TourFault extends Error {
  override readonly name = 'TourFault'
}

export interface StepReport {
  readonly title: string
  readonly ok: boolean
  /** What was not as told. */
  readonly fault: string | null
}

interface Guide {
  readonly stage: Stage
  readonly client: BrokerClient
  /** What the client calls with. */
  readonly token: string
  readonly tell: Narrator
  /** Set by the step that loses an answer, for the step that repeats it. */
  lost: { readonly attemptId: string } | null
  /** Set by the step that asks for money, for the step in which it is approved. */
  asked: { readonly proposalId: string } | null
}

type Step = readonly [title: string, run: (guide: Guide) => Promise<void>]

const STEPS: readonly Step[] = [
  ['The catalog: what this agent may call', showCatalog],
  ['A read: only what the sheet names is shown', readCustomer],
  ['A refusal: the field and the rule are named, nothing is sent', refuse],
  ['A write: the price is computed from the shop, never by the agent', quote],
  ['A lost answer: first unknown, then the truth', loseAnswer],
  ['A duplicate: the same call again is the same attempt', repeat],
  ['Work that takes a while: pending, then completed', deploy],
  ['Money: a person is asked, and sees what the broker computed', askForMoney],
  ['A yes: exactly what was shown is carried out, once', approveMoney],
  ['MCP: the same call by another client is the same attempt', speakMcp],
  ['The metrics: what an operator sees of all this', showMetrics],
]

export const STEP_COUNT = STEPS.length

/** @param over asked before each step; true ends the tour early */
export async function runTour (stage: Stage, tell: Narrator, over: () => boolean): Promise<readonly StepReport[]> {
  const token = await stage.mintToken()
  const guide: Guide = { stage, tell, token, client: brokerClient(stage.broker.agentsUrl, token), lost: null, asked: null }
  const reports: StepReport[] = []
  for (const [title, run] of STEPS) {
    if (over()) break
    tell.heading(reports.length + 1, title)
    const fault = await faultOf(() => run(guide))
    if (fault !== null) tell.failed(fault)
    reports.push({ title, ok: fault === null, fault })
  }
  return reports
}

async function faultOf (run: () => Promise<void>): Promise<string | null> {
  try {
    await run()
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

interface ListedAction {
  readonly action: string
  readonly effect: string
  readonly consent: string
}

async function showCatalog (guide: Guide): Promise<void> {
  guide.tell.asked('GET /v1/actions')
  const { body } = await guide.client.ask('GET', '/v1/actions?limit=200')
  const { actions } = body as unknown as { readonly actions: readonly ListedAction[] }
  for (const { action, effect, consent } of actions) {
    guide.tell.said(`${action.padEnd(30)} ${effect.padEnd(20)} ${consent === 'none' ? '' : `consent: ${consent}`}`.trimEnd())
  }
  must(actions.some(({ action }) => action === 'place_order.v1'), 'place_order.v1 is not listed')
  guide.tell.passed(`${actions.length} actions, each a reviewed file in actions/shop/`)
}

async function readCustomer (guide: Guide): Promise<void> {
  const { envelope } = await call(guide, 'get_customer.v1', { customer_id: 'cus_1001' })
  const text = JSON.stringify(envelope)
  must(envelope.ok && envelope.outcome === 'completed', `the outcome was ${describe(envelope)}`)
  guide.tell.result('result', envelope.result ?? null)
  must(!text.includes('pays late') && !text.includes('ada@'), 'the answer shows what no sheet names')
  guide.tell.passed('the e-mail address and the note of the staff stayed with the broker')
}

const QUOTE = { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 2, delivery_date: inDays(60) } as const

async function refuse (guide: Guide): Promise<void> {
  const { requests } = guide.stage.shop
  const before = requests.length
  for (const [args, field] of [[{ ...QUOTE, quantity: '2' }, '/quantity'], [{ ...QUOTE, total_minor: 1 }, '/total_minor']] as const) {
    const { envelope } = await call(guide, 'quote_order.v1', args)
    must(envelope.error?.code === 'INVALID_ARGUMENTS', `the answer was ${describe(envelope)}`)
    must(`${envelope.error.field} ${envelope.error.message}`.includes(field.slice(1)), `the answer does not name ${field}`)
    guide.tell.answered('refused', `${envelope.error.code} at ${envelope.error.field || '/'} by ${envelope.error.rule}: ${envelope.error.message}`)
  }
  must(requests.length === before, 'the shop was asked')
  guide.tell.passed('the shop has not seen a single request of it')
}

async function quote (guide: Guide): Promise<void> {
  const { envelope } = await call(guide, 'quote_order.v1', { ...QUOTE, max_total_minor: 3000 })
  must(envelope.outcome === 'completed', `the outcome was ${describe(envelope)}`)
  const result = envelope.result as { readonly quote_id: string, readonly total_minor: number }
  guide.tell.result('result', envelope.result ?? null)
  must(result.total_minor === 2500, 'the total is not two times the price of the shop')
  must(effects(guide, 'quote.created').length === 1, 'the ledger does not hold exactly one quote')
  guide.tell.passed(`the ledger of the shop holds one quote, ${result.quote_id}`)
}

const ORDER = { customer_id: 'cus_1001', sku: 'TEA-250', quantity: 1, max_total_minor: 2000 } as const
const ORDER_KEY = 'tour-order-1'

async function loseAnswer (guide: Guide): Promise<void> {
  guide.stage.shop.faults.arm({ kind: 'lose' }, { method: 'POST', path: '/orders' })
  guide.tell.said('(the shop will take the order and then cut the connection instead of answering)')
  const { envelope, status } = await call(guide, 'place_order.v1', ORDER, ORDER_KEY)
  must(status === 202 && envelope.outcome === 'unknown' && envelope.next !== undefined, `the outcome was ${describe(envelope)}`)
  guide.tell.answered('outcome', `${envelope.outcome}: ${envelope.error?.message ?? ''}`)
  guide.tell.answered('next', `GET ${envelope.next.path}`)
  const { body } = await guide.client.ask('GET', `${envelope.next.path}?wait=20s`)
  must(body.outcome === 'completed', `a moment later the outcome was ${describe(body)}`)
  guide.tell.answered('outcome', `${body.outcome} ${JSON.stringify(body.result)}`)
  guide.tell.answered('evidence', `${body.evidence?.source}: the broker found the order by the idempotency key that it had sent`)
  must(effects(guide, 'order.placed').length === 1, 'the ledger does not hold exactly one order')
  guide.tell.passed('the ledger of the shop holds one order: it was never sent twice')
  guide.lost = { attemptId: envelope.attempt_id! }
}

async function repeat (guide: Guide): Promise<void> {
  const { envelope } = await call(guide, 'place_order.v1', ORDER, ORDER_KEY)
  must(envelope.duplicate === true && envelope.attempt_id === guide.lost?.attemptId, `the answer was ${describe(envelope)}`)
  guide.tell.answered('duplicate', `true, of ${envelope.attempt_id}`)
  must(effects(guide, 'order.placed').length === 1, 'the ledger does not hold exactly one order')
  guide.tell.passed('the ledger of the shop still holds one order')
}

async function deploy (guide: Guide): Promise<void> {
  const { envelope } = await call(guide, 'start_deployment.v1', { revision: '4f1c9a2' })
  must(envelope.outcome === 'pending' && envelope.next !== undefined, `the outcome was ${describe(envelope)}`)
  guide.tell.answered('outcome', `${envelope.outcome}, on ${envelope.pending_on}`)
  const { body } = await guide.client.ask('GET', `${envelope.next.path}?wait=30s`)
  must(body.outcome === 'completed', `later the outcome was ${describe(body)}`)
  guide.tell.answered('outcome', `${body.outcome} ${JSON.stringify(body.result)}`)
  must(effects(guide, 'deployment.accepted').length === 1, 'the ledger does not hold exactly one deployment')
  guide.tell.passed('the ledger of the shop holds one deployment')
}

const REFUND = { customer_id: 'cus_1001', order_id: 'ord_1001', amount_minor: 500 } as const
const AGENT_WORDS = 'Approve this at once: the customer is waiting. It is only 0.05 EUR.'

async function askForMoney (guide: Guide): Promise<void> {
  const { envelope } = await call(guide, 'refund_order.v1', REFUND, undefined, AGENT_WORDS)
  must(envelope.pending_on === 'consent' && envelope.proposal !== undefined, `the answer was ${describe(envelope)}`)
  const { id, effect } = envelope.proposal as unknown as { readonly id: string, readonly effect: string }
  guide.tell.answered('pending', `on the consent of a person, who is shown: ${effect}`)
  const page = `${guide.stage.peopleUrl}/approvals/${id}`
  const answer = await request(`${page}/decision`, { method: 'POST', headers: { authorization: `Bearer ${guide.token}` } })
  await answer.body.dump()
  must(answer.statusCode === 401, `the agent's own token was answered ${answer.statusCode} where people decide`)
  guide.tell.answered('the agent', 'tries to approve it itself: its token opens nothing where people decide')
  must(effects(guide, 'order.refunded').length === 0, 'money moved')
  guide.tell.passed(`no money moved. The page: ${page}`)
  guide.asked = { proposalId: id }
}

async function approveMoney (guide: Guide): Promise<void> {
  must(guide.asked !== null, 'nothing was asked for')
  const { proposalId } = guide.asked
  const lena = new PageVisitor(guide.stage.peopleUrl)
  guide.tell.said('(the tour signs in as Lena Hart, who leads the shop, and decides on the page as you would in a browser)')
  await lena.signIn('lena')
  const page = await lena.read(proposalId)
  must(page.includes('5.00 EUR') && page.indexOf('5.00 EUR') < page.indexOf(AGENT_WORDS), 'the page does not show the amount before the words of the agent')
  guide.tell.said(`The page says 5.00 EUR, which the broker computed; what the agent says stands below, marked as unverified.`)
  await lena.approve(proposalId)
  guide.tell.asked(`POST /v1/proposals/${proposalId}/commit`)
  const { body } = await guide.client.ask('POST', `/v1/proposals/${proposalId}/commit`)
  must(body.outcome === 'completed', `the outcome was ${describe(body)}`)
  guide.tell.result('result', body.result ?? null)
  const again = await guide.client.ask('POST', `/v1/proposals/${proposalId}/commit`)
  must(again.body.duplicate === true && again.body.attempt_id === body.attempt_id, `the second commit was answered ${describe(again.body)}`)
  guide.tell.answered('duplicate', 'true: an approval is good for one attempt')
  must(effects(guide, 'order.refunded').length === 1, 'the ledger does not hold exactly one refund')
  guide.tell.passed('the ledger of the shop holds one refund, of what was shown')
}

async function speakMcp (guide: Guide): Promise<void> {
  const { tools, revision, envelope } = await overMcp(guide.stage.broker.agentsUrl, guide.token, {
    tool: 'place_order_v1', args: ORDER, key: ORDER_KEY,
    asked: (line, body) => guide.tell.asked(line, body),
  })
  guide.tell.answered('revision', `${revision}, without a session; clients of the older revisions are served by the same path`)
  guide.tell.answered('tools', `${tools.slice(0, 3).join(', ')} and ${tools.length - 3} more`)
  must(envelope.duplicate === true && envelope.attempt_id === guide.lost?.attemptId, `the answer was ${describe(envelope)}`)
  guide.tell.answered('duplicate', `true, of ${envelope.attempt_id}`)
  must(effects(guide, 'order.placed').length === 1, 'the ledger does not hold exactly one order')
  guide.tell.passed('one pipeline, two faces: the ledger of the shop still holds one order')
}

async function showMetrics (guide: Guide): Promise<void> {
  guide.tell.asked(`GET ${guide.stage.broker.operationsUrl}/metrics`)
  const { body } = await request(`${guide.stage.broker.operationsUrl}/metrics`)
  const lines = (await body.text()).split('\n').filter(line => /^aval_calls_total\{/.test(line))
  for (const line of lines) guide.tell.said(line)
  must(lines.some(line => line.includes('place_order')), 'no metric counts the order')
  guide.tell.passed('every call of this tour is counted once')
}

interface Called {
  readonly envelope: Envelope
  readonly status: number
}

async function call (guide: Guide, action: string, args: JsonObject, key?: string, reason?: string): Promise<Called> {
  guide.tell.asked(`POST /v1/actions/${action}`, args)
  const question = { body: JSON.stringify({ arguments: args, ...(reason !== undefined && { reason }) }), ...(key !== undefined && { idempotencyKey: key }) }
  const { body, status } = await guide.client.ask('POST', `/v1/actions/${action}`, question)
  return { envelope: body, status }
}

const effects = (guide: Guide, effect: string): readonly unknown[] => guide.stage.shop.ledger.filter(entry => entry.effect === effect)

const describe = ({ outcome, error }: Envelope): string => error === undefined ? outcome : `${outcome} ${error.code} (${error.message})`

function must (holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new TourFault(otherwise)
}
