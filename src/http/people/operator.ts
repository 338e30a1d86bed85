// The routes of operators: attempts whose fate nobody knows yet, runs under way, and the broker itself.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { CatalogFaults, type Json } from '../../catalog/catalog.ts'
import type { AttemptRecord } from '../../attempts/attempt.ts'
import type { AboutAttempt, OperatorDesk, Person } from '../../consent/desk.ts'
import { Refusal } from '../../errors.ts'
import { sendJson } from '../envelope.ts'
import type { PeopleContext } from './context.ts'
import { readForm, type Fields } from './form.ts'
import { requireForm, wantsJson } from './guard.ts'
import { html, type Content, type Html } from './html.ts'
import { form, notice, sendPage, type Page } from './layout.ts'
import { attemptPage, brokerPage, NO_ANSWER, runsPage, unresolvedPage, type ResolveDraft } from './pages/operator.ts'
import { PageRefusal, REFUSALS } from './refusal.ts'
import { untrusted } from './written.ts'

const NOTE_MAX = 500
const CONFIG = { plane: 'people', auth: 'session', role: 'operator' } as const
const POSTED = { ...CONFIG, takesBody: true } as const
const SAID = { querystring: { type: 'object', properties: { said: { type: 'string' } } } }
/** To open what somebody locked, an operator proves who they are once more. */
const UNLOCK_MAX_AGE_S = 300

export function addOperatorRoutes (app: FastifyInstance, context: PeopleContext): void {
  const { operator, sessions } = context
  const send = (request: FastifyRequest, reply: FastifyReply, page: Page, json: () => object): FastifyReply =>
    wantsJson(request) ? sendJson(reply, page.status ?? 200, json()) : sendPage(reply, page, request.visitor, sessions)

  app.get('/operator', { exposeHeadRoute: false, config: CONFIG, schema: SAID }, async (request, reply) => {
    const attempts = await operator.unresolved(person(request))
    const about = await Promise.all(attempts.map(record => operator.about(person(request), record)))
    const said = request.asked.get('said') === 'resolved' ? notice('done', 'It is written down.', 'The agent learns of it when it asks again.') : null
    return send(request, reply, unresolvedPage(attempts.map((record, at) => ({ record, about: about[at]! })), said), () => ({ ok: true, attempts: attempts.map(told) }))
  })

  app.get<{ Params: { id: string } }>('/operator/attempts/:id', { exposeHeadRoute: false, config: CONFIG }, async (request, reply) => {
    const { record, about } = await attempt(request.params.id, request, operator)
    const page = attemptPage({ record, about }, inside => own(request, context, `/operator/attempts/${record.id}/resolve`, inside), NO_ANSWER)
    return send(request, reply, page, () => ({ ok: true, attempt: told(record) }))
  })

  app.post<{ Params: { id: string } }>('/operator/attempts/:id/resolve', { config: { ...POSTED, page: '/operator/attempts/:id' } }, async (request, reply) => {
    const fields = await readForm(request, reply, ['click', 'token', 'outcome', 'code', 'note'])
    requireForm(request, fields, sessions)
    return resolve(request.params.id, fields, request, reply, context)
  })

  // What was refused there stands at that address; opened again it is the page of the form.
  app.get<{ Params: { id: string } }>('/operator/attempts/:id/resolve', { exposeHeadRoute: false, config: CONFIG }, async (request, reply) =>
    reply.redirect(`/operator/attempts/${encodeURIComponent(request.params.id)}`, 303))

  addRunRoutes(app, context)
  addBrokerRoutes(app, context)
}

const person = (request: FastifyRequest): Person => request.visitor!.person

const own = (request: FastifyRequest, { sessions }: PeopleContext, action: string, inside: Content): Html =>
  form(sessions.formToken(request.visitor!.session, action), action, inside)

async function attempt (id: string, request: FastifyRequest, operator: OperatorDesk): Promise<{ record: AttemptRecord, about: AboutAttempt }> {
  const found = (await operator.unresolved(person(request))).find(record => record.id === id)
  if (found === undefined) throw new PageRefusal(REFUSALS.missing, { href: '/operator', label: 'Unresolved attempts' })
  return { record: found, about: await operator.about(person(request), found) }
}

const told = ({ id, state, action, owner, key, reference, missing, lookups, correlationId }: AttemptRecord): object =>
  ({ id, state, action, tenant: owner.tenant, run: owner.run, upstream_key: key, reference, missing, lookups, correlation_id: correlationId })

async function resolve (id: string, fields: Fields, request: FastifyRequest, reply: FastifyReply, context: PeopleContext): Promise<FastifyReply> {
  const { operator } = context
  const [outcome, code, note] = [fields.get('outcome'), (fields.get('code') ?? '').trim(), (fields.get('note') ?? '').trim()]
  const faults: string[] = []
  if (outcome !== 'completed' && outcome !== 'rejected') faults.push('Say what you found: whether it took effect.')
  if (note === '' || [...note].length > NOTE_MAX) faults.push(`Say how you know, in at most ${NOTE_MAX} characters.`)
  if (outcome === 'completed' && code !== '') faults.push('A code says why a call had no effect: take it away, or say that it had none.')
  const refused = async (all: readonly string[]): Promise<FastifyReply> => {
    if (wantsJson(request)) return sendJson(reply, 422, { ok: false, why: 'malformed', message: all.join(' ') })
    const found = await attempt(id, request, operator)
    const draft: ResolveDraft = { outcome: outcome ?? '', code, note: note.slice(0, 20_000), faults: all }
    return sendPage(reply, attemptPage(found, inside => own(request, context, request.url, inside), draft), request.visitor, context.sessions)
  }
  if (faults.length > 0) return refused(faults)
  try {
    const found = outcome as 'completed' | 'rejected'
    const result = await operator.resolve(person(request), { id, outcome: found, code: code === '' ? null : code, note })
    return wantsJson(request) ? sendJson(reply, 200, { ok: true, result }) : reply.redirect('/operator?said=resolved', 303)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === 'NOT_FOUND') throw error
    return refused([error.message])
  }
}

function addRunRoutes (app: FastifyInstance, context: PeopleContext): void {
  const { operator, sessions } = context
  const page = async (request: FastifyRequest, said: Html | null): Promise<Page> =>
    runsPage(await operator.runs(person(request)), inside => own(request, context, '/operator/runs/stop', inside), said)

  app.get('/operator/runs', { exposeHeadRoute: false, config: CONFIG, schema: SAID }, async (request, reply) => {
    if (wantsJson(request)) return sendJson(reply, 200, { ok: true, runs: await operator.runs(person(request)) })
    const stopped = request.asked.get('said') === 'stopped'
    const said = stopped ? notice('done', 'The run is stopped.', 'None of its calls is admitted any more, and what it proposed is void. What was sent already goes on.') : null
    return sendPage(reply, await page(request, said), request.visitor, sessions)
  })

  app.post('/operator/runs/stop', { config: { ...POSTED, page: '/operator/runs' } }, async (request, reply) => {
    const fields = await readForm(request, reply, ['click', 'token', 'iss', 'sub', 'tenant', 'run', 'note'])
    requireForm(request, fields, sessions)
    const [iss, sub, tenant, run] = ['iss', 'sub', 'tenant', 'run'].map(name => fields.get(name) ?? '') as [string, string, string, string]
    if ([iss, sub, tenant, run].some(text => text === '')) throw new PageRefusal(REFUSALS.malformed)
    const note = (fields.get('note') ?? '').trim()
    if (note === '' || [...note].length > NOTE_MAX) {
      const { status, json, said } = failed(422, 'note_missing', `Say why, in at most ${NOTE_MAX} characters. The run goes on.`)
      return wantsJson(request) ? sendJson(reply, status, json) : sendPage(reply, { ...await page(request, said), status }, request.visitor, sessions)
    }
    await operator.stopRun(person(request), { iss, sub, tenant, run }, note)
    return wantsJson(request) ? sendJson(reply, 200, { ok: true, stopped: true }) : reply.redirect('/operator/runs?said=stopped', 303)
  })
}

type Act = 'reload' | 'lock' | 'unlock'

function addBrokerRoutes (app: FastifyInstance, context: PeopleContext): void {
  const { operator, sessions } = context
  const page = async (request: FastifyRequest, said: Html | null, status = 200): Promise<Page> => {
    const state = await operator.lockState(person(request))
    const at = (act: Act) => (inside: Content): Html => own(request, context, `/operator/${act}`, inside)
    return { ...brokerPage(state, { reload: at('reload'), lock: at('lock'), unlock: at('unlock') }, mayUnlock(request), said), status }
  }

  app.get('/operator/broker', { exposeHeadRoute: false, config: CONFIG }, async (request, reply) => {
    if (wantsJson(request)) return sendJson(reply, 200, { ok: true, ...await operator.lockState(person(request)) })
    return sendPage(reply, await page(request, null), request.visitor, sessions)
  })

  for (const act of ['reload', 'lock', 'unlock'] as const) {
    app.get(`/operator/${act}`, { exposeHeadRoute: false, config: CONFIG }, async (_request, reply) => reply.redirect('/operator/broker', 303))
    app.post(`/operator/${act}`, { config: { ...POSTED, page: '/operator/broker' } }, async (request, reply) => {
      const fields = await readForm(request, reply, act === 'reload' ? ['click', 'token'] : ['click', 'token', 'note'])
      requireForm(request, fields, sessions)
      const note = (fields.get('note') ?? '').trim()
      const done = await perform(act, note, request, operator)
      if (wantsJson(request)) return sendJson(reply, done.status, done.json)
      return sendPage(reply, await page(request, done.said, done.status), request.visitor, sessions)
    })
  }

  const mayUnlock = (request: FastifyRequest): boolean => context.nowMs() / 1_000 - person(request).authTimeS <= UNLOCK_MAX_AGE_S

  async function perform (act: Act, note: string, request: FastifyRequest, desk: OperatorDesk): Promise<Performed> {
    if (act !== 'reload' && (note === '' || [...note].length > NOTE_MAX)) return failed(422, 'note_missing', `Say why, in at most ${NOTE_MAX} characters.`)
    if (act === 'unlock' && !mayUnlock(request)) return failed(403, 'sign_in_too_old', 'Sign in again first: unlocking asks for a fresh sign-in.')
    try {
      const result = act === 'reload' ? await desk.reload(person(request)) : await desk[act](person(request), note)
      return { status: 200, json: { ok: true, result }, said: doneNotice(act, result) }
    } catch (error) {
      if (error instanceof CatalogFaults) return faulty(error)
      if (error instanceof Refusal) return failed(error.status, error.code.toLowerCase(), error.message)
      throw error
    }
  }
}

interface Performed { readonly status: number, readonly json: object, readonly said: Html }

/** A lock is no success: it is told as what it is, and who made it stands with the state below. */
function doneNotice (act: Act, result: Json): Html {
  if (act === 'reload') return notice('done', DONE[act], reloaded(result))
  const already = (result as { readonly already?: boolean }).already === true
  if (act === 'unlock') return notice('done', already ? 'The broker was not locked.' : DONE[act])
  return notice('note', already ? 'The broker was locked already.' : DONE[act])
}

const DONE: Record<Act, string> = {
  reload: 'The sheets were read again.', lock: 'The broker is locked.', unlock: 'The broker is unlocked.',
}

const reloaded = (result: Json): Html | null => {
  const { actions, digest, changed } = result as { readonly actions?: number, readonly digest?: string, readonly changed?: boolean }
  return actions === undefined ? null : html`${changed === false ? 'Nothing is different: ' : ''}${actions} actions are in force, under the digest <code>${(digest ?? '').slice(0, 12)}</code>.`
}

const failed = (status: number, why: string, message: string): Performed =>
  ({ status, json: { ok: false, why, message }, said: notice('stop', 'That was not done.', message) })

function faulty (error: CatalogFaults): Performed {
  const lines = error.faults.map(fault => `${fault.file}:${fault.line}:${fault.column} ${fault.rule} ${fault.message}`)
  const said = html`<div class="notice stop" role="alert"><p><strong>The sheets have faults. What was in force stays in force.</strong></p>
<ul>${lines.slice(0, 50).map(line => html`<li>${untrusted(line)}</li>`)}</ul></div>`
  return { status: 422, json: { ok: false, why: 'catalog_faults', message: `${lines.length} faults`, faults: lines }, said }
}
