// The deployment files: each service runs here with the very arguments that stand there, but for ports and folders, and what must stay closed
// is closed.
import assert from 'node:assert/strict'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'yaml'
import { makeSigningKey } from '../src/commands/token.ts'
import { openStore } from '../src/store/open.ts'
import { startProgram } from './support/program.ts'
import { freePort } from './support/redis.ts'

const ROOT = join(import.meta.dirname, '..')
const compose = parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true })
const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')

function folder (t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'aval-deploy-'))
  t.after(() => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }))
  return path
}

/** redis-server as the compose file starts it, on a free port of loopback. */
async function startRedis (t: TestContext): Promise<string> {
  const port = await freePort()
  const [command, ...args] = compose.services.redis.command as [string, ...string[]]
  const data = folder(t)
  const redis = startProgram(t, command, [...args.map(arg => arg === '/data' ? data : arg), '--port', String(port), '--bind', '127.0.0.1'])
  await redis.says(/Ready to accept connections/)
  return `redis://127.0.0.1:${port}`
}

async function until<Value> (ask: () => Promise<Value | null>): Promise<Value> {
  for (let tries = 0; tries < 300; tries++) {
    const value = await ask().catch(() => null)
    if (value !== null) return value
    await sleep(100)
  }
  throw new Error('it never came to be')
}

const instruction = (name: string): string[] =>
  [...dockerfile.replaceAll('\\\n', ' ').matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].map(match => match[1]!)

test('whichever way a broker is served, Node gets the same arguments', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly scripts: { readonly serve: string } }
  const [, served] = /^node (.*) src\/cli\.ts serve$/.exec(scripts.serve)!
  const [, executed] = /^#!\/usr\/bin\/env -S node (.*)$/m.exec(readFileSync(join(ROOT, 'src', 'cli.ts'), 'utf8').split('\n')[0]!)!
  const [, ...entry] = JSON.parse(instruction('ENTRYPOINT')[0]!) as [string, ...string[]]
  assert.deepEqual([executed, entry.slice(0, -1).join(' ')], [served, served])
})

test('redis runs with the arguments of the compose file, and the store takes it for writes', async t => {
  const url = await startRedis(t)
  const store = await openStore(url)
  t.after(() => store.close())
  await store.ping()
})

test('the broker runs as the compose file and the image say, is found healthy, is scraped by Prometheus, and ends in peace', async t => {
  const data = folder(t)
  const secrets = join(data, 'secrets')
  mkdirSync(secrets)
  const texts: Record<string, string> = { aval_key: Buffer.alloc(32, 1).toString('base64'), jwks: JSON.stringify((await makeSigningKey()).jwks) }
  for (const name of compose.services.broker.secrets as string[]) {
    writeFileSync(join(secrets, name), texts[name] ?? 'a-secret-of-the-shop', { mode: 0o400 })
  }
  const [agents, operations] = [await freePort(), await freePort()]
  const image = Object.fromEntries(instruction('ENV').flatMap(line => line.split(' ')).map(pair => pair.split('=') as [string, string]))
  const own = { AVAL_STATE: await startRedis(t), AVAL_DATA: join(data, 'data') }
  const written: Record<string, string> = { ...image, ...compose.services.broker.environment, ...own }
  // What the compose file takes from whoever starts it; their place is the address that is reached from outside.
  const env = Object.fromEntries(Object.entries(written).map(([name, value]) => [name, value
    .replace(/^\$\{AVAL_[A-Z]+:\?.*\}$/, 'https://issuer.example')
    .replace('/run/secrets', secrets)
    .replace('0.0.0.0:8080', `127.0.0.1:${agents}`)
    .replace('0.0.0.0:9090', `127.0.0.1:${operations}`)]))
  const [entry, ...entryArgs] = JSON.parse(instruction('ENTRYPOINT')[0]!) as [string, ...string[]]
  assert.equal(entry, 'node')
  const broker = startProgram(t, process.execPath, [...entryArgs, ...JSON.parse(instruction('CMD').at(-1)!)], { env })
  await broker.says(/serves agents/)

  const health = JSON.parse(/CMD (\[.*\])/.exec(instruction('HEALTHCHECK')[0]!)![1]!) as [string, ...string[]]
  const probe = (port: number) => startProgram(t, process.execPath, health.slice(1).map(arg => arg.replace('9090', String(port)))).ended()
  assert.equal((await probe(operations)).code, 0)
  assert.equal((await probe(await freePort())).code, 1, 'the probe fails where nobody answers')

  // The name under which Prometheus asks must be one that the broker answers to.
  const scrape = parse(readFileSync(join(ROOT, 'deploy/prometheus.yml'), 'utf8'))
  const [host] = (scrape.scrape_configs[0].static_configs[0].targets[0] as string).split(':')
  assert.ok((compose.services.broker.environment.AVAL_HOSTS as string).split(',').includes(host!))

  const prometheus = await startPrometheus(t, operations)
  const up = await until(async () => {
    const answer = await (await fetch(`${prometheus}/api/v1/query?query=up`)).json() as { data: { result: Array<{ value: [number, string] }> } }
    return answer.data.result[0]?.value[1] === '1' ? true : null
  })
  assert.ok(up)

  broker.signal('SIGTERM')
  assert.equal((await broker.ended()).code, 0)
})

/** Prometheus as the compose file starts it, scraping this port instead; only the paths, the address and the pace differ. */
async function startPrometheus (t: TestContext, target: number): Promise<string> {
  const place = folder(t)
  cpSync(join(ROOT, 'deploy/alerts.yml'), join(place, 'alerts.yml'))
  const config = readFileSync(join(ROOT, 'deploy/prometheus.yml'), 'utf8')
    .replace('broker:9090', `127.0.0.1:${target}`)
    .replace('scrape_interval: 15s', 'scrape_interval: 1s')
  writeFileSync(join(place, 'prometheus.yml'), config)
  const port = await freePort()
  const args = (compose.services.prometheus.command as string[]).map(arg => arg
    .replace('/etc/prometheus', place)
    .replace('=/prometheus', `=${join(place, 'tsdb')}`)
    .replace('0.0.0.0:9090', `127.0.0.1:${port}`))
  const prometheus = startProgram(t, 'prometheus', args)
  await prometheus.says(/Server is ready to receive web requests/)
  return `http://127.0.0.1:${port}`
}

test('promtool finds nothing wrong with the configuration of Prometheus and its alerts', async t => {
  const checked = await startProgram(t, 'promtool', ['check', 'config', 'deploy/prometheus.yml'], { cwd: ROOT }).ended()
  assert.equal(checked.code, 0, checked.stdout + checked.stderr)
})

test('every metric that an alert names is one that the broker has', () => {
  const metrics = ['metrics.ts', 'consent-metrics.ts'].map(name => readFileSync(join(ROOT, 'src/telemetry', name), 'utf8')).join('')
  const named = new Set(readFileSync(join(ROOT, 'deploy/alerts.yml'), 'utf8').match(/\baval_[a-z_]+/g))
  assert.ok(named.size >= 4)
  assert.deepEqual([...named].filter(name => !metrics.includes(`'${name}'`)), [])
})

test('each service is a user of its own without capabilities, on a root that it cannot write to', () => {
  for (const [name, service] of Object.entries<any>(compose.services)) {
    assert.match(service.user, /^[1-9][0-9]*:[1-9][0-9]*$/, name)
    assert.deepEqual(service.cap_drop, ['ALL'], name)
    assert.equal(service.cap_add, undefined, name)
    assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name)
    assert.equal(service.read_only, true, name)
    assert.notEqual(service.privileged, true, name)
    for (const port of service.ports ?? []) assert.match(port, /^127\.0\.0\.1:/, `${name} is published on loopback only`)
  }
})

test('only the broker meets Redis, only Prometheus meets the operations listener, and neither network leads out', () => {
  const members = (network: string): string[] =>
    Object.entries<any>(compose.services).filter(([, service]) => service.networks.includes(network)).map(([name]) => name)
  assert.deepEqual(members('state'), ['broker', 'redis'])
  assert.deepEqual(members('metrics'), ['broker', 'prometheus'])
  assert.deepEqual([compose.networks.state.internal, compose.networks.metrics.internal], [true, true])
  assert.deepEqual(compose.services.redis.networks, ['state'])
  assert.equal(compose.services.redis.ports, undefined)
})

test('secrets come as files, and what git or the image keeps holds none', () => {
  for (const service of Object.values<any>(compose.services)) {
    assert.deepEqual(Object.keys(service.environment ?? {}).filter(name => /SECRET|PASSWORD|TOKEN/.test(name)), [])
  }
  assert.match(compose.services.broker.environment.AVAL_KEY, /^file:\/run\/secrets\//)
  const asked = new Set(globSync(join(ROOT, 'actions/*/upstream.yaml'))
    .flatMap(file => readFileSync(file, 'utf8').match(/(?<=\/run\/secrets\/)[a-z_]+/g) ?? []))
  assert.deepEqual([...asked].filter(name => !compose.services.broker.secrets.includes(name)), [], 'every secret that a sheet names is mounted')
  for (const { file } of Object.values<any>(compose.secrets)) assert.match(file, /^\.\/deploy\/secrets\//)
  assert.match(readFileSync(join(ROOT, '.gitignore'), 'utf8'), /^deploy\/secrets\/$/m)
  const [everything, ...exceptions] = readFileSync(join(ROOT, '.dockerignore'), 'utf8').trim().split('\n')
  assert.equal(everything, '*')
  assert.deepEqual(exceptions.filter(line => /deploy|secrets|data/.test(line)), [])
})

test('the image runs as a user, without a shell, on the Node that the project asks for', () => {
  assert.deepEqual(instruction('USER'), ['1000:1000'])
  assert.ok(instruction('FROM').every(line => line.startsWith('node:24-slim')))
  for (const name of ['RUN', 'CMD', 'ENTRYPOINT']) for (const line of instruction(name)) assert.ok(Array.isArray(JSON.parse(line)), `${name} ${line}`)
  const copied = instruction('COPY').flatMap(line => line.split(' ').slice(0, -1)).filter(path => !path.startsWith('--') && !path.startsWith('/'))
  const sent = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n').filter(line => line.startsWith('!')).map(line => line.slice(1))
  assert.deepEqual([...new Set(copied)].map(path => path.replace('./', '')).sort(), sent.sort(), 'what is copied is what is sent')
})

test('every package that the source imports is in the image', () => {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const named = /(?:from|import\(|resolve\()\s*'([^'.\s][^'\s]*)'/g
  const wanted = globSync(join(ROOT, 'src/**/*.ts')).flatMap(file => [...readFileSync(file, 'utf8').matchAll(named)]
    .map(match => match[1]!).filter(name => !name.startsWith('node:') && !builtinModules.includes(name))
    .map(name => name.split('/').slice(0, name.startsWith('@') ? 2 : 1).join('/')))
  assert.deepEqual([...new Set(wanted)].filter(name => !Object.hasOwn(dependencies, name)), [])
})
