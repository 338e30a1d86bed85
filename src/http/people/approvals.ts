// The routes of approvers: lists, one proposal, and what can be decided about it. Whether this person may is the desk's to say, each time anew.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { toTypeFor } from '../../consent/confirm.ts'
import type { Decided, DecideAsk, Seen } from '../../consent/desk.ts'
import { DENY_CODES, type DenyCode } from '../../consent/proposal.ts'
import { RENDERER } from '../../consent/untrusted.ts'
import { sendJson } from '../envelope.ts'
import type { PeopleContext } from './context.ts'
import { BY_ENTER, isFormPost, readForm, type Fields } from './form.ts'
import { pathOf, requireForm, wantsJson } from './guard.ts'
import type { Content, Html } from './html.ts'
import { html } from './html.ts'
import { form, moment, notice, sendPage, type Page } from './layout.ts'
import { confirmPage, tooQuick, unconfirmed } from './pages/confirm.ts'
import { grantsNotice, grantsPage, historyPage, pendingPage } from './pages/list.ts'
import { NO_DRAFT, proposalPage, signInAgain, type Draft, type ProposalForms } from './pages/proposal.ts'
import { mayNow, whyNot } from './pages/said.ts'
import { decidedJson, pageJson, seenJson, STATUS_OF, type Why } from './program.ts'
import { PageRefusal, REFUSALS } from './refusal.ts'

const PAGE_ITEMS = 25
const REASON_MAX = 500
/** Nobody has read a page that was made less than this ago. */
export const READ_MS = 800

const session = (role: 'person' | 'operator') => ({ plane: 'people', auth: 'session', role }) as const
const CURSOR = { querystring: { type: 'object', properties: { cursor: { type: 'string' } } } }
const SAID = { querystring: { type: 'object', properties: { said: { type: 'string' }, show: { type: 'string' } } } }
const DECISION_FIELDS = ['click', 'token', 'digest', 'decision', 'confirmed', 'reason_code', 'reason', 'visibility']

interface ProposalParams { readonly id: string }

export function addApprovalRoutes (app: FastifyInstance, context: PeopleContext): void {
  const { desk, sessions } = context
  const respond = (request: FastifyRequest, reply: FastifyReply, page: Page, json: () => object): FastifyReply =>
    wantsJson(request) ? sendJson(reply, page.status ?? 200, json()) : sendPage(reply, page, request.visitor, sessions)

  app.get('/', { exposeHeadRoute: false, config: session('person') }, async (_request, reply) => reply.redirect('/approvals', 303))

  app.get('/approvals', { exposeHeadRoute: false, config: session('person'), schema: CURSOR }, async (request, reply) => {
    const cursor = request.asked.get('cursor') ?? null
    const page = await desk.pending(request.visitor!.person, cursor, PAGE_ITEMS)
    return respond(request, reply, pendingPage(page, cursor === null), () => ({ ...pageJson(page), forms: { sign_out: formJson(request, context, '/sign-out') } }))
  })

  app.get('/approvals/history', { exposeHeadRoute: false, config: session('person'), schema: CURSOR }, async (request, reply) => {
    const cursor = request.asked.get('cursor') ?? null
    const page = await desk.history(request.visitor!.person, cursor, PAGE_ITEMS)
    return respond(request, reply, historyPage(page, cursor === null, request.visitor!.person), () => pageJson(page))
  })

  app.get('/approvals/grants', { exposeHeadRoute: false, config: session('person'), schema: SAID }, async (request, reply) => {
    const grants = await desk.grants(request.visitor!.person)
    const revoke = (id: string): Html => ownForm(request, context, `/approvals/${id}/revoke`, html`<button class="stop">Take it back</button>`)
    return respond(request, reply, grantsPage(grants, { revoke }, grantsNotice(request.asked.get('said'))), () => pageJson({ items: grants, next: null }))
  })

  app.get<{ Params: ProposalParams }>('/approvals/:id', { exposeHeadRoute: false, config: session('person'), schema: SAID }, async (request, reply) => {
    const seen = await view(request, context)
    const said = request.asked.get('said') === undefined ? null : saidOf(seen, request)
    return respond(request, reply, onePage(request, context, seen, { said }), () => seenJson(seen, formsJson(request, context, seen)))
  })

  app.get<{ Params: ProposalParams }>('/approvals/:id/confirm', { exposeHeadRoute: false, config: session('person') }, async (request, reply) => {
    const seen = await view(request, context)
    if (seen.mayNot !== null) return reply.redirect(`/approvals/${seen.record.id}`, 303)
    return sendPage(reply, confirmation(request, context, seen), request.visitor, sessions)
  })

  app.post<{ Params: ProposalParams }>('/approvals/:id/decision', {
    config: { ...session('person'), takesBody: true, page: '/approvals/:id', decides: true },
  }, (request, reply) => decide(request, reply, context))

  for (const act of ['extend', 'revoke'] as const) {
    app.post<{ Params: ProposalParams }>(`/approvals/:id/${act}`, { config: { ...session('person'), takesBody: true, page: '/approvals/:id' } }, async (request, reply) => {
      requireForm(request, await readForm(request, reply, ['click', 'token']), sessions)
      const seen = await desk[act](request.visitor!.person, request.params.id)
      if (seen === null) throw new PageRefusal(REFUSALS.missing)
      if (wantsJson(request)) return sendJson(reply, 200, seenJson(seen, formsJson(request, context, seen)))
      const isGrant = act === 'revoke' && seen.record.kind === 'session'
      return reply.redirect(isGrant ? '/approvals/grants?said=revoked' : `/approvals/${seen.record.id}?said=${act}`, 303)
    })
  }
}

type Asked = FastifyRequest<{ Params: ProposalParams }>

async function view (request: Asked, { desk }: PeopleContext): Promise<Seen> {
  const seen = await desk.view(request.visitor!.person, request.params.id, wantsJson(request) ? 'terminal' : 'page')
  if (seen === null) throw new PageRefusal(REFUSALS.missing, { href: '/approvals', label: 'All approvals' })
  return seen
}

const ownForm = (request: FastifyRequest, { sessions }: PeopleContext, action: string, inside: Content): Html =>
  form(sessions.formToken(request.visitor!.session, action), action, inside)

function formsFor (request: FastifyRequest, context: PeopleContext, { record: { id, digest } }: Seen): ProposalForms {
  const at = (act: string) => (inside: Content): Html => ownForm(request, context, `/approvals/${id}/${act}`, inside)
  return {
    deny: inside => at('decision')(html`<input type="hidden" name="digest" value="${digest}">${inside}`),
    extend: at('extend'),
    revoke: at('revoke'),
  }
}

/** What a terminal has to send along. */
const formsJson = (request: FastifyRequest, context: PeopleContext, { record: { id } }: Seen): Record<string, object> =>
  Object.fromEntries(['decision', 'extend', 'revoke'].map(act => [act, formJson(request, context, `/approvals/${id}/${act}`)]))

function formJson (request: FastifyRequest, { sessions }: PeopleContext, path: string): { readonly click: string, readonly token: string } {
  const { clickId: click, token } = sessions.formToken(request.visitor!.session, path)
  return { click, token }
}

interface Shown { readonly said?: Html | null, readonly draft?: Draft, readonly status?: number }

function onePage (request: FastifyRequest, context: PeopleContext, seen: Seen, { said = null, draft = NO_DRAFT, status = 200 }: Shown): Page {
  const whole = request.method === 'GET' && request.asked.get('show') === 'all'
  return proposalPage({ person: request.visitor!.person, seen, forms: formsFor(request, context, seen), said, draft, whole, status })
}

function confirmation (request: FastifyRequest, context: PeopleContext, seen: Seen, again: { fault: Content, typed: string, status: number } | null = null): Page {
  const { id, digest } = seen.record
  const inside = (content: Content): Html => html`<input type="hidden" name="digest" value="${digest}">${content}`
  return confirmPage({
    seen,
    toType: toTypeFor(seen.record),
    form: content => ownForm(request, context, `/approvals/${id}/decision`, inside(content)),
    fault: again?.fault ?? null,
    typed: again?.typed ?? '',
    status: again?.status ?? 200,
  })
}

/** What the store says of it now, never what the link says. */
function saidOf ({ record, state, votes }: Seen, request: FastifyRequest): Html | null {
  const mine = record.decisions.find(({ approver }) => approver.principal === request.visitor!.person.principal)
  if (state === 'revoked') return notice('done', 'It was taken back.')
  if (mine?.decision === 'deny') return notice('done', 'You denied this.', 'That is final: nothing of it will be carried out.')
  if (mine === undefined) return state === 'pending' ? notice('done', 'There is more time now.', html`Until ${moment(record.pendingUntilMs)}.`) : null
  if (state === 'pending') return notice('done', `You approved this: ${votes} of ${record.requirement.approve}.`, 'It waits for somebody else’s approval.')
  return notice('done', 'You approved this.', state === 'approved' ? mayNow(record) : null)
}

async function decide (request: Asked, reply: FastifyReply, context: PeopleContext): Promise<FastifyReply> {
  const { sessions, desk } = context
  const fields = await readForm(request, reply, DECISION_FIELDS)
  if (fields.has(BY_ENTER)) return unpressed(request, reply, context, fields)
  const decision = fields.get('decision')
  if (decision !== 'approve' && decision !== 'deny') throw new PageRefusal(REFUSALS.malformed)
  const made = sessions.checkForm(request.visitor!.session, pathOf(request), fields.get('click') ?? '', fields.get('token') ?? '')
  if (made === null) return staleForm(request, reply, context, fields)
  if (decision === 'deny') {
    const faults = faultsOf(fields)
    if (faults.length > 0) return again(request, reply, context, { ...draftOf(fields), faults })
  } else if (isFormPost(request) && made.ageMs < READ_MS) {
    const seen = await view(request, context)
    return sendPage(reply, onePage(request, context, seen, { said: tooQuick(), status: 409 }), request.visitor, sessions)
  }
  const ask = askOf(request.params.id, decision, made, fields, request)
  return answer(request, reply, context, fields, await desk.decide(request.visitor!.person, ask))
}

function askOf (id: string, decision: 'approve' | 'deny', made: { clickId: string, ageMs: number }, fields: Fields, request: FastifyRequest): DecideAsk {
  const page = isFormPost(request)
  return {
    id,
    decisionId: made.clickId,
    digest: fields.get('digest') ?? '',
    decision,
    reasonCode: decision === 'deny' ? fields.get('reason_code') as DenyCode : null,
    reasonText: decision === 'deny' && (fields.get('reason') ?? '').trim() !== '' ? fields.get('reason')!.replaceAll('\r\n', '\n').normalize('NFC') : null,
    visibility: fields.get('visibility') === 'staff' ? 'staff' : 'agent',
    confirmed: fields.get('confirmed') ?? null,
    shown: { renderer: RENDERER, msOnPage: Math.max(0, Math.round(made.ageMs)), surface: page ? 'page' : 'terminal' },
  }
}

function faultsOf (fields: Fields): Draft['faults'] {
  const faults: Array<Draft['faults'][number]> = []
  if (!DENY_CODES.some(code => code === fields.get('reason_code'))) faults.push({ field: 'reason_code', text: 'Choose a reason for the denial.' })
  const length = [...(fields.get('reason') ?? '').replaceAll('\r\n', '\n')].length
  if (length > REASON_MAX) faults.push({ field: 'reason', text: `Your words have ${length} characters; at most ${REASON_MAX} are kept.` })
  return faults
}

const draftOf = (fields: Fields): Draft => ({
  reasonCode: fields.get('reason_code') ?? '', reason: (fields.get('reason') ?? '').slice(0, 20_000), visibility: fields.get('visibility') ?? 'agent', faults: [],
})

async function again (request: Asked, reply: FastifyReply, context: PeopleContext, draft: Draft): Promise<FastifyReply> {
  if (wantsJson(request)) return sendJson(reply, 422, { ok: false, why: 'reason_missing', message: draft.faults[0]!.text })
  const seen = await view(request, context)
  return sendPage(reply, onePage(request, context, seen, { draft, status: 422 }), request.visitor, context.sessions)
}

/** The same page again, with what was filled in: no button was pressed. */
async function unpressed (request: Asked, reply: FastifyReply, context: PeopleContext, fields: Fields): Promise<FastifyReply> {
  const seen = await view(request, context)
  const page = fields.has('reason_code')
    ? onePage(request, context, seen, { draft: { ...draftOf(fields), faults: [{ field: 'reason_code', text: 'Press the button to deny this.' }] }, status: 400 })
    : confirmation(request, context, seen, { fault: 'Press the button to approve this.', typed: (fields.get('confirmed') ?? '').slice(0, 500), status: 400 })
  return sendPage(reply, page, request.visitor, context.sessions)
}

/** Nothing is taken, and nothing of what was filled in is lost. */
async function staleForm (request: Asked, reply: FastifyReply, context: PeopleContext, fields: Fields): Promise<FastifyReply> {
  if (wantsJson(request)) throw new PageRefusal(REFUSALS.staleForm)
  const seen = await view(request, context)
  const said = notice('stop', REFUSALS.staleForm.title, REFUSALS.staleForm.text)
  const draft = fields.get('decision') === 'deny' ? draftOf(fields) : NO_DRAFT
  return sendPage(reply, onePage(request, context, seen, { said, draft, status: 403 }), request.visitor, context.sessions)
}

function answer (request: Asked, reply: FastifyReply, context: PeopleContext, fields: Fields, decided: Decided): FastifyReply {
  if (decided.kind === 'missing') throw new PageRefusal(REFUSALS.missing, { href: '/approvals', label: 'All approvals' })
  const { seen } = decided
  if (wantsJson(request)) {
    const { status, body } = decidedJson(decided, formsJson(request, context, seen))
    return sendJson(reply, status, body)
  }
  if (decided.kind === 'taken') return reply.redirect(`/approvals/${seen.record.id}?said=decision`, 303)
  const refused = refusedPage(request, context, seen, decided.why, fields)
  return sendPage(reply, refused, request.visitor, context.sessions)
}

function refusedPage (request: FastifyRequest, context: PeopleContext, seen: Seen, why: Why, fields: Fields): Page {
  const status = STATUS_OF[why]
  if (why === 'not_confirmed') {
    const typed = (fields.get('confirmed') ?? '').slice(0, 500)
    return confirmation(request, context, seen, { fault: unconfirmed(seen.record, typed), typed, status })
  }
  if (why === 'reason_missing') {
    return onePage(request, context, seen, { draft: { ...draftOf(fields), faults: [{ field: 'reason_code', text: 'Choose a reason for the denial.' }] }, status })
  }
  return onePage(request, context, seen, { said: refusedNotice(seen, why), status })
}

function refusedNotice ({ record }: Seen, why: Exclude<Why, 'not_confirmed' | 'reason_missing'>): Html {
  if (why === 'changed') return notice('stop', 'This changed since you opened it.', 'Your decision was not taken. What you see now is how it is.')
  if (why === 'expired') return notice('stop', 'The time to decide was over.', 'Your decision was not taken.')
  return notice('stop', 'Your decision was not taken.', html`${whyNot(why, record)}${why === 'sign_in_too_old' ? signInAgain(record) : null}`)
}
