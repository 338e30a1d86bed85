// `aval diff`: what each change means; two published releases of GitHub's document, whose breaking findings are checked against the documents
// themselves.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { main } from '../../src/cli.ts'
import { BUNDLED } from '../../src/commands/demo/sheets.ts'
import type { Environment } from '../../src/config.ts'
import { SHEET_SCHEMA } from '../../src/catalog/sheet.ts'
import type { Finding } from '../../src/curation/diff/finding.ts'
import { FIELDS } from '../../src/curation/diff/sheet.ts'
import { PARTS } from '../../src/curation/lock/lock.ts'

interface Told { readonly code: number, readonly out: string, readonly err: string }

async function diff (words: readonly string[], env: Environment = {}): Promise<Told> {
  let [out, err] = ['', '']
  const code = await main(['diff', ...words], {
    env: { NO_COLOR: '1', PATH: process.env['PATH'], ...env }, print: text => { out += `${text}\n` }, tell: text => { err += `${text}\n` },
    startBroker: () => { throw new Error('nothing here starts a broker') },
  })
  return { code, out, err }
}

async function findings (words: readonly string[], env: Environment = {}): Promise<readonly Finding[]> {
  const { out, err } = await diff([...words, '--json'], env)
  assert.notEqual(out, '', err)
  return (JSON.parse(out) as { findings: readonly Finding[] }).findings
}

const inShort = (all: readonly Finding[]): readonly string[] => all.map(
  ({ class: name, impact, subject, at, message }) => `${name} ${impact} ${subject}${at}: ${message}`
)

interface Pair {
  readonly before: string
  readonly after: string
  /** Changes a file of the later state. */
  change (file: string, from: string | RegExp, to: string): void
}

function pair (t: TestContext): Pair {
  const folder = mkdtempSync(join(tmpdir(), 'aval-diff-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const side of ['before', 'after']) {
    cpSync(BUNDLED.actionsFolder, join(folder, side, 'actions'), { recursive: true })
    cpSync(BUNDLED.openapiFolder, join(folder, side, 'openapi'), { recursive: true })
  }
  return {
    before: join(folder, 'before'),
    after: join(folder, 'after'),
    change (file, from, to) {
      const path = join(folder, 'after', file)
      const text = readFileSync(path, 'utf8')
      assert.notEqual(text.replace(from, to), text, `${file} has ${String(from)}`)
      writeFileSync(path, text.replace(from, to))
    },
  }
}

test('two equal states differ in nothing', async t => {
  const { before, after } = pair(t)
  assert.deepEqual(await diff([before, after]), { code: 0, out: 'nothing differs\n', err: '' })
})

const SHEET = (name: string): string => `actions/shop/${name}.yaml`

/** What is changed, and how it must be told. */
const CHANGES: ReadonlyArray<readonly [string, ReadonlyArray<readonly [string, string | RegExp, string]>, string]> = [
  [
    'an input that takes less',
    [[SHEET('place_order.v1'), 'maximum: 5,', 'maximum: 4,']],
    'breaking breaking place_order.v1/input/quantity: maximum 5 → 4',
  ],
  [
    'an input that takes more',
    [[SHEET('place_order.v1'), 'maximum: 5,', 'maximum: 6,']],
    'authority compatible place_order.v1/input/quantity: maximum 5 → 6',
  ],
  [
    'an argument that is required now',
    [
      [SHEET('quote_order.v1'), 'quantity, delivery_date]', 'quantity, delivery_date, max_total_minor]'],
      [SHEET('quote_order.v1'), '"!has(args.max_total_minor) || values', '"values'],
    ],
    'breaking breaking quote_order.v1/input/max_total_minor: is required now',
  ],
  [
    'a result that shows more',
    [
      [
        SHEET('get_customer.v1'),
        '      name: {type: string, maxLength: 200}',
        '      name: {type: string, maxLength: 200}\n      email: {type: string}',
      ]
    ],
    'view compatible get_customer.v1/result/schema/email: is new in the answer',
  ],
  [
    'a view that shows something else',
    [[SHEET('get_customer.v1'), '${response.body.name}', '${response.body.email}']],
    'view breaking get_customer.v1/result/view/name: shows "${response.body.email}" now, and showed "${response.body.name}"',
  ],
  [
    'a scope rule that is gone',
    [[SHEET('get_customer.v1'), /scope:\n.*\n/, '']],
    'authority compatible get_customer.v1/scope/0: the rule is gone: args.customer_id in caller.claims.customers',
  ],
  [
    'a business rule that is new',
    [
      [
        SHEET('cancel_order.v1'),
        '  - require: reads.order.body.state',
        '  - require: reads.order.body.version < 100\n    error: TOO_OLD\n    message: No.\n  - require: reads.order.body.state',
      ]
    ],
    'breaking breaking cancel_order.v1/checks/1: a rule refuses what was taken: reads.order.body.version < 100',
  ],
  [
    'an error code that is another',
    [[SHEET('place_order.v1'), /CUSTOMER_DELETED/g, 'CUSTOMER_GONE']],
    'breaking breaking place_order.v1/checks/0: CUSTOMER_DELETED → CUSTOMER_GONE where it does not hold',
  ],
  [
    'a graver effect',
    [
      [SHEET('place_order.v1'), 'effect: reversible_change', 'effect: external_commitment'],
      [SHEET('place_order.v1'), 'consent: none', 'consent: call\nproposal: {effect: Order it}'],
    ],
    'authority compatible place_order.v1/effect: reversible_change → external_commitment',
  ],
  [
    'consent that comes',
    [[SHEET('cancel_order.v1'), 'consent: none', 'consent: call\nproposal: {effect: Cancel it}']],
    'breaking breaking cancel_order.v1/consent: none → call: calls that went through wait for a person now',
  ],
  [
    'consent that goes',
    [
      [SHEET('email_order_confirmation.v1'), 'effect: external_commitment', 'effect: reversible_change'],
      [SHEET('email_order_confirmation.v1'), 'consent: session', 'consent: none'],
    ],
    'consent compatible email_order_confirmation.v1/consent: session → none',
  ],
  [
    'what it involves',
    [[SHEET('change_shipping_address.v2'), 'involves: [personal_data]\n', '']],
    'consent compatible change_shipping_address.v2/involves: personal_data is not said to be involved any more',
  ],
  [
    'another request',
    [[SHEET('cancel_order.v1'), "headers: {If-Match: '\"${target.version}\"'}", "headers: {If-Match: '${target.version}'}"]],
    'breaking breaking cancel_order.v1/request: another request is sent under the same name',
  ],
  [
    'another look-up',
    [[SHEET('cancel_order.v1'), 'settles_after: 2s', 'settles_after: 1s']],
    'evidence compatible cancel_order.v1/lookup: an outcome that is not known is learned from something else',
  ],
  [
    'a budget that grows',
    [[SHEET('list_orders.v1'), 'calls_per_run: 200', 'calls_per_run: 300']],
    'authority compatible list_orders.v1/limits/calls_per_run: 200 → 300',
  ],
  [
    'words that an agent reads',
    [[SHEET('list_orders.v1'), 'description: >\n', 'description: >\n  Really.\n']],
    'wording compatible list_orders.v1/description: the description has changed',
  ],
  [
    'words within the schema',
    [[SHEET('get_customer.v1'), /(customer_id: .*description: )[^}]*\}/, '$1The id}']],
    'wording compatible get_customer.v1/input: descriptions have changed',
  ],
  [
    'a comment',
    [[SHEET('list_orders.v1'), /^/, '# a comment\n']],
    'cosmetic compatible list_orders.v1: only comments, spaces or the order of fields have changed',
  ],
  [
    'a grant',
    [['actions/policy.yaml', 'shop_deployer: [start_deployment.v1]', 'shop_deployer: [start_deployment.v1, get_customer.v1]']],
    'authority compatible role shop_deployer: may call get_customer.v1 now',
  ],
  [
    'a grant that is taken back',
    [['actions/policy.yaml', 'shop_deployer: [start_deployment.v1]', 'shop_deployer: []']],
    'breaking breaking role shop_deployer: may not call start_deployment.v1 any more',
  ],
  [
    'a ceiling',
    [['actions/policy.yaml', 'max_effect: observation', 'max_effect: reversible_change']],
    'authority compatible role shop_reader/max_effect: max_effect observation → reversible_change',
  ],
  ['a smaller quorum', [['actions/policy.yaml', 'quorum: 2', 'quorum: 1']], 'consent compatible consent irreversible_change/quorum: 2 → 1'],
  [
    'other approvers',
    [['actions/policy.yaml', 'shop_lead: [refund_order.v1, ', 'shop_lead: [refund_order.v1, cancel_order.v1, ']],
    'consent compatible approver shop_lead: decides on cancel_order.v1 now',
  ],
  [
    'another server',
    [['actions/shop/upstream.yaml', '127.0.0.1:4010', '127.0.0.1:4011']],
    'authority compatible upstream shop/server: requests go to http://127.0.0.1:4011/v1 now, and went to http://127.0.0.1:4010/v1',
  ],
]

for (const [what, changes, told] of CHANGES) {
  test(`a change is told by what it means: ${what}`, async t => {
    const { before, after, change } = pair(t)
    for (const [file, from, to] of changes) change(file, from, to)
    const short = inShort(await findings([before, after]))
    assert.ok(short.includes(told), `${told}\n---\n${short.join('\n')}`)
    // Told back to front, a change is one too.
    assert.notDeepEqual(await findings([after, before]), [])
  })
}

test('an action that is gone breaks, one that is new does not', async t => {
  const { before, after, change } = pair(t)
  rmSync(join(after, 'actions/shop/start_deployment.v1.yaml'))
  change('actions/policy.yaml', '  shop_deployer: [start_deployment.v1]\n', '')
  assert.ok(inShort(await findings([before, after])).includes('breaking breaking start_deployment.v1: is gone'))
  assert.equal((await diff([before, after])).code, 1)
  assert.ok(inShort(await findings([after, before])).includes('wording compatible start_deployment.v1: is new'))
  assert.equal((await diff([after, before])).code, 0)
})

test('of a document only what actions rest on is told, and by whom it is used', async t => {
  const { before, after, change } = pair(t)
  change('openapi/shop.yaml', /\n  description: [^\n]*\n/, '\n  description: Another shop.\n')
  assert.deepEqual(await findings([before, after]), [])
  change('openapi/shop.yaml', /(Product:[\s\S]*?stock: )\{[^}]*\}/, '$1{type: [integer, "null"]}')
  const drift = await findings([before, after])
  assert.ok(drift.length > 0 && drift.every(one => one.class === 'drift'), JSON.stringify(drift))
  const [found] = drift.filter(one => /may be null now/.test(one.message))
  assert.equal(found?.impact, 'breaking')
  assert.deepEqual(found?.reaches, ['place_order.v1 reads/product getProduct', 'quote_order.v1 reads/product getProduct'])
  assert.equal((await diff([before, after])).code, 1)
})

test('--fail-on chooses what a run fails on', async t => {
  const { before, after, change } = pair(t)
  change('actions/policy.yaml', 'quorum: 2', 'quorum: 1')
  assert.equal((await diff([before, after])).code, 0)
  assert.equal((await diff([before, after, '--fail-on', 'authority,consent'])).code, 1)
  change(SHEET('place_order.v1'), 'maximum: 5,', 'maximum: 4,')
  assert.equal((await diff([before, after])).code, 1)
  assert.equal((await diff([before, after, '--fail-on', 'none'])).code, 0)
  const wrong = await diff([before, after, '--fail-on', 'braking'])
  assert.equal(wrong.code, 2)
  assert.match(wrong.err, /--fail-on takes breaking/)
})

test('a git revision is compared with now, and neither the index nor the working tree is touched', async t => {
  const { after, change } = pair(t)
  const git = (...args: readonly string[]): string => execFileSync(
    'git', ['-C', after, '-c', 'user.name=t', '-c', 'user.email=t@t.example', ...args], { encoding: 'utf8' }
  )
  git('init', '-q')
  git('add', '-A')
  git('commit', '-q', '-m', 'one')
  change(SHEET('place_order.v1'), 'maximum: 5,', 'maximum: 4,')
  git('add', 'actions/policy.yaml')
  const status = git('status', '--porcelain')
  const env = { AVAL_ACTIONS: join(after, 'actions'), AVAL_OPENAPI: join(after, 'openapi') }
  assert.deepEqual(inShort(await findings(['HEAD'], env)), ['breaking breaking place_order.v1/input/quantity: maximum 5 → 4'])
  assert.equal(git('status', '--porcelain'), status)
  const none = await diff(['no-such-revision'], env)
  assert.equal(none.code, 2)
  assert.match(none.err, /there is no folder, document or git revision no-such-revision/)
  assert.equal((await diff(['--fail-on=none', '--', '--output=x'], env)).code, 2)
})

test('a side with faults tells them, and nothing is compared', async t => {
  const { before, after, change } = pair(t)
  change(SHEET('place_order.v1'), 'maximum: 5,', 'maximun: 5,')
  const { code, err } = await diff([before, after])
  assert.equal(code, 2)
  assert.match(err, /^shop\/place_order\.v1\.yaml:\d+:\d+ /m)
})

// ─── Two releases of GitHub's document ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const OLD = 'node_modules/octokit-openapi-old/generated/api.github.com.json'
const NEW = 'node_modules/@octokit/openapi/generated/api.github.com.json'

test('two releases of the document of GitHub: what breaks is so in the documents themselves', async t => {
  const all = await findings([OLD, NEW])
  const breaking = inShort(all.filter(one => one.impact === 'breaking'))
  t.diagnostic(`${all.length} findings, ${breaking.length} breaking, ${all.filter(one => one.impact === 'risky').length} risky`)
  assert.ok(all.every(one => one.class === 'drift'))
  const [old, now] = [JSON.parse(readFileSync(OLD, 'utf8')), JSON.parse(readFileSync(NEW, 'utf8'))]
  const operation = (document: any, id: string): any => Object.values<any>(document.paths).flatMap(
    item => Object.values<any>(item)
  ).find(one => one?.operationId === id)
  const parameters = (document: any, id: string): readonly string[] => operation(document, id).parameters
    .map((one: any) => one.$ref === undefined ? one : document.components.parameters[one.$ref.split('/').at(-1)]).map((one: any) => one.name)
  const body = (document: any, id: string): any => operation(document, id).requestBody.content['application/json'].schema
  const schemas = (document: any): any => document.components.schemas
  /** Each: the finding, and what the two documents say about it, read here by hand. */
  const checked: ReadonlyArray<readonly [string, (document: any) => unknown, unknown, unknown]> = [
    [
      'apps/list-webhook-deliveries/parameters/query:redelivery: is not taken any more',
      document => parameters(document, 'apps/list-webhook-deliveries').includes('redelivery'),
      true,
      false,
    ],
    [
      'dependabot/list-alerts-for-org/parameters/query:first: is not taken any more',
      document => parameters(document, 'dependabot/list-alerts-for-org').includes('first'),
      true,
      false,
    ],
    [
      'actions/create-or-update-repo-secret/body/key_id: is required now',
      document => body(document, 'actions/create-or-update-repo-secret').required?.includes('key_id') ?? false,
      false,
      true,
    ],
    [
      'repos/add-app-access-restrictions/body: is required now',
      document => operation(document, 'repos/add-app-access-restrictions').requestBody.required,
      false,
      true,
    ],
    [
      'components/schemas/integration/client_secret: is not in the answer any more (in answers)',
      document => 'client_secret' in schemas(document).integration.properties,
      true,
      false,
    ],
    [
      'components/schemas/issue/author_association: may be missing now (in answers)',
      document => schemas(document).issue.required.includes('author_association'),
      true,
      false,
    ],
    [
      'components/schemas/commit/author: is one of simple-user, empty-object now (in answers)',
      document => schemas(document).commit.properties.author.oneOf?.length ?? 0,
      0,
      2,
    ],
    [
      'components/schemas/repository-ruleset/_links/html: may be null now (in answers)',
      document => schemas(document)['repository-ruleset'].properties._links.properties.html.nullable ?? false,
      false,
      true,
    ],
    [
      'components/schemas/code-scanning-analysis-commit-sha: pattern "^[0-9a-fA-F]+$" → "^([0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?)$" (in requests)',
      document => schemas(document)['code-scanning-analysis-commit-sha'].pattern,
      '^[0-9a-fA-F]+$',
      '^([0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?)$',
    ],
    [
      'meta/get-zen/responses/200: is not answered as application/json any more',
      document => Object.keys(operation(document, 'meta/get-zen').responses['200'].content),
      ['application/json'],
      ['text/plain'],
    ],
    [
      'teams/delete-discussion-legacy: DELETE /teams/{team_id}/discussions/{discussion_number} is gone',
      document => '/teams/{team_id}/discussions/{discussion_number}' in document.paths,
      true,
      false,
    ],
    [
      'orgs/get-all-custom-properties: GET /orgs/{org}/properties/schema is named orgs/custom-properties-for-repos-get-organization-definitions now',
      document => document.paths['/orgs/{org}/properties/schema'].get.operationId,
      'orgs/get-all-custom-properties',
      'orgs/custom-properties-for-repos-get-organization-definitions',
    ],
  ]
  for (const [told, look, before, after] of checked) {
    assert.ok(breaking.includes(`drift breaking ${told}`), told)
    assert.deepEqual([look(old), look(now)], [before, after], told)
  }
  const reached = all.find(one => one.subject === 'components/schemas/issue' && one.at === '/author_association')!.reaches!
  assert.ok(reached.includes('issues/get') && reached.includes('issues/list-for-repo'), reached.join(' '))
})

test('what is new is no breach, and a document is the same as itself', async () => {
  assert.deepEqual(await findings([NEW, NEW]), [])
  const all = await findings([OLD, NEW])
  const added = all.filter(one => / is new$/.test(one.message))
  assert.ok(added.length > 100)
  assert.ok(added.every(one => one.impact === 'compatible'))
  const { code, err } = await diff([OLD, 'now'])
  assert.equal(code, 2)
  assert.match(err, /now is no document/)
})

test('no field of a sheet can change without being told: each is classed, in a comparison of sheets and of locks', () => {
  const fields = Object.keys((SHEET_SCHEMA as { properties: object }).properties)
  // Their change is another file, or an effect and a consent that are compared by what they are.
  const named = ['action', 'version', 'upstream', 'effect', 'consent']
  const compared = ['input', 'result', 'limits', 'scope', 'checks', 'involves', 'sensitivity']
  assert.deepEqual(fields.filter(field => ![...named, ...compared, ...Object.keys(FIELDS)].includes(field)), [])
  const locked = Object.values(PARTS).flatMap(part => part.fields)
  assert.deepEqual(fields.filter(field => ![...named, ...locked].includes(field)), [])
})
