// `npm test`: sees to it that the real servers that the tests start are installed, checks the types, then runs every test file under node --test.
// As root on Debian it installs what is missing; elsewhere it says what to install and stops, because a test that was skipped would count as green.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const NEEDED: ReadonlyArray<{ readonly program: string, readonly debian: string }> = [
  { program: 'redis-server', debian: 'redis-server' },
  { program: 'pdns_server', debian: 'pdns-server' },
  { program: 'sqlite3', debian: 'sqlite3' },
  { program: 'prometheus', debian: 'prometheus' },
  { program: 'promtool', debian: 'prometheus' },
  { program: 'prlimit', debian: 'util-linux' },
  { program: 'chromium', debian: 'chromium' },
]
/** Has no program of its own. */
const PDNS_BACKEND = { library: '/usr/lib/*/pdns/libgsqlite3backend.so', debian: 'pdns-backend-sqlite3' }
/** Files at the same time: most of them wait for something most of the time. */
const AT_ONCE = 3
const PATHS = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/sbin']

const isInstalled = (program: string): boolean => PATHS.some(folder => existsSync(`${folder}/${program}`))

function run (command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): number {
  return spawnSync(command, args, { stdio: 'inherit', env }).status ?? 1
}

function installWhatIsMissing (): void {
  const missing = new Set(NEEDED.filter(one => !isInstalled(one.program)).map(one => one.debian))
  // Elsewhere nobody knows where it lies.
  if (isInstalled('apt-get') && globSync(PDNS_BACKEND.library).length === 0) missing.add(PDNS_BACKEND.debian)
  if (missing.size === 0) return
  const packages = [...missing]
  if (process.getuid?.() !== 0 || !isInstalled('apt-get')) {
    console.error(`The tests start real servers. Install these first (the names are Debian's): ${packages.join(' ')}`)
    process.exit(2)
  }
  // Debian would start what it installs; the tests start their own, on free ports.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const status = run('apt-get', ['update', '-q'], env) || run('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...packages], env)
  if (status !== 0) process.exit(2)
}

if (Number(process.versions.node.split('.')[0]) < 24) {
  console.error(`Aval runs on Node 24; this is ${process.version}. Run it through npm, which takes the pinned one: npm test`)
  process.exit(2)
}
installWhatIsMissing()
if (run(process.execPath, ['node_modules/typescript/bin/tsc', '--noEmit']) !== 0) process.exit(1)
const files = process.argv.length > 2 ? process.argv.slice(2) : globSync('test/**/*.test.ts').sort()
// Hundreds of processes read the same files.
const compiled = mkdtempSync(join(tmpdir(), 'aval-compiled-'))
const status = run(process.execPath, ['--test', `--test-concurrency=${AT_ONCE}`, ...files], { ...process.env, NODE_COMPILE_CACHE: compiled })
rmSync(compiled, { recursive: true, force: true })
process.exit(status)
