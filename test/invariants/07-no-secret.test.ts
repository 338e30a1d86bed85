// Invariant 7: no secret in any answer, error, log, metric, trace or audit line. Whatever the broker ever says is gathered and searched for every
// writing of every secret that it has.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, test, type TestContext } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { startBroker } from '../../src/main.ts'
import { aval } from '../support/program.ts'
import { makeSite, startBrokerProcess, type BrokerProcess, type Site } from '../support/broker.ts'
import { startRedis } from '../support/redis.ts'
import { controlOf, eventually, inTurns, keeping, type Keep } from './ground.ts'
import { MIRROR_FILES, PLACES, READ_KEY, startMirror, tellingForms, WRITE_KEY, WRITINGS } from './mirror.ts'
import type { HostileUpstream } from '../support/hostile-upstream.ts'

const LOOKER = { roles: ['looker'], claims: {} } as const

interface Ground {
  readonly mirror: HostileUpstream
  readonly site: Site
  readonly broker: BrokerProcess
  readonly token: string
}

async function ground (keep: Keep): Promise<Ground> {
  const mirror = keep(await startMirror(), one => one.stop())
  const site = keep(
    await makeSite({ files: MIRROR_FILES(mirror.port), env: { MIRROR_READ: READ_KEY, MIRROR_WRITE: WRITE_KEY } }),
    one => one.remove(),
  )
  const broker = keep(await startBrokerProcess(site, { AVAL_LOG: 'trace' }), one => one.kill9())
  return { mirror, site, broker, token: await site.token({ ...LOOKER, run: 'run-1' }) }
}

/** Every file that the broker wrote but its keys, as Latin-1, so that bytes of any kind can be searched. */
function writtenFiles (folder: string): ReadonlyArray<readonly [path: string, text: string]> {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => !/\.(key|pem|sock)$/.test(name) && statSync(join(folder, name)).isFile())
    .map(name => [name, readFileSync(join(folder, name), 'latin1')])
}

function holdNone (forms: ReadonlyMap<string, string>, where: string, text: string): void {
  for (const [name, form] of forms) {
    const at = text.indexOf(form)
    assert.equal(at, -1, `${name} in ${where}: …${text.slice(Math.max(0, at - 200), at + 100)}…`)
  }
}

describe('no secret is ever said', { concurrency: true }, () => {
  test('whatever an upstream echoes, wherever and however: no answer, log line, metric, audit line or record holds a credential (F10)', async t => {
    const { mirror, site, broker, token } = await ground(keeping(t))
    const said: Array<readonly [where: string, text: string]> = []
    const call = async (action: string, form: string): Promise<{ readonly status: number, readonly body: any }> => {
      const answer = await broker.call(token, action, { form }, `${action}-${form}`)
      said.push([`${action} ${form}`, `${JSON.stringify([...answer.headers])}${JSON.stringify(answer.body)}`])
      return answer
    }

    // What is harmless is shown, so that nothing below is hidden by chance; and the credentials really were there.
    assert.deepEqual((await call('look.v1', 'body.nothing')).body.result, { said: 'nothing to hide' })
    assert.deepEqual((await call('act.v1', 'body.nothing')).body.result, { said: 'nothing to hide' })
    assert.equal(mirror.ledger[0]!.headers['x-mirror-key'], READ_KEY)
    assert.match(mirror.ledger[1]!.headers['authorization']!, /^Basic /)

    const forms = Object.keys(PLACES).flatMap(place => Object.keys(WRITINGS).map(writing => `${place}.${writing}`))
    // An observation is asked up to three times where nothing usable comes back: one writing is enough there.
    const slow = /^(cut|noHttp)\.(?!plain$)/
    await inTurns(forms.filter(form => !slow.test(form)), async form => {
      const { body } = await call('look.v1', form)
      if (form.startsWith('body.') || form.startsWith('hidden.') || form.startsWith('name.')) assert.equal(body.error?.code, 'RESULT_WITHHELD', form)
    })
    await inTurns(Object.keys(WRITINGS).map(writing => `header.${writing}`), async form => {
      assert.equal((await call('look_header.v1', form)).body.error?.code, 'RESULT_WITHHELD', form)
    })
    // Writes: completed and withheld, refused, unknown and looked up (the look-up shows it too), pending with a reference that is one.
    await inTurns(forms.filter(form => /^(body|header|fault|redirect|page|reason)\./.test(form)), async form => {
      const { body } = await call('act.v1', form)
      if (form.startsWith('body.')) assert.deepEqual([body.outcome, body.result, body.withheld], ['completed', null, 'RESULT_WITHHELD'], form)
    })
    await inTurns(Object.keys(WRITINGS).map(writing => `pending.${writing}`), async form => { await call('act.v1', form) })
    // Facts: a secret becomes a value and the id of a target.
    await inTurns(Object.keys(WRITINGS).map(writing => `body.${writing}`), async form => { await call('follow.v1', form) })

    await eventually(async () => (await broker.metrics()).includes('aval_lookups_total{'), 'look-ups were made')
    const listed = await broker.get(token, '/v1/attempts?limit=200')
    said.push(['the attempts of the run', JSON.stringify(listed.body)])
    for (const path of ['/v1/actions', '/v1/actions/act.v1', '/openapi.json', '/docs']) {
      const answer = await fetch(`${broker.agentsUrl}${path}`, { headers: { authorization: `Bearer ${token}` } })
      said.push([path, await answer.text()])
    }
    said.push(['the metrics', await broker.metrics()], ...await commandsSay(t, site, broker, token))
    assert.equal(await broker.stop(), 0)
    said.push(['the log', broker.log()], ...writtenFiles(join(site.folder, 'data')))
    assert.match(broker.log(), /"level":"?(trace|debug|info|20|30|10)/, 'the log was kept')
    const telling = tellingForms()
    for (const [where, text] of said) holdNone(telling, where, text)
  })

  test('access tokens, good, bad and misplaced, and the key of the HMACs are in no log line, audit line, metric or record (F10)', async t => {
    const { site, broker, token } = await ground(keeping(t))
    const [header, payload, signature] = token.split('.') as [string, string, string]
    const bad = `${header}.${payload}.${signature.slice(0, -6)}AAAAAA`
    const answers: string[] = []
    for (const authorization of [
      `Bearer ${token}`,
      `Bearer ${bad}`,
      token,
      `Basic ${token}`,
      `Bearer ${token}, Bearer ${token}`,
      `Bearer ${token} x`,
    ]) {
      for (const path of [
        '/v1/actions',
        '/v1/attempts',
        `/v1/attempts/${token}`,
        `/v1/actions/${payload}`,
        `/nowhere?access_token=${token}`,
        `/v1/actions?cursor=${token}&query=${token.slice(0, 90)}`,
      ]) {
        const answer = await fetch(`${broker.agentsUrl}${path}`, { headers: { authorization } })
        answers.push(JSON.stringify([...answer.headers]) + await answer.text())
      }
    }
    // Sent as an argument, a key, a reason, a name: it is the agent's own, and no more welcome in a log.
    for (const [action, args, key] of [
      ['look.v1', { form: signature.slice(0, 60) }, 'k'],
      ['look.v1', { form: 7, [signature]: 1 }, 'k'],
      ['act.v1', { form: 'body.nothing' }, signature],
    ] as const) {
      answers.push(JSON.stringify((await broker.call(token, action, args, key)).body))
    }
    const metrics = await broker.metrics()
    assert.equal(await broker.stop(), 0)
    const aval = readFileSync(site.env['AVAL_KEY']!.slice('file:'.length), 'utf8').trim()
    const key = new Map([['the key', aval], ['the key in hex', Buffer.from(aval, 'base64').toString('hex')]])
    const tokens = new Map([['the token', token], ['its payload', payload], ['its signature', signature.slice(0, 40)]])
    for (const text of answers) holdNone(key, 'an answer', text)
    for (const [where, text] of [['the log', broker.log()], ['the metrics', metrics], ...writtenFiles(join(site.folder, 'data'))] as const) {
      holdNone(key, where, text)
      holdNone(tokens, where, text)
    }
  })

  test('the password of Redis and a secret written into a sheet are told by no fault at start, at reload or later (F10)', async t => {
    const keep = keeping(t)
    const password = 'cnryRedisPassw0rd/+%'
    const redis = keep(await startRedis({ settings: ['--requirepass', password] }), one => one.stop())
    const url = (word: string): string => `redis://:${encodeURIComponent(word)}@127.0.0.1:${redis.port}`
    const mirror = keep(await startMirror(), one => one.stop())
    const env = { MIRROR_READ: READ_KEY, MIRROR_WRITE: WRITE_KEY, AVAL_LOG: 'trace' }
    const site = keep(await makeSite({ files: MIRROR_FILES(mirror.port), env: { ...env, AVAL_STATE: url(password) } }), one => one.remove())
    const said: string[] = []
    const fails = async (more: Record<string, string>): Promise<void> => {
      const ended = await aval(t, ['serve'], { env: { ...site.env as Record<string, string>, ...more } })
      assert.equal(ended.code, 2, ended.stderr)
      said.push(ended.stdout, ended.stderr)
    }
    const failsHere = (state: string): Promise<void> =>
      assert.rejects(
        async () => startBroker(readConfig({ ...site.env, AVAL_STATE: state })),
        (error: Error) => said.push(inspect(error, { depth: 10 })) > 0,
      )
    await Promise.all([
      fails({ AVAL_STATE: url(`${password}wrong`) }),
      fails({
        AVAL_STATE: `redis://:${password}@127.0.0.1:notaport`,
        AVAL_KEY: `env:${password}`,
        AVAL_JWKS: `https://user:${password}@issuer.example`,
      }),
      failsHere(url(password).replace(/\d+$/, '1')),
      failsHere(`${url(password)}/notanumber`),
    ])
    const broker = keep(await startBrokerProcess(site, { AVAL_LOG: 'trace' }), one => one.kill9())
    const token = await site.token({ ...LOOKER, run: 'run-1' })
    assert.equal((await broker.call(token, 'act.v1', { form: 'body.nothing' }, 'k')).body.outcome, 'completed')
    // Somebody writes the secret itself where its reference belongs.
    const upstreamFile = join(site.folder, 'actions', 'mirror', 'upstream.yaml')
    const sheet = readFileSync(upstreamFile, 'utf8')
    for (const wrong of [`"${WRITE_KEY}"`, `"vault ${WRITE_KEY}"`, `"env:${WRITE_KEY}!"`, `["${WRITE_KEY}"]`, `{"${WRITE_KEY}": 1}`]) {
      writeFileSync(upstreamFile, sheet.replace('"env:MIRROR_WRITE"', wrong))
      const reload = await controlOf(site, { command: 'reload' })
      assert.equal(reload.ok, false)
      said.push(JSON.stringify(reload))
    }
    await redis.kill9()
    said.push(JSON.stringify((await broker.call(token, 'act.v1', { form: 'body.plain' }, 'k2')).body))
    said.push(await (await fetch(`${broker.operationsUrl}/readyz`)).text(), await broker.metrics())
    assert.equal(await broker.stop(), 0)
    said.push(broker.log())
    const forms = new Map([...tellingForms(), ['the password', password], ['the password in a URL', encodeURIComponent(password)]])
    for (const text of said) holdNone(forms, 'what was said', text)
  })
})

async function commandsSay (
  t: TestContext,
  site: Site,
  broker: BrokerProcess,
  token: string,
): Promise<ReadonlyArray<readonly [where: string, text: string]>> {
  const tokenFile = join(site.folder, 'token')
  writeFileSync(tokenFile, token, { mode: 0o600 })
  const env = site.env as Record<string, string>
  const said: Array<readonly [string, string]> = []
  const run = async (...words: readonly string[]): Promise<void> => {
    const { stdout, stderr } = await aval(t, words, { env })
    said.push([words.join(' '), `${stdout}${stderr}`])
  }
  const call = (action: string, form: string): Promise<void> => run(
    'call',
    action,
    '--arg',
    `form=${form}`,
    '--token-file',
    tokenFile,
    '--url',
    broker.agentsUrl,
  )
  await call('look.v1', 'body.plain')
  await call('act.v1', 'fault.json')
  await run('attempts', '--unknown')
  await run('reload', '--json')
  await run('audit', 'verify', join(site.folder, 'data', 'audit'), '--json')
  return said
}
