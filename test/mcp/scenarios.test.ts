// Every scenarios file of the repository, played over HTTP and over MCP in both eras by the runner of `aval test`: it holds on each face, and what was
// told on the way is the same to the last field but for those of the transport.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Catalog } from '../../src/catalog/catalog.ts'
import { loadCatalog, type LoadOptions } from '../../src/catalog/load.ts'
import { openStage } from '../../src/commands/rehearsal.ts'
import { BUNDLED } from '../../src/commands/demo/sheets.ts'
import type { Answered, OpenStage } from '../../src/curation/rehearsal/stage.ts'
import { findScenarios } from '../../src/curation/test/find-scenarios.ts'
import { ScenarioRunner, type ScenarioFile } from '../../src/curation/test/scenarios.ts'
import { startBroker } from '../../src/main.ts'
import { keeping } from '../invariants/ground.ts'
import { dnsFolder, SHEETS as DNS_SHEETS } from '../powerdns/dns-site.ts'
import { startPowerDns } from '../support/powerdns.ts'
import { Comparing } from './comparable.ts'
import { ERAS, type Era } from './speak.ts'
import { startTranslator, type Translator } from './translator.ts'

const ROOT = join(import.meta.dirname, '../..')

interface Played {
  /** What did not hold, by the name of the scenario. */
  readonly faults: readonly string[]
  /** By the name of the scenario, what was answered on the way. */
  readonly told: ReadonlyMap<string, readonly unknown[]>
  /** How many tools were called. */
  readonly tools: number
}

test('every folder with scenarios is played below', () => {
  const files = readdirSync(ROOT, { recursive: true, withFileTypes: true })
    .filter(({ name, parentPath }) => name.endsWith('.scenarios.yaml') && !relative(ROOT, parentPath).split('/').includes('node_modules'))
  const folders = new Set(files.map(({ parentPath }) => join(parentPath, '..')))
  assert.deepEqual(folders, new Set([BUNDLED.actionsFolder, DNS_SHEETS]))
})

test('the scenarios of the shop say the same over HTTP and over MCP', async t => {
  const scenarios = await sameOnAllFaces(t, BUNDLED)
  for (const outcome of ['completed', 'pending', 'rejected', 'unknown']) assert.ok(scenarios.some(one => one.includes(`"outcome":"${outcome}"`)), outcome)
  assert.ok(scenarios.some(one => one.includes('"PROPOSAL_DENIED"')) && scenarios.some(one => one.includes('"VERSION_CONFLICT"')))
})

test('the scenarios of PowerDNS say the same over HTTP and over MCP', async t => {
  const keep = keeping(t)
  const powerDns = keep(await startPowerDns(), one => one.stop())
  const site = keep(await dnsFolder(powerDns, {}), one => one.remove())
  const scenarios = await sameOnAllFaces(t, { actionsFolder: join(site.folder, 'actions'), openapiFolder: join(site.folder, 'openapi') })
  assert.ok(scenarios.some(one => one.includes('"already_in_desired_state"')))
})

/** @returns what each scenario was answered, as text */
async function sameOnAllFaces (t: TestContext, folders: LoadOptions): Promise<readonly string[]> {
  const catalog = await loadCatalog(folders)
  const files = await findScenarios(folders.actionsFolder, catalog)
  const [http, ...others] = await Promise.all([null, ...ERAS].map(era => played(catalog, files, era)))
  assert.deepEqual([http!.faults, http!.tools], [[], 0])
  for (const { action, scenarios = [] } of files.values()) {
    for (const { name } of scenarios) assert.ok([...http!.told.keys()].some(key => key.startsWith(`${action}.v`) && key.endsWith(`, ${name}`)), name)
  }
  for (const [index, mcp] of others.entries()) {
    assert.deepEqual(mcp.faults, [], ERAS[index])
    assert.deepEqual([...mcp.told.keys()], [...http!.told.keys()])
    for (const [name, told] of mcp.told) assert.deepEqual(told, http!.told.get(name), `${name}: ${ERAS[index]} beside HTTP`)
    assert.ok(mcp.tools >= mcp.told.size)
  }
  t.diagnostic(`${http!.told.size} scenarios`)
  return [...http!.told.values()].map(told => JSON.stringify(told))
}

/** @param era null: over HTTP */
async function played (catalog: Catalog, files: ReadonlyMap<string, ScenarioFile>, era: Era | null): Promise<Played> {
  const face = new Face(catalog, era)
  const runner = new ScenarioRunner(face.open)
  const told = new Map<string, readonly unknown[]>()
  const faults: string[] = []
  try {
    for (const action of catalog.actions.values()) {
      const file = files.get(action.name)
      for (const scenario of file?.scenarios ?? []) {
        const results = await runner.run(action, { action: action.name, scenarios: [scenario] })
        faults.push(...results.flatMap(({ name, fault }) => fault === null ? [] : [`${action.id}, ${name}: ${fault}`]))
        if (results.length > 0) told.set(`${action.id}, ${scenario.name}`, face.taken())
      }
    }
  } finally {
    await runner.close()
  }
  return { faults, told, tools: face.tools }
}

/** Opens stages that are reached over one face, and keeps what is answered on them. */
class Face {
  tools = 0
  readonly #catalog: Catalog
  readonly #era: Era | null
  #answers: unknown[] = []
  #comparing = new Comparing()

  constructor (catalog: Catalog, era: Era | null) {
    this.#catalog = catalog
    this.#era = era
  }

  /** Since it was asked last. */
  taken (): readonly unknown[] {
    const answers = this.#answers
    this.#answers = []
    this.#comparing = new Comparing()
    return answers
  }

  readonly open: OpenStage = async consenting => {
    let translator: Translator | null = null
    const stage = await openStage({
      startBroker: async (config, options) => {
        const broker = await startBroker(config, options)
        if (this.#era === null) return broker
        translator = await startTranslator(broker.agentsUrl, this.#era)
        return { ...broker, agentsUrl: translator.url }
      },
    }, this.#catalog, consenting)
    return {
      ...stage,
      call: async asked => this.#kept(await stage.call(asked)),
      attempt: async (id, caller, waitMs) => this.#kept(await stage.attempt(id, caller, waitMs)),
      commit: async (id, caller) => this.#kept(await stage.commit(id, caller)),
      close: async () => {
        this.tools += translator?.calls() ?? 0
        await translator?.close()
        await stage.close()
      },
    }
  }

  #kept (answered: Answered): Answered {
    this.#answers.push(this.#comparing.comparable(answered.envelope))
    return answered
  }
}
