// Log lines are gathered: none is lost, none is early, and a process that ends by itself leaves none behind.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openLogSink, type LogSink } from '../../src/telemetry/log-sink.ts'

function opened (t: TestContext): { readonly sink: LogSink, readonly text: () => string } {
  const folder = mkdtempSync(join(tmpdir(), 'aval-log-'))
  const path = join(folder, 'log')
  const fd = openSync(path, 'a')
  t.after(() => {
    closeSync(fd)
    rmSync(folder, { recursive: true })
  })
  return { sink: openLogSink(fd), text: () => readFileSync(path, 'utf8') }
}

const SINK = new URL('../../src/telemetry/log-sink.ts', import.meta.url).href

/** What a process says on standard error that runs this with `sink` at hand. */
function said (script: string): Promise<string> {
  const source = `import { stderrSink } from ${JSON.stringify(SINK)}; const sink = stderrSink(); ${script}`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], { stdio: ['ignore', 'ignore', 'pipe'] })
  let text = ''
  child.stderr.on('data', chunk => { text += chunk })
  return new Promise(resolve => child.once('close', () => resolve(text)))
}

describe('the sink of the log', () => {
  test('writes what was gathered a moment later, in order, whatever the characters', async t => {
    const { sink, text } = opened(t)
    const lines = Array.from({ length: 300 }, (_, at) => `line ${at} ÆØÅ 😀\n`)
    for (const line of lines) sink.write(line)
    assert.equal(text(), '')
    while (text().length < lines.join('').length) await sleep(5)
    assert.equal(text(), lines.join(''))
  })

  test('does not let a flood wait', async t => {
    const { sink, text } = opened(t)
    for (let at = 0; at < 100; at++) sink.write(`${'x'.repeat(999)}\n`)
    sink.flushSync()
    await sleep(0)
    while (text().length < 100_000) await sleep(5)
    assert.equal(text().split('\n').length, 101)
  })

  test('leaves nothing behind when the process ends, by an exception too', async () => {
    assert.equal(await said('sink.write("last words\\n")'), 'last words\n')
    assert.match(await said('sink.write("last words\\n"); throw new Error("oh")'), /^last words\n|\nlast words\n/)
    const many = await said('for (let at = 0; at < 60; at++) sink.write(`${at} ${"y".repeat(1_000)}\\n`); process.exit(3)')
    assert.equal(many.split('\n').length, 61)
  })
})
