// The failpoints: that each stands in the code, once, and that one that is armed does what it says and says so before it does.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { parseFailpoints } from '../src/config-values.ts'
import { armFailpoints, failpoint, FAILPOINTS, FailpointReached, passFailpoint } from '../src/failpoints.ts'

function reportFile (t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'aval-failpoints-'))
  t.after(() => {
    armFailpoints(null, '')
    rmSync(folder, { recursive: true })
  })
  return join(folder, 'failpoints.log')
}

test('every failpoint stands in the code exactly once, by the call that fits it', () => {
  const code = globSync('src/**/*.ts').filter(path => path !== 'src/failpoints.ts').map(path => readFileSync(path, 'utf8')).join('\n')
  const waiting = [...code.matchAll(/await failpoint\('(\w+)'\)/g)].map(match => match[1])
  const passing = [...code.matchAll(/(?<!await )passFailpoint\('(\w+)'\)/g)].map(match => match[1])
  const named = (kind: string): string[] => Object.entries(FAILPOINTS).filter(([, how]) => how === kind).map(([name]) => name)
  assert.deepEqual(waiting.sort(), named('waits').sort())
  assert.deepEqual(passing.sort(), named('passes').sort())
  assert.equal(code.match(/ailpoint\('/g)!.length, waiting.length + passing.length, 'there is no other call')
})

test('unless it is armed, a failpoint is nothing to wait for', () => {
  assert.equal(failpoint('after_mark'), undefined)
  passFailpoint('after_head')
})

test('an armed failpoint is written down before it fires, and others do nothing', async t => {
  const report = reportFile(t)
  armFailpoints(parseFailpoints('after_mark:error,before_settle:sleep(30),after_head:stall(30)'), report)
  await assert.rejects(failpoint('after_mark')!, FailpointReached)
  const startedAtMs = performance.now()
  await failpoint('before_settle')
  passFailpoint('after_head')
  assert.ok(performance.now() - startedAtMs >= 59)
  await failpoint('before_mark')
  assert.equal(readFileSync(report, 'utf8'), 'after_mark error\nbefore_settle sleep\nafter_head stall\n')
})

test('of those who pass, its share is met', async t => {
  const report = reportFile(t)
  armFailpoints(parseFailpoints('after_mark:error@0.3,before_mark:error@0'), report)
  let met = 0
  for (let one = 0; one < 1_000; one++) await failpoint('after_mark')!.catch(() => { met += 1 })
  for (let one = 0; one < 100; one++) await failpoint('before_mark')
  assert.ok(met > 200 && met < 400, String(met))
  assert.equal(readFileSync(report, 'utf8').split('\n').length - 1, met)
})

test('kill is SIGKILL, and nothing runs after it', t => {
  const report = reportFile(t)
  const code = `
    import { parseFailpoints } from './src/config-values.ts'
    import { armFailpoints, passFailpoint } from './src/failpoints.ts'
    armFailpoints(parseFailpoints('after_head:kill'), ${JSON.stringify(report)})
    process.stdout.write('before')
    passFailpoint('after_head')
    process.stdout.write('after')`
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' })
  assert.deepEqual([ended.signal, ended.stdout], ['SIGKILL', 'before'])
  assert.equal(readFileSync(report, 'utf8'), 'after_head kill\n')
})
