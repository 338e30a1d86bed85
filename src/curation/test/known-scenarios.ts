// What scenarios name has to be there: a name that nobody knows would be a scenario that never runs, or an answer that is never asked for.
import type { Action, Catalog } from '../../catalog/catalog.ts'
import type { Reporter } from '../../catalog/faults.ts'
import { suggestion } from '../../catalog/near.ts'
import { whyNot } from '../rehearsal/decisions.ts'
import { isNamed, operationsOf } from '../rehearsal/operations.ts'
import type { Scenario, ScenarioFile } from './scenario-file.ts'

export function checkKnown (file: ScenarioFile, catalog: Catalog, report: Reporter): void {
  const all = [...catalog.actions.values()]
  const versions = all.filter(({ name }) => name === file.action)
  if (versions.length === 0) {
    report.fault('/action', 'action-unknown', `there is no action "${file.action}"${suggestion(file.action, all.map(({ name }) => name))}`)
    return
  }
  for (const [index, scenario] of (file.scenarios ?? []).entries()) checkScenario(scenario, `/scenarios/${index}`, versions, report)
}

function checkScenario (scenario: Scenario, at: string, versions: readonly Action[], report: Reporter): void {
  const meant = versions.filter(({ version }) => scenario.version === undefined || scenario.version === version)
  if (meant.length === 0) {
    report.fault(`${at}/version`, 'version-unknown', `there is ${versions.map(({ id }) => id).join(', ')}, and no version ${scenario.version}`)
    return
  }
  const { approval = 'given' } = scenario.given ?? {}
  for (const action of meant) {
    const why = approval === 'given' || approval === 'none' ? null : whyNot(approval, action)
    if (why !== null) report.fault(`${at}/given/approval`, 'approval-impossible', `${action.id} ${why}`)
  }
  const operations = meant.flatMap(operationsOf)
  for (const [place, named] of operationsNamed(scenario)) {
    if (operations.some(operation => isNamed(operation, named))) continue
    const known = [...new Set(operations.map(({ id }) => id))]
    report.fault(`${at}${place}`, 'operation-unknown', `${meant[0]!.id} never asks "${named}"${suggestion(named, known)}; it asks ${known.join(', ')}`)
  }
}

function operationsNamed ({ given, then }: Scenario): ReadonlyArray<readonly [string, string]> {
  const named = (place: string, list: ReadonlyArray<{ readonly operation: string }> = []): ReadonlyArray<readonly [string, string]> =>
    list.map(({ operation }, index) => [`${place}/${index}/operation`, operation])
  return [...named('/given/upstream', given?.upstream), ...named('/given/upstream_after', given?.upstream_after), ...named('/then/requests', then.requests)]
}
