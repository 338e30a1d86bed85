// The structure of src/README.md, held as an ordinary test: the direction of imports, no cycles, no drawers, sizes, and who may touch what.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { STEPS } from '../src/errors.ts'

const files = globSync('src/**/*.ts').sort()
const text = new Map(files.map(file => [file, readFileSync(file, 'utf8')]))

interface Import { readonly from: string, readonly to: string, readonly typeOnly: boolean }

const imports: Import[] = files.flatMap(file => [...text.get(file)!.matchAll(/^(?:import|export) (type )?[^'"]*?from '(\.[^']+)'/gm)].map(match => ({
  from: file,
  to: relative('.', join(dirname(file), match[2]!)),
  typeOnly: match[1] !== undefined,
}))).filter(one => one.to.endsWith('.ts'))

/** `src/execution/facts.ts` → `execution`; a file of src itself is its own room. */
const roomOf = (file: string): string => file.split('/').length > 2 ? file.split('/')[1]! : file.split('/')[1]!.replace(/\.ts$/, '')

/** Who may import whom at run time; a room may always import itself. `errors` and `secret` are open to all. */
const ALLOWED: Record<string, readonly string[]> = {
  main: ['clock', 'http', 'mcp', 'commands', 'execution', 'consent', 'attempts', 'catalog', 'config', 'key', 'credentials', 'store', 'telemetry', 'upstream', 'notifications'],
  cli: ['commands', 'config', 'nearest'],
  key: ['config'],
  config: ['config-values', 'nearest'],
  http: ['execution', 'consent', 'tools', 'catalog', 'attempts'],
  mcp: ['http', 'execution', 'tools', 'catalog'],
  commands: ['main', 'clock', 'http', 'execution', 'consent', 'attempts', 'tools', 'catalog', 'config', 'telemetry', 'store', 'upstream', 'credentials', 'nearest', 'curation', 'notifications'],
  curation: ['execution', 'consent', 'catalog', 'nearest'],
  execution: ['consent', 'attempts', 'tools', 'catalog'],
  consent: ['attempts', 'catalog'],
  tools: ['catalog'],
  notifications: ['consent', 'credentials', 'upstream', 'catalog'],
  attempts: ['catalog'],
  catalog: ['nearest'],
  store: ['consent', 'attempts', 'catalog'],
  credentials: ['catalog'],
  upstream: ['catalog'],
  telemetry: ['consent', 'catalog', 'store'],
  client: [], 'config-values': [], nearest: [], clock: [], errors: [], secret: [], failpoints: [],
}
const OPEN = ['errors', 'secret', 'failpoints']

/** Files over 400 lines and functions over 70 need a reason here, and the list may only shrink. */
const LONG_FILES: Record<string, string> = {}
const LONG_FUNCTIONS: Record<string, string> = {}

test('imports follow the arrow of the architecture', () => {
  const wrong = imports.filter(({ from, to, typeOnly }) => {
    const [here, there] = [roomOf(from), roomOf(to)]
    return !typeOnly && here !== there && !OPEN.includes(there) && !(ALLOWED[here] ?? []).includes(there)
  })
  assert.deepEqual(wrong.map(one => `${one.from} → ${one.to}`), [])
  assert.deepEqual([...new Set(files.map(roomOf))].filter(room => ALLOWED[room] === undefined), [], 'every room is in the table')
})

test('no import cycles', () => {
  const next = new Map(files.map(file => [file, imports.filter(one => one.from === file && !one.typeOnly).map(one => one.to)]))
  const done = new Set<string>()
  const walk = (file: string, path: readonly string[]): void => {
    assert.ok(!path.includes(file), `cycle: ${[...path, file].join(' → ')}`)
    if (done.has(file)) return
    for (const to of next.get(file) ?? []) walk(to, [...path, file])
    done.add(file)
  }
  for (const file of files) walk(file, [])
})

test('no drawers and no barrels', () => {
  assert.deepEqual(files.filter(file => /(^|\/)(index|utils?|helpers?|common|shared|misc)(\.ts|\/)/.test(file)), [])
})

test('the environment is read in config.ts alone', () => {
  assert.deepEqual(files.filter(file => file !== 'src/config.ts' && /process\.env\b/.test(text.get(file)!)), [])
})

test('sockets to third parties are opened in upstream/ alone', () => {
  // The commands `call` and `approvals` and client.ts are clients of the broker itself, and the demo's shop is a server.
  const clients = /from '(undici|node:http2|node:tls|node:dns|node:dns\/promises)'|(?<!\.)\bfetch\(|import \{[^}]*\b(request|connect|createConnection)\b[^}]*\} from 'node:(http|https|net)'/
  const own = ['src/client.ts', 'src/commands/broker-client.ts', 'src/commands/people-client.ts', 'src/http/control.ts']
  assert.deepEqual(files.filter(file => !file.startsWith('src/upstream/') && !file.startsWith('src/commands/demo/') && !own.includes(file) && clients.test(text.get(file)!)), [])
})

test('secrets are revealed only where they are used', () => {
  const users = ['src/secret.ts', 'src/attempts/identity.ts', 'src/http/people/identity-provider.ts']
  assert.deepEqual(files.filter(file => !users.includes(file) && !file.startsWith('src/credentials/') && /\.reveal ?\(/.test(text.get(file)!)), [])
})

test('files stay under 400 lines and functions under 70, or are listed with a reason', () => {
  const longFiles = files.filter(file => text.get(file)!.split('\n').length > 400)
  assert.deepEqual(longFiles.sort(), Object.keys(LONG_FILES).sort())
  const longFunctions = files.flatMap(file => functionsOf(text.get(file)!).filter(one => one.lines > 70).map(one => `${file}:${one.name}`))
  assert.deepEqual(longFunctions.sort(), Object.keys(LONG_FUNCTIONS).sort())
})

test('every step of a call has its file, and execute.ts names them in order', () => {
  const execute = text.get('src/execution/execute.ts')!
  const verbs = ['authenticate', 'decode', 'requireCapability', 'validateArguments', 'requireScope', 'recall', 'admit', 'gatherFacts', 'requireConsent', 'reserve', 'obtainCredential', 'dispatch', 'readOutcome', 'project', 'settle']
  const body = execute.slice(execute.indexOf('async function steps'))
  const places = verbs.map(verb => body.search(new RegExp(`\\b(?<!\\.)${verb}\\(`)))
  assert.ok(places.every(place => place > 0), `missing: ${verbs.filter((_, i) => places[i]! <= 0)}`)
  assert.deepEqual(places, [...places].sort((a, b) => a - b))
  for (const step of STEPS) assert.ok(text.has(`src/execution/${step}.ts`), `src/execution/${step}.ts`)
})

/** Top-level and nested `function` declarations and methods, by indentation: a declaration ends at the first line that closes at its own indent. */
function functionsOf (source: string): Array<{ name: string, lines: number }> {
  const lines = source.split('\n')
  return lines.flatMap((line, start) => {
    const match = /^(\s*)(?:export )?(?:static )?(?:async )?(?:function )?\*?#?([A-Za-z]\w*) ?\(.*\{$/.exec(line)
    if (match === null || /^\s*(if|for|while|switch|catch)\b/.test(line)) return []
    const end = lines.findIndex((other, at) => at > start && other.startsWith(`${match[1]}}`))
    return end < 0 ? [] : [{ name: match[2]!, lines: end - start + 1 }]
  })
}
