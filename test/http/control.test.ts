// The control socket, over real sockets in a folder of its own.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CatalogFaults } from '../../src/catalog/catalog.ts'
import { Refusal } from '../../src/errors.ts'
import { askControl, ControlUnavailable, serveControl } from '../../src/http/control.ts'
import type { ControlCommand, ControlHandlers, ControlServer } from '../../src/http/control.ts'

async function folder (t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'aval-control-'))
  t.after(() => rm(made, { recursive: true, force: true }))
  return made
}

interface Serving {
  readonly path: string
  readonly server: ControlServer
  readonly asked: ControlCommand[]
  readonly faults: unknown[]
}

async function serving (t: TestContext, path: string, handlers: Partial<ControlHandlers> = {}): Promise<Serving> {
  const asked: ControlCommand[] = []
  const faults: unknown[] = []
  const echo = async (command: ControlCommand): Promise<{ command: string }> => {
    asked.push(command)
    return { command: command.command }
  }
  const server = await serveControl(path, { reload: echo, attempts: echo, resolve: echo, 'runs stop': echo, 'state accept-loss': echo, 'vault lock': echo, 'vault unlock': echo, 'vault status': echo, ...handlers },
    error => { faults.push(error) })
  t.after(() => server.close())
  return { path, server, asked, faults }
}

/** Sends these bytes and takes whatever comes until the end. */
async function rawAsk (path: string, bytes: string | Buffer): Promise<string> {
  const socket = connect(path)
  socket.on('error', () => {})
  socket.write(bytes)
  const chunks: Buffer[] = []
  socket.on('data', chunk => { chunks.push(chunk) })
  await new Promise(resolve => { socket.once('close', resolve) })
  return Buffer.concat(chunks).toString()
}

const unavailable = (words: RegExp) => (error: unknown): boolean => error instanceof ControlUnavailable && words.test(error.message)

describe('a command is asked and answered', () => {
  const commands: readonly ControlCommand[] = [
    { command: 'reload' },
    { command: 'attempts', unknown: true },
    { command: 'resolve', id: 'att_1', outcome: 'completed', code: null, note: 'seen in the console: é\n"done"' },
    { command: 'resolve', id: 'att_1', outcome: 'rejected', code: 'NOT_APPLIED', note: 'not there' },
    { command: 'runs stop', iss: 'https://issuer.example', sub: 'agent', tenant: 'default', run: 'r-1' },
  ]
  test('every command reaches its own handler, with its words', async t => {
    const { path, asked } = await serving(t, join(await folder(t), 'control.sock'))
    for (const command of commands) assert.deepEqual(await askControl(path, command), { ok: true, result: { command: command.command } })
    assert.deepEqual(asked, commands)
  })

  test('many at once, each with its own answer, however long it takes', async t => {
    const { path } = await serving(t, join(await folder(t), 'control.sock'), {
      resolve: async command => {
        await sleep(Math.random() * 50)
        return { id: command.id, text: 'x'.repeat(200_000) }
      },
    })
    const ids = Array.from({ length: 20 }, (_, at) => `att_${at}`)
    const answers = await Promise.all(ids.map(id => askControl(path, { command: 'resolve', id, outcome: 'completed', code: null, note: 'n' })))
    assert.deepEqual(answers.map(answer => answer.ok && (answer.result as { id: string }).id), ids)
  })

  test('what a handler refuses is answered with its code; faults of a catalog one by one; anything else is told to operators too', async t => {
    const fault = { file: 'a.v1.yaml', line: 3, column: 7, rule: 'unknown-field', message: 'nope' }
    const broken = new Error('broken')
    const { path, faults } = await serving(t, join(await folder(t), 'control.sock'), {
      reload: async () => { throw new CatalogFaults([fault]) },
      attempts: async () => { throw Refusal.of('STATE_UNAVAILABLE') },
      resolve: async () => { throw broken },
    })
    const message = 'a.v1.yaml:3:7 unknown-field nope'
    assert.deepEqual(await askControl(path, { command: 'reload' }), { ok: false, error: { code: 'CATALOG_FAULTS', message, faults: [fault] } })
    const refused = await askControl(path, { command: 'attempts', unknown: false })
    assert.equal(!refused.ok && refused.error.code, 'STATE_UNAVAILABLE')
    assert.deepEqual(await askControl(path, { command: 'resolve', id: 'a', outcome: 'rejected', code: null, note: 'n' }),
      { ok: false, error: { code: 'INTERNAL', message: 'broken' } })
    assert.deepEqual(faults, [broken])
  })

  test('a question that is none is refused with what is wrong, and no handler hears of it', async t => {
    const { path, asked } = await serving(t, join(await folder(t), 'control.sock'))
    const good = { command: 'resolve', id: 'a', outcome: 'completed', code: null, note: 'n' }
    const rows: ReadonlyArray<readonly [string, RegExp]> = [
      ['nonsense', /not JSON/], ['[]', /JSON object/], ['null', /JSON object/], ['{}', /no such command; it knows reload/],
      ['{"command":"toString"}', /no such command/],
      ['{"command":"reload","command":"attempts"}', /names a key twice/], ['{"command":"reload","force":true}', /no field "force"/],
      ['{"command":"attempts"}', /"unknown"/],
      ['{"command":"attempts","unknown":"yes"}', /"unknown"/], [JSON.stringify({ ...good, outcome: 'unknown' }), /"outcome"/],
      [JSON.stringify({ ...good, note: '' }), /"note"/],
      [JSON.stringify({ ...good, code: 'NOT_APPLIED' }), /"code"/], [JSON.stringify({ ...good, outcome: 'rejected', code: 'x y' }), /"code"/],
      ['{"command":"runs stop","run":"r"}', /"iss"/],
      ['{"__proto__":{"command":"reload"}}', /not allowed/],
    ]
    for (const [line, words] of rows) {
      const answer = JSON.parse(await rawAsk(path, `${line}\n`))
      assert.equal(answer.ok, false, line)
      assert.match(answer.error.message, words, line)
    }
    assert.deepEqual(asked, [])
  })

  test('a question without an end, or one that is too long, ends its connection alone', async t => {
    const { path, asked } = await serving(t, join(await folder(t), 'control.sock'))
    const quiet = connect(path).on('error', () => {})
    t.after(() => { quiet.destroy() })
    assert.equal(await rawAsk(path, `${' '.repeat(200_000)}{"command":"reload"}\n`), '')
    const half = connect(path).on('error', () => {})
    half.end('{"command":"reload"')
    await once(half, 'close')
    assert.equal((await askControl(path, { command: 'reload' })).ok, true)
    assert.equal(asked.length, 1)
  })

  test('a client that leaves before its answer harms nobody', async t => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { path, faults } = await serving(t, join(await folder(t), 'control.sock'), {
      reload: async () => {
        await promise
        return null
      },
    })
    const leaving = connect(path)
    leaving.write('{"command":"reload"}\n')
    await sleep(20)
    leaving.destroy()
    resolve()
    assert.equal((await askControl(path, { command: 'attempts', unknown: false })).ok, true)
    assert.deepEqual(faults, [])
  })
})

describe('only the owner comes in', () => {
  test('the socket has mode 0600 from the start, and a folder that is made for it 0700', async t => {
    const { path } = await serving(t, join(await folder(t), 'data', 'control.sock'))
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    assert.equal((await stat(join(path, '..'))).mode & 0o777, 0o700)
  })

  test('serving leaves the mask of the process as it was', async t => {
    const mask = process.umask()
    await serving(t, join(await folder(t), 'control.sock'))
    assert.equal(process.umask(), mask)
  })

  test('a folder that others may write to is refused', async t => {
    const shared = join(await folder(t), 'shared')
    await mkdir(shared)
    await chmod(shared, 0o777)
    await assert.rejects(serving(t, join(shared, 'control.sock')), unavailable(/writable by others/))
    assert.deepEqual(await readdir(shared), [])
  })

  test('a path that the system would cut short is refused', async t => {
    await assert.rejects(serving(t, join(await folder(t), 'x'.repeat(108), 'control.sock')), unavailable(/longer than 107 bytes/))
  })
})

describe('one broker serves a socket', () => {
  test('a second one is refused, and the first serves on', async t => {
    const { path } = await serving(t, join(await folder(t), 'control.sock'))
    await assert.rejects(serving(t, path), unavailable(/Another broker serves/))
    assert.equal((await askControl(path, { command: 'reload' })).ok, true)
  })

  test('a file left behind by a broker that was killed is taken over', async t => {
    const path = join(await folder(t), 'control.sock')
    const killed = spawn(process.execPath, ['-e', `require('node:net').createServer().listen(${JSON.stringify(path)}, () => console.log('up'))`],
      { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(killed.stdout, 'data')
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    assert.ok((await stat(path)).isSocket())
    await assert.rejects(askControl(path, { command: 'reload' }), unavailable(/No broker runs here/))
    await serving(t, path)
    assert.equal((await askControl(path, { command: 'reload' })).ok, true)
  })

  test('something that is no socket, or a link to one, is left alone', async t => {
    const here = await folder(t)
    const file = join(here, 'file.sock')
    await writeFile(file, 'precious')
    await assert.rejects(serving(t, file), unavailable(/no socket/))
    const link = join(here, 'link.sock')
    await symlink(file, link)
    await assert.rejects(serving(t, link), unavailable(/no socket/))
    assert.deepEqual((await readdir(here)).sort(), ['file.sock', 'link.sock'])
  })

  test('closing takes the file away, ends idle connections, and another may serve then', async t => {
    const path = join(await folder(t), 'control.sock')
    const { server } = await serving(t, path)
    const idle = connect(path).on('error', () => {})
    await once(idle, 'connect')
    await server.close()
    assert.deepEqual(await readdir(join(path, '..')), [])
    await assert.rejects(askControl(path, { command: 'reload' }), unavailable(/No broker runs here/))
    await serving(t, path)
    assert.equal((await askControl(path, { command: 'reload' })).ok, true)
  })

  test('a command in progress when the broker closes still gets its answer', async t => {
    const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { path, server } = await serving(t, join(await folder(t), 'control.sock'), {
      reload: async () => {
        begun.resolve()
        await goOn.promise
        return 'done'
      },
    })
    const asked = askControl(path, { command: 'reload' })
    await begun.promise
    const closed = server.close()
    goOn.resolve()
    assert.deepEqual(await asked, { ok: true, result: 'done' })
    await closed
  })
})
