// Finds the scenarios of a folder of sheets.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CatalogFaults, type Catalog } from '../../catalog/catalog.ts'
import { FaultList } from '../../catalog/faults.ts'
import { SCENARIOS_NAME } from '../../catalog/load.ts'
import { readScenarios, type ScenarioFile } from './scenario-file.ts'

/** By the name of the action. @throws CatalogFaults with every fault of every file */
export async function findScenarios (actionsFolder: string, catalog: Catalog): Promise<ReadonlyMap<string, ScenarioFile>> {
  const faults = new FaultList()
  const found = new Map<string, ScenarioFile>()
  for (const upstream of await readdir(actionsFolder, { withFileTypes: true })) {
    if (!upstream.isDirectory()) continue
    for (const name of (await readdir(join(actionsFolder, upstream.name))).sort()) {
      if (!SCENARIOS_NAME.test(name)) continue
      const file = readScenarios(`${upstream.name}/${name}`, await readFile(join(actionsFolder, upstream.name, name)), faults, catalog)
      if (file !== null) found.set(file.action, file)
    }
  }
  if (faults.count > 0) throw new CatalogFaults(faults.all())
  return found
}
