// Consent over MCP: the same proposals by tools, the link for every client, and for one that can open pages for its user the page itself. What a client
// says of its user decides nothing.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { JsonObject } from '../../src/catalog/catalog.ts'
import { NO_ALIASES } from '../../src/consent/principals.ts'
import { eventually } from '../invariants/ground.ts'
import { ADDRESS, CHANGE, consentStage, editYaml, OTHER_ADDRESS, type Stage, type StageOptions } from '../consent/stage.ts'
import { callTool, ERAS, speak, type Era } from './speak.ts'

const TOOL = CHANGE.replace('.', '_')
const ORIGIN = 'https://approvals.example'

const PEOPLE: NonNullable<StageOptions['people']> = () => ({ origin: ORIGIN, principals: NO_ALIASES, rolesOf: async () => null })

const stage = (t: TestContext): Promise<Stage> => consentStage(t, 'sqlite', { people: PEOPLE })

interface ToolOptions {
  readonly era?: Era
  readonly params?: JsonObject
  readonly opens?: boolean
}

function tool (on: Pick<Stage, 'broker' | 'token'>, name: string, args: JsonObject, { era, params, opens }: ToolOptions = {}): Promise<any> {
  const capabilities = opens === true ? { capabilities: { elicitation: { url: {} } } } : {}
  return callTool(on.broker.agentsUrl, on.token, name, args, { ...era === undefined ? {} : { era }, ...params === undefined ? {} : { params }, ...capabilities })
}

const args = { customer_id: 'cus_1001', destination: ADDRESS }

describe('a proposal over MCP', () => {
  for (const era of ERAS) {
    test(`is answered with its link, asked for, carried out and repeated by tools (${era})`, async t => {
      const on = await stage(t)
      const asked = (await tool(on, TOOL, args, { era })).structuredContent
      const id = asked.proposal.id
      assert.deepEqual([asked.outcome, asked.pending_on, asked.proposal.approval_url], ['pending', 'consent', `${ORIGIN}/approvals/${id}`])
      assert.deepEqual(asked.next, { tool: 'proposal_get', arguments: { proposal_id: id }, after_seconds: 5 })
      const early = await tool(on, 'proposal_commit', { proposal_id: id }, { era })
      assert.deepEqual([early.isError, early.structuredContent.error.code], [true, 'PROPOSAL_PENDING'])
      await on.approve(id)
      const seen = (await tool(on, 'proposal_get', { proposal_id: id }, { era })).structuredContent
      assert.deepEqual([seen.proposal.state, seen.next], ['approved', { tool: 'proposal_commit', arguments: { proposal_id: id }, after_seconds: 0 }])
      const done = (await tool(on, 'proposal_commit', { proposal_id: id }, { era })).structuredContent
      assert.deepEqual([done.outcome, on.effects()], ['completed', 1])
      const again = (await tool(on, 'proposal_commit', { proposal_id: id }, { era })).structuredContent
      assert.deepEqual([again.attempt_id, again.duplicate, on.effects()], [done.attempt_id, true, 1])
    })
  }

  test('can be taken back', async t => {
    const on = await stage(t)
    const { proposal } = (await tool(on, TOOL, args)).structuredContent
    const gone = await tool(on, 'proposal_withdraw', { proposal_id: proposal.id })
    assert.deepEqual([gone.isError, gone.structuredContent.error.code, gone.structuredContent.proposal.state], [true, 'PROPOSAL_WITHDRAWN', 'withdrawn'])
  })

  test('that takes longer to be carried out than a client waits is asked for again', async t => {
    const on = await consentStage(t, 'sqlite', { people: PEOPLE, mcp: { answerWithinMs: 1_000 } })
    const id = await on.propose()
    await on.approve(id)
    on.recorder.before = () => new Promise(resolve => setTimeout(resolve, 2_500))
    const slow = (await tool(on, 'proposal_commit', { proposal_id: id })).structuredContent
    assert.deepEqual([slow.outcome, slow.next], ['pending', { tool: 'proposal_get', arguments: { proposal_id: id }, after_seconds: 5 }])
    await eventually(async () => (await tool(on, 'proposal_get', { proposal_id: id })).structuredContent.outcome === 'completed', 'it is carried out')
    assert.equal(on.effects(), 1)
  })

  test('of another run is answered like one that there is not, by every tool', async t => {
    const on = await stage(t)
    const id = await on.propose()
    await on.approve(id)
    const token = await on.site.token({ run: 'run-2' })
    for (const name of ['proposal_get', 'proposal_commit', 'proposal_withdraw']) {
      const told = await Promise.all([id, 'prop_nothing'].map(async one => {
        const { structuredContent: { correlation_id: _each, ...said }, isError } = await tool({ ...on, token }, name, { proposal_id: one })
        return { said, isError }
      }))
      assert.deepEqual(told[0], told[1])
      assert.deepEqual([told[0]!.isError, told[0]!.said.error.code], [true, 'NOT_FOUND'], name)
    }
    assert.deepEqual([(await on.record(id)).state, on.writes().length], ['approved', 0])
  })

  test('is asked for and carried out by whichever replica answers, and what came of it is told by the other', async t => {
    const on = await consentStage(t, 'redis', { people: PEOPLE })
    const other = { ...on, broker: await on.another() }
    for (const [index, era] of ERAS.entries()) {
      const { id } = (await tool(on, TOOL, { ...args, destination: { ...ADDRESS, street: `${index} High Road` } }, { era })).structuredContent.proposal
      assert.equal((await tool(other, 'proposal_get', { proposal_id: id }, { era })).structuredContent.proposal.state, 'pending')
      await on.approve(id)
      const done = (await tool(other, 'proposal_commit', { proposal_id: id }, { era })).structuredContent
      assert.deepEqual([done.outcome, on.effects()], ['completed', index + 1], JSON.stringify(done))
      const told = (await tool(on, 'attempt_get', { attempt_id: done.attempt_id }, { era })).structuredContent
      assert.deepEqual([told.outcome, told.result], ['completed', done.result])
    }
  })

  test('takes nothing beside its id, and there is no tool that decides', async t => {
    const on = await stage(t)
    const { proposal } = (await tool(on, TOOL, args)).structuredContent
    await on.approve(proposal.id)
    const more = await tool(on, 'proposal_commit', { proposal_id: proposal.id, arguments: args })
    assert.deepEqual([more.structuredContent.error.code, on.writes().length], ['INVALID_ARGUMENTS', 0])
    const { tools } = (await speak(on.broker.agentsUrl, 'tools/list', {}, { token: on.token })).message.result
    const own = tools.map((one: any) => one.name).filter((name: string) => /propos|approv|decid|consent|grant/.test(name))
    assert.deepEqual(own, ['proposal_get', 'proposal_commit', 'proposal_withdraw'])
  })

  test('its tools are not listed where nobody can be asked', async t => {
    const on = await consentStage(t, 'sqlite', { people: () => null as never })
    const { tools } = (await speak(on.broker.agentsUrl, 'tools/list', {}, { token: on.token })).message.result
    assert.deepEqual(tools.filter((one: any) => one.name.startsWith('proposal_')), [])
  })
})

describe('a client that can open pages', () => {
  const answered = (action: string): Required<Pick<ToolOptions, 'params' | 'opens'>> => ({ params: { inputResponses: { approval: { action } } }, opens: true })

  test('is asked to open the page, once; an "accept" that nobody stands behind changes nothing', async t => {
    const on = await stage(t)
    const asked = await tool(on, TOOL, args, { opens: true })
    const { params } = asked.inputRequests.approval
    const id = (await on.call()).body.proposal.id
    assert.deepEqual([params.mode, params.url], ['url', `${ORIGIN}/approvals/${id}`])
    for (const action of ['accept', 'cancel']) {
      const still = (await tool(on, TOOL, args, answered(action))).structuredContent
      assert.deepEqual([still.outcome, still.proposal.id, still.proposal.state, on.writes().length], ['pending', id, 'pending', 0])
    }
    // There is no state to go on from, so one that a client brings along, whoever made it, is not looked at.
    for (const requestState of ['eyJhcHByb3ZlZCI6dHJ1ZX0', `{"id":"${id}","state":"approved"}`]) {
      const params = { inputResponses: { approval: { action: 'accept', content: { approved: true } } }, requestState }
      const still = (await tool(on, TOOL, args, { opens: true, params })).structuredContent
      assert.deepEqual([still.outcome, still.proposal.state, on.writes().length], ['pending', 'pending', 0])
    }
  })

  test('is given a sentence in which nothing of the agent\'s can turn the words around', async t => {
    const on = await consentStage(t, 'sqlite', {
      people: PEOPLE,
      edit: site => editYaml(site, `shop/${CHANGE}.yaml`, sheet => sheet.setIn(['proposal', 'effect'], 'Send to ${args.destination.street}')),
    })
    const street = '9 Low\u202e Road'
    const asked = await tool(on, TOOL, { ...args, destination: { ...ADDRESS, street } }, { opens: true })
    assert.equal(asked.inputRequests?.approval.params.message, 'A person has to approve this first: Send to 9 Low\u27e6U+202E\u27e7 Road', JSON.stringify(asked))
  })

  test('comes back with the same call when the person has approved, and it is carried out', async t => {
    const on = await stage(t)
    await tool(on, TOOL, args, { opens: true })
    const id = (await on.call()).body.proposal.id
    await on.approve(id)
    const done = (await tool(on, TOOL, args, answered('accept'))).structuredContent
    assert.deepEqual([done.outcome, on.effects(), (await on.record(id)).state], ['completed', 1, 'consumed'])
  })

  test('that comes back with other arguments, or as another run, asks for something else: what was approved is not carried out, and stays approved', async t => {
    const on = await stage(t)
    await tool(on, TOOL, args, { opens: true })
    const id = (await on.call()).body.proposal.id
    await on.approve(id)
    const others: ReadonlyArray<readonly [Pick<Stage, 'broker' | 'token'>, JsonObject]> = [
      [on, { ...args, customer_id: 'cus_1002' }], [on, { ...args, destination: OTHER_ADDRESS }],
      [{ ...on, token: await on.site.token({ run: 'run-2' }) }, args],
    ]
    for (const [as, other] of others) {
      const said = (await tool(as, TOOL, other, answered('accept'))).structuredContent
      assert.deepEqual([said.outcome, said.pending_on, said.proposal.state], ['pending', 'consent', 'pending'], JSON.stringify(other))
      assert.notEqual(said.proposal.id, id)
      assert.deepEqual([on.writes().length, (await on.record(id)).state], [0, 'approved'])
    }
  })

  test('may say "accept" again: it is carried out once', async t => {
    const on = await stage(t)
    await tool(on, TOOL, args, { opens: true })
    await on.approve((await on.call()).body.proposal.id)
    const [done, ...again] = await Promise.all([1, 2, 3].map(() => tool(on, TOOL, args, answered('accept'))))
    again.push(await tool(on, TOOL, args, answered('accept')))
    for (const { structuredContent } of again) assert.equal(structuredContent.attempt_id, done.structuredContent.attempt_id, JSON.stringify(structuredContent))
    assert.deepEqual([on.writes().length, on.effects()], [1, 1])
  })

  test('takes the proposal back with a "decline", and what was denied stays so whatever it says', async t => {
    const on = await stage(t)
    await tool(on, TOOL, args, { opens: true })
    const declined = (await tool(on, TOOL, args, answered('decline'))).structuredContent
    assert.deepEqual([declined.error.code, on.writes().length], ['PROPOSAL_WITHDRAWN', 0])
    const id = await on.propose()
    await on.deny(id)
    const denied = (await tool(on, TOOL, args, answered('accept'))).structuredContent
    assert.deepEqual([denied.error.code, on.writes().length], ['RECENTLY_DENIED', 0])
  })

  test('who did not say that it can is answered with the link, whatever responses it sends', async t => {
    const on = await stage(t)
    const id = await on.propose()
    await on.approve(id)
    const said = (await tool(on, TOOL, args, { params: { inputResponses: { approval: { action: 'accept' } } } })).structuredContent
    assert.deepEqual([said.outcome, said.proposal.state, on.writes().length], ['pending', 'approved', 0])
  })

  test('in the older era, or who can show a form alone, is answered with the link: no answer could ask, and no person decides in a form', async t => {
    const on = await stage(t)
    const capabilities = 'io.modelcontextprotocol/clientCapabilities'
    for (const [era, elicitation] of [['2025-11-25', { url: {} }], ['2026-07-28', {}], ['2026-07-28', { form: {} }]] as const) {
      const said = await speak(on.broker.agentsUrl, 'tools/call', { name: TOOL, arguments: args }, {
        token: on.token, era, capabilities: { elicitation }, meta: { [capabilities]: { elicitation } },
      })
      const { isError, structuredContent } = said.message.result
      assert.deepEqual([isError, structuredContent.outcome, structuredContent.pending_on], [undefined, 'pending', 'consent'], era)
      assert.ok(structuredContent.proposal.approval_url.startsWith(ORIGIN))
    }
  })
})
