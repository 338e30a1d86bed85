// The shop's operations on deployments of its storefront: accepted at once, done later.
import { enter, nextId, type Deployment, type ShopAnswer, type ShopState } from './shop-state.ts'
import { fieldsOf, ShopProblem, type ShopRequest } from './shop-requests.ts'

/** `request_id` in the body makes it safe to repeat. */
export function startDeployment (state: ShopState, request: ShopRequest): ShopAnswer {
  const fields = fieldsOf(request, { request_id: { type: 'string' }, environment: { type: 'string' }, revision: { type: 'string' } }) as unknown as
    Pick<Deployment, 'request_id' | 'environment' | 'revision'>
  const known = [...state.deployments.values()].find(deployment => deployment.request_id === fields.request_id)
  if (known !== undefined) return { status: 202, body: view(state, known) }
  const deployment: Deployment = { job_id: nextId(state, 'job'), ...fields, accepted_at_ms: Date.now() }
  state.deployments.set(deployment.job_id, deployment)
  enter(state, 'deployment.accepted', deployment.job_id, fields.request_id)
  return { status: 202, headers: { location: `/v1/deployments/${deployment.job_id}` }, body: view(state, deployment) }
}

export function findDeployments (state: ShopState, request: ShopRequest): ShopAnswer {
  const id = request.query.get('request_id')
  const items = [...state.deployments.values()].filter(deployment => id === null || deployment.request_id === id)
  return { status: 200, body: { items: items.map(deployment => view(state, deployment)) } }
}

export function getDeployment (state: ShopState, request: ShopRequest): ShopAnswer {
  const deployment = state.deployments.get(request.ids[0]!)
  if (deployment === undefined) throw new ShopProblem(404, 'no such deployment')
  return { status: 200, body: view(state, deployment) }
}

/** A revision that starts with `bad` fails to build: there is something to tell apart from success. */
function view (state: ShopState, deployment: Deployment): object {
  const { accepted_at_ms, ...rest } = deployment
  const age = Date.now() - accepted_at_ms
  if (age < state.deployMs / 3) return { ...rest, state: 'queued' }
  if (age < state.deployMs) return { ...rest, state: 'running' }
  return { ...rest, state: deployment.revision.startsWith('bad') ? 'failed' : 'done' }
}
