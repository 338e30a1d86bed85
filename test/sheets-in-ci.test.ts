// The workflow and the hook of README, tried as they stand there: in a repository with the bundled sheets every command passes, and a fault of the
// kind that each is there for stops it.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { parse } from 'yaml'

const ROOT = join(import.meta.dirname, '..')
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')

/** The YAML block of README that begins with this comment. */
const block = (name: string): any => parse(new RegExp(`\`\`\`yaml\n(# ${name}\n[^]*?)\`\`\``).exec(README)![1]!)

const STEPS: ReadonlyArray<{ readonly run?: string, readonly uses?: string }> = block('\\.github/workflows/sheets\\.yml').jobs.sheets.steps
const COMMANDS = STEPS.flatMap(({ run }) => run === undefined || run.startsWith('git clone') ? [] : [run])
const HOOK: string = block('\\.pre-commit-config\\.yaml').repos[0].hooks[0].entry

interface Ended { readonly code: number | null, readonly out: string }

interface Repository {
  readonly folder: string
  sh (command: string): Ended
  change (file: string, from: string, to: string): void
}

/** A platform team's repository on a branch, with Aval beside its sheets and `main` as the base that is fetched. */
function repository (t: TestContext): Repository {
  const folder = mkdtempSync(join(tmpdir(), 'aval-ci-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const part of ['actions', 'openapi']) cpSync(join(ROOT, part), join(folder, part), { recursive: true })
  symlinkSync(ROOT, join(folder, 'aval'))
  writeFileSync(join(folder, '.gitignore'), 'aval\n')
  const env = { PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, HOME: folder }
  const sh = (command: string): Ended => {
    const { status, stdout, stderr } = spawnSync('bash', ['-ec', command], { cwd: folder, env, encoding: 'utf8' })
    return { code: status, out: stdout + stderr }
  }
  const git = '-c user.name=team -c user.email=team@example.com'
  const committed = `git init -q -b main && git add -A && git ${git} commit -qm sheets && git update-ref refs/remotes/origin/main main`
  const made = sh(`node aval/src/cli.ts lock && ${committed}`)
  assert.equal(made.code, 0, made.out)
  return {
    folder,
    sh,
    change (file, from, to) {
      const path = join(folder, file)
      const before = readFileSync(path, 'utf8')
      assert.ok(before.includes(from), from)
      writeFileSync(path, before.replace(from, to))
    },
  }
}

const asGitHub = (command: string): string => command.replace('${{ github.base_ref }}', 'main')
const of = (word: string): string => COMMANDS.map(asGitHub).find(command => command.includes(`cli.ts ${word}`))!

test('the workflow runs lint, diff, lock and test, and uploads what lint writes', () => {
  const words = ['lint --min 90 --github', 'diff origin/main', 'lock --check', 'test --no-gaps', 'lint --sarif > sheets.sarif']
  for (const word of words) assert.ok(of(word), word)
  assert.ok(STEPS.some(({ uses }) => uses?.startsWith('github/codeql-action/upload-sarif@')))
})

test('on sheets that are as they should be, every command of the workflow and of the hook passes', t => {
  const { sh, folder } = repository(t)
  for (const command of [...COMMANDS, HOOK]) {
    const { code, out } = sh(asGitHub(command))
    assert.equal(code, 0, `${command}\n${out}`)
  }
  assert.equal(JSON.parse(readFileSync(join(folder, 'sheets.sarif'), 'utf8')).version, '2.1.0')
})

test('a description that says nothing stops lint and the hook, with its line', t => {
  const { sh, change, folder } = repository(t)
  const file = 'actions/shop/get_customer.v1.yaml'
  const text = readFileSync(join(folder, file), 'utf8')
  change(file, /description: >\n(?: {2}.*\n)+/.exec(text)![0], 'description: Gets it.\n')
  const linted = sh(of('lint --min'))
  assert.equal(linted.code, 1)
  assert.match(linted.out, /^::warning file=actions\/shop\/get_customer\.v1\.yaml,line=6,col=14,title=description-length::/m)
  assert.equal(sh(HOOK).code, 1)
  assert.equal(sh(of('lint --sarif')).code, 0, 'the report is there to be uploaded all the same')
})

test('a bound that is drawn tighter under the same version stops diff, and a lock that is not written anew stops lock', t => {
  const { sh, change } = repository(t)
  change('actions/shop/quote_order.v1.yaml', 'maximum: 5,', 'maximum: 3,')
  const [compared, locked] = [sh(of('diff')), sh(of('lock'))]
  assert.deepEqual([compared.code, locked.code], [1, 1], compared.out + locked.out)
  assert.match(compared.out, /quote_order\.v1/)
})
