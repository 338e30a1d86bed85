// Several proposals decided on one page: the same checks as for one, for each of them, and one more over all.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { batchDigest } from '../../consent/batch.ts'
import type { Decided, Seen } from '../../consent/desk.ts'
import { RENDERER } from '../../consent/untrusted.ts'
import type { PeopleContext } from './context.ts'
import { readForm } from './form.ts'
import { requireForm } from './guard.ts'
import { form, notice, sendPage } from './layout.ts'
import { READ_MS } from './approvals.ts'
import { batchOutcome, batchPage } from './pages/batch.ts'
import { whyNot } from './pages/said.ts'
import { PageRefusal, REFUSALS } from './refusal.ts'
import type { FormToken } from './sessions.ts'

interface ProposalParams { readonly id: string }

const FIELDS = ['click', 'token', 'ids', 'digest', 'decision', 'confirmed']

export function addBatchRoutes (app: FastifyInstance, context: PeopleContext): void {
  const { desk } = context
  const person = { plane: 'people', auth: 'session', role: 'person' } as const

  app.get<{ Params: ProposalParams }>('/approvals/:id/together', { exposeHeadRoute: false, config: person }, async (request, reply) => {
    const all = await desk.together(request.visitor!.person, request.params.id)
    if (all === null) throw missing()
    if (all.length < 2) return reply.redirect(`/approvals/${request.params.id}`, 303)
    return send(request, reply, context, all)
  })

  app.post<{ Params: ProposalParams }>('/approvals/:id/together', { config: { ...person, takesBody: true, page: '/approvals/:id/together', decides: true } }, async (request, reply) => {
    const fields = await readForm(request, reply, FIELDS)
    const made = requireForm(request, fields, context.sessions)
    if (fields.get('decision') !== 'approve') throw new PageRefusal(REFUSALS.malformed)
    const all = await desk.these(request.visitor!.person, (fields.get('ids') ?? '').split(' '))
    if (all === null) throw missing()
    if (batchDigest(all.map(({ record }) => record)) !== fields.get('digest')) throw new PageRefusal(REFUSALS.malformed)
    if (made.ageMs < READ_MS) return send(request, reply, context, all, 409, notice('note', 'That was too quick to have been read.', 'Nothing was approved. Read them again, then approve.'))
    const ticked = fields.get('confirmed') === 'yes'
    if (!ticked && all.some(({ record }) => record.requirement.confirm === 'checkbox')) {
      return send(request, reply, context, all, 422, notice('stop', 'Not approved yet', 'Tick that you have read what changes in each of them.'))
    }
    const decided = await approveEach(request, all, made, context)
    const outcomes = decided.map((one, at) => ({ record: all[at]!.record, why: whyOf(one) }))
    return outcomes.every(({ why }) => why === null)
      ? reply.redirect('/approvals/history', 303)
      : sendPage(reply, batchOutcome(outcomes), request.visitor, context.sessions)
  })
}

const missing = (): PageRefusal => new PageRefusal(REFUSALS.missing, { href: '/approvals', label: 'All approvals' })

type Asked = FastifyRequest<{ Params: ProposalParams }>

function send (request: Asked, reply: FastifyReply, { sessions }: PeopleContext, all: readonly Seen[], status = 200, said: ReturnType<typeof notice> | null = null): FastifyReply {
  const path = `/approvals/${request.params.id}/together`
  const page = batchPage({ all, status, said, form: inside => form(sessions.formToken(request.visitor!.session, path), path, inside) })
  return sendPage(reply, page, request.visitor, sessions)
}

/** One after the other: what one of them meets does not undo the others. */
async function approveEach (request: Asked, all: readonly Seen[], made: FormToken, { desk }: PeopleContext): Promise<readonly Decided[]> {
  const decided: Decided[] = []
  for (const [at, { record: { id, digest, requirement } }] of all.entries()) {
    decided.push(await desk.decide(request.visitor!.person, {
      id, digest, decisionId: `${made.clickId}.${at}`, decision: 'approve', reasonCode: null, reasonText: null, visibility: 'agent',
      confirmed: requirement.confirm === 'checkbox' ? 'yes' : null,
      shown: { renderer: RENDERER, msOnPage: Math.max(0, Math.round(made.ageMs)), surface: 'page' },
    }))
  }
  return decided
}

/** null: it was taken. */
function whyOf (decided: Decided): string | null {
  if (decided.kind === 'taken') return null
  if (decided.kind === 'missing') return 'It is not there any more.'
  switch (decided.why) {
    case 'changed': return 'It changed since you opened it.'
    case 'expired': return 'The time to decide was over.'
    case 'not_confirmed': case 'reason_missing': return 'It has to be approved on its own page.'
    default: return whyNot(decided.why, decided.seen.record)
  }
}
