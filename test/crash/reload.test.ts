// The sheets change while calls fly.
import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { askControl } from '../../src/http/control.ts'
import type { Reached, Site } from '../support/broker.ts'
import { aval } from '../support/program.ts'
import { makeRig, serve, until } from './rig.ts'

const sheetOf = (site: Site, name: string): string => join(site.folder, 'actions', 'works', `${name}.yaml`)

/** Both halves of the sheet say which edition it is: what is asked of the upstream, and what is shown of its answer. */
function edition (text: string, number: number): string {
  return text
    .replace('item: "${args.item}"', `item: "e${number}-\${args.item}"`)
    .replace('found.value().item == args.item', `found.value().item == 'e${number}-' + args.item`)
    .replace('{work_id: "${response.body.id}"}', `{work_id: "e${number}-\${response.body.item}"}`)
}

async function controlSocket (site: Site): Promise<string> {
  return join(site.folder, 'data', 'control.sock')
}

test('reloads of good and bad sets under load: every call is of one edition, whole; a bad set changes nothing and tells its faults', async t => {
  const rig = await makeRig(t)
  const { works, site, token } = rig
  const sheet = sheetOf(site, 'do_work.v1')
  const original = readFileSync(sheet, 'utf8')
  writeFileSync(sheet, edition(original, 0))
  const broker = await serve(t, rig)
  works.onWrite = asked => setTimeout(() => asked.honest(), 3)
  const answers: Reached[] = []
  let open = true
  const agent = async (name: string): Promise<void> => {
    for (let call = 0; open; call++) {
      answers.push(await broker.call(token, 'do_work.v1', { item: `${name}-${call}`, amount: 1 }, `key-${name}-${call}`))
    }
  }
  const agents = ['a', 'b', 'c', 'd'].map(agent)
  let faults = 0
  for (let number = 1; number <= 12; number++) {
    const before = answers.length
    await until('calls go on', () => answers.length >= before + 10)
    const bad = number % 3 === 0
    writeFileSync(sheet, bad ? edition(original, number).replace('args.amount}', 'args.amuont}') : edition(original, number))
    if (number % 2 === 0) {
      broker.signal('SIGHUP')
      const told = bad ? /the catalog stays as it was/g : /the catalog was reloaded/g
      const wanted = bad ? number / 6 : [2, 4, 8, 10].indexOf(number) + 1
      await until(`edition ${number} is ${bad ? 'refused' : 'taken'}`, () => (broker.log().match(told) ?? []).length === wanted)
      if (bad) assert.match(broker.log(), /do_work\.v1\.yaml:\d+:\d+ /)
    } else {
      const answer = await askControl(await controlSocket(site), { command: 'reload' })
      assert.equal(answer.ok, !bad, JSON.stringify(answer))
      if (!answer.ok) {
        const [fault] = answer.error.faults ?? []
        assert.match(fault!.file, /do_work\.v1\.yaml$/)
        assert.ok(fault!.line > 1 && fault!.column > 1 && /amuont/.test(fault!.message), JSON.stringify(fault))
        faults += 1
      }
    }
  }
  open = false
  await Promise.all(agents)
  assert.equal(faults, 2)
  const editions = new Set<string>()
  for (const { status, body } of answers) {
    assert.deepEqual([status, body.outcome], [200, 'completed'], JSON.stringify(body))
    const [, shown, sent] = /^e(\d+)-e(\d+)-/.exec(body.result.work_id) ?? []
    assert.equal(shown, sent, `asked by one edition and shown by another: ${body.result.work_id}`)
    editions.add(shown!)
  }
  for (const bad of ['3', '6', '9', '12']) assert.ok(!editions.has(bad), `edition ${bad} has a fault`)
  assert.ok(editions.size >= 6, `only editions ${[...editions].join(', ')} were met`)
  assert.equal(works.effects.length, answers.length)
})

test('an unknown attempt of an action that was removed is still looked up by the definition that it was begun with', async t => {
  const rig = await makeRig(t)
  const { works, site, token } = rig
  const broker = await serve(t, rig)
  works.onWrite = asked => {
    asked.apply()
    asked.socket.destroy()
  }
  works.onRead = asked => asked.answer(503, {})
  const { body } = await broker.call(token, 'do_work.v1', { item: 'orphan', amount: 1 }, 'key-1')
  assert.equal(body.outcome, 'unknown')
  const sheet = sheetOf(site, 'do_work.v1')
  const text = readFileSync(sheet, 'utf8')
  const policy = join(site.folder, 'actions', 'policy.yaml')
  const granted = readFileSync(policy, 'utf8')
  rmSync(sheet)
  writeFileSync(policy, granted.replace('do_work.v1, ', ''))
  assert.equal((await askControl(await controlSocket(site), { command: 'reload' })).ok, true)
  const gone = await broker.call(token, 'do_work.v1', { item: 'other', amount: 1 }, 'key-2')
  assert.deepEqual([gone.status, gone.body.error.code], [404, 'UNKNOWN_ACTION'])
  assert.equal((await broker.get(token, `/v1/attempts/${body.attempt_id}`)).status, 404, 'what may not be called is not shown')
  works.onRead = asked => asked.honest()
  await until('nothing is unknown any more', async () => {
    const answer = await askControl(await controlSocket(site), { command: 'attempts', unknown: false })
    return answer.ok && (answer.result as { attempts: unknown[] }).attempts.length === 0
  })
  writeFileSync(sheet, text.replace('Does one piece of work on one item.', 'Does one piece of work on one item, as before.'))
  writeFileSync(policy, granted)
  assert.equal((await askControl(await controlSocket(site), { command: 'reload' })).ok, true)
  const settled = await broker.get(token, `/v1/attempts/${body.attempt_id}`)
  assert.deepEqual([settled.body.outcome, settled.body.evidence.source, settled.body.result], ['completed', 'lookup', { work_id: 'work_1' }])
  assert.equal(works.writes.length, 1)
})

test('a call in flight ends by the definition that it began with, whatever was reloaded meanwhile', async t => {
  const rig = await makeRig(t)
  const { works, site, token } = rig
  const broker = await serve(t, rig)
  let release = (): void => {}
  works.onWrite = asked => { release = () => asked.honest() }
  const call = broker.call(token, 'do_work.v1', { item: 'in flight', amount: 1 }, 'key-1')
  await until('the write has arrived', () => works.writes.length === 1)
  const sheet = sheetOf(site, 'do_work.v1')
  writeFileSync(sheet, edition(readFileSync(sheet, 'utf8'), 7))
  assert.equal((await askControl(await controlSocket(site), { command: 'reload' })).ok, true)
  release()
  assert.deepEqual((await call).body.result, { work_id: 'work_1' })
  const repeat = await broker.call(token, 'do_work.v1', { item: 'in flight', amount: 1 }, 'key-1')
  assert.deepEqual([repeat.body.duplicate, repeat.body.result], [true, { work_id: 'work_1' }])
})

test('`aval reload` says with its exit code and its output what came of it', async t => {
  const rig = await makeRig(t)
  const { site } = rig
  await serve(t, rig)
  const env = site.env as { readonly [name: string]: string }
  const good = await aval(t, ['reload'], { env })
  assert.deepEqual([good.code, good.stdout], [0, ''], good.stderr)
  assert.match(good.stderr, /nothing is different/)
  writeFileSync(sheetOf(site, 'get_item.v1'), readFileSync(sheetOf(site, 'get_item.v1'), 'utf8').replace(/^title: .*$/m, 'title: Another title'))
  const other = await aval(t, ['reload'], { env })
  assert.match(other.stderr, /the catalog was reloaded: \d+ actions\n/)
  writeFileSync(sheetOf(site, 'get_item.v1'), 'action: get_item\nversion: one\n')
  const bad = await aval(t, ['reload'], { env })
  assert.equal(bad.code, 1, bad.stderr)
  assert.match(bad.stdout, /get_item\.v1\.yaml:2:\d+ \S+ /)
  assert.match(bad.stderr, /the catalog stays as it was/)
})

test('two reloads at once: the files as they are now are what is in force', async t => {
  const rig = await makeRig(t)
  const { site, token } = rig
  const broker = await serve(t, rig)
  const sheet = sheetOf(site, 'do_work.v1')
  const original = readFileSync(sheet, 'utf8')
  for (let number = 1; number <= 5; number++) {
    writeFileSync(sheet, edition(original, 0))
    const first = askControl(await controlSocket(site), { command: 'reload' })
    writeFileSync(sheet, edition(original, number))
    const second = await askControl(await controlSocket(site), { command: 'reload' })
    assert.equal(second.ok && (await first).ok, true)
    const { body } = await broker.call(token, 'do_work.v1', { item: 'x', amount: number }, `key-${number}`)
    assert.equal(body.result.work_id, `e${number}-e${number}-x`)
  }
})
