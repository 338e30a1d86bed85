// `aval lint` as it is called: what it prints in each form, what it repairs, and how it ends.
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import AjvDraft04 from 'ajv-draft-04'
import addFormats from 'ajv-formats'
import { aval } from '../support/program.ts'
import { ACTIONS, golden, lintAs, run, WAYS } from './lint/golden.ts'

const HERE = join(import.meta.dirname, 'lint')
const openapi = ['--openapi', join(HERE, 'openapi')]

/** A copy that a test may write to. */
function copy (t: TestContext): { readonly folder: string, readonly sheet: (name: string) => string } {
  const folder = mkdtempSync(join(tmpdir(), 'aval-lint-'))
  t.after(() => rmSync(folder, { recursive: true }))
  cpSync(join(HERE, 'actions'), folder, { recursive: true })
  return { folder, sheet: name => join(folder, 'bank', name) }
}

for (const [name, flags] of Object.entries(WAYS)) {
  test(`lint ${flags.filter(flag => flag.startsWith('--')).join(' ')} prints golden/${name}, and the same again`, async () => {
    const first = await lintAs(flags)
    assert.equal(first.out, golden(name))
    assert.deepEqual([first.code, first.err], [1, ''])
    assert.deepEqual(await lintAs(flags), first)
  })
}

test('as a program in another folder, it finds the documents beside the actions and names files from where it runs', async t => {
  const { code, stdout, stderr } = await aval(t, ['lint', 'actions/bank/get_statement.v1.yaml', '--json'], { cwd: HERE })
  assert.deepEqual([code, stderr], [1, ''])
  const { actions, findings } = JSON.parse(stdout)
  assert.deepEqual(actions.map((one: any) => [one.action, one.file, one.grade]), [['get_statement.v1', 'actions/bank/get_statement.v1.yaml', 'F']])
  assert.ok(findings.length > 10 && findings.every((one: any) => one.file === 'actions/bank/get_statement.v1.yaml'))
})

test('what is wrong between files is found also where one of them is asked for', async () => {
  const { out } = await run(['lint', join(ACTIONS, 'bank', 'find_gifts.v1.yaml'), '--json'])
  const { actions, findings } = JSON.parse(out)
  assert.deepEqual(actions.map((one: any) => [one.action, one.score, one.capped_by]), [['find_gifts.v1', 79, ['overlapping-actions']]])
  assert.match(findings.find((one: any) => one.rule === 'overlapping-actions').message, /like search_gifts\.v1; what would separate them: /)
})

test('SARIF is valid by the schema of SARIF 2.1.0, with a suppression for what was accepted', () => {
  const sarif = JSON.parse(golden('report.sarif'))
  const schema = createRequire(import.meta.url)('@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json')
  const ajv = new AjvDraft04.default({ strict: false, allErrors: true, logger: false, unicodeRegExp: false })
  addFormats.default(ajv as any)
  const validate = ajv.compile(schema)
  assert.ok(validate(sarif), JSON.stringify(validate.errors?.slice(0, 3)))
  assert.ok(!validate({ ...JSON.parse(golden('report.sarif')), version: '2.0.0' }), 'the schema can refuse')
  const [{ tool, results }] = JSON.parse(golden('report.sarif')).runs
  for (const { ruleId, ruleIndex } of results) assert.equal(tool.driver.rules[ruleIndex].id, ruleId)
  const suppressed = results.filter((one: any) => one.suppressions !== undefined)
  assert.deepEqual(suppressed.map((one: any) => [one.ruleId, one.suppressions]), [
    ['free-text-only-input', [{ kind: 'inSource', justification: 'what a customer says is words' }]],
  ])
})

test('--min decides by the scores, and never for a sheet that does not load', async t => {
  const { folder, sheet } = copy(t)
  const lint = async (...flags: readonly string[]): Promise<number> => (await run(['lint', folder, ...openapi, ...flags])).code
  assert.equal(await lint('--min', '0'), 1, 'delete_payment does not load')
  rmSync(sheet('delete_payment.v1.yaml'))
  assert.deepEqual([await lint(), await lint('--min', '40'), await lint('--min', '41')], [1, 0, 1])
  for (const name of ['get_statement.v1.yaml', 'find_gifts.v1.yaml']) rmSync(sheet(name))
  writeFileSync(join(folder, 'policy.yaml'), 'roles: {teller: [get_monthly_statement.v1, search_gifts.v1]}\n')
  const clean = await run(['lint', folder, ...openapi])
  assert.deepEqual([clean.code, clean.err], [0, ''])
  assert.match(clean.out, /2 actions, average 100, 0 findings, 1 accepted\n$/)
  assert.equal(await lint('--min', '100'), 0)
})

test('--fix writes what needs no judgement, leaves all else as it stands, and finds nothing more to do', async t => {
  const { folder, sheet } = copy(t)
  const before = readFileSync(sheet('delete_payment.v1.yaml'), 'utf8')
  const untouched = readFileSync(sheet('get_monthly_statement.v1.yaml'), 'utf8')
  const first = await run(['lint', folder, ...openapi, '--fix'])
  assert.equal(first.err, `repaired ${folder}/bank/delete_payment.v1.yaml\nrepaired ${folder}/bank/get_statement.v1.yaml\n`)
  assert.equal(
    readFileSync(sheet('delete_payment.v1.yaml'), 'utf8'),
    before.replace('description: Id of the payment}', 'description: Id of the payment, maxLength: 16}')
  )
  assert.ok(readFileSync(sheet('get_statement.v1.yaml'), 'utf8').endsWith('      currency: {type: string}\n  max_bytes: 32KiB\n'))
  assert.equal(readFileSync(sheet('get_monthly_statement.v1.yaml'), 'utf8'), untouched)
  assert.doesNotMatch(first.out, /for --fix/)
  const second = await run(['lint', folder, ...openapi, '--fix'])
  assert.deepEqual([second.err, second.out], ['', first.out])
})

test('an acceptance that says too little, names no rule, or has nothing to accept is told, and counts for nothing', async t => {
  const { folder, sheet } = copy(t)
  const path = sheet('search_gifts.v1.yaml')
  const text = readFileSync(path, 'utf8').replace(/^# aval-lint-accept .*$/m, [
    '# aval-lint-accept free-text-only-input: because',
    '# aval-lint-accept free-text-only: the customer says words',
    '# aval-lint-accept example-missing: there is none to show here',
  ].join('\n'))
  writeFileSync(path, text.replace('title: Search gifts', 'title: "# aval-lint-accept overlapping-actions: this is no comment"'))
  const { findings, actions } = JSON.parse((await run(['lint', path, ...openapi, '--json'])).out)
  assert.deepEqual(findings.filter((one: any) => one.rule === 'acceptance-useless').map((one: any) => one.message), [
    '"free-text-only-input" is accepted without a reason, which does not count', 'there is no rule "free-text-only"',
    '"example-missing" is accepted and not found any more',
  ])
  assert.ok(findings.every((one: any) => one.accepted === null))
  assert.equal(actions[0].score, 79)
})

test('--rules prints the page of the rules', async () => {
  const { code, out } = await run(['lint', '--rules'])
  assert.deepEqual([code, out], [0, readFileSync('docs/lint.md', 'utf8')])
})

test('what cannot be run ends with 2 and one line that says why', async t => {
  const { folder } = copy(t)
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  for (const [argv, hint] of [
    [['nowhere'], /^aval lint: there is no nowhere$/],
    [[folder, '--min', '101'], /--min is a score from 0 to 100/],
    [[folder, '--min', 'high'], /--min is a score from 0 to 100/],
    [[folder, '--json', '--sarif'], /--json and --sarif exclude each other/],
    [['--mcp', 'nowhere.json'], /nowhere\.json cannot be read \(ENOENT\)/],
    [[folder, '--mcp', file('t.json', '[]')], /give either a PATH or --mcp/],
    [['--mcp', file('t.json', '[]'), '--fix'], /--fix repairs sheets/],
    [['--mcp', file('bad.json', '{"tools": [')], /bad\.json:\d+:\d+ /],
    [['--mcp', file('none.json', '{"tool": []}')], /none\.json holds no list of tools/],
    [['--mcp', file('half.json', '{"tools": [\n  {"name": "a"}]}')], /half\.json:2:3 is no tool/],
  ] as const) {
    const { code, out, err } = await run(['lint', ...argv])
    assert.deepEqual([code, out], [2, ''], argv.join(' '))
    assert.match(err.trimEnd(), hint)
    assert.doesNotMatch(err, /\n {4}at /)
  }
})

test('a folder without a policy, or with nothing in it, is told as the load tells it', async t => {
  const { folder } = copy(t)
  rmSync(join(folder, 'policy.yaml'))
  const { code, out } = await run(['lint', folder, ...openapi, '--json'])
  assert.equal(code, 1)
  assert.ok(JSON.parse(out).findings.some((one: any) => one.rule === 'file-missing' && one.category === 'load'))
})
