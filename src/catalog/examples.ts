// Examples teach agents: one that the sheet itself would refuse teaches them to fail.
import canonicalize from 'canonicalize'
import type { Json } from './catalog.ts'
import type { Reporter } from './faults.ts'
import type { Checker } from './schema.ts'
import type { Sheet } from './sheet.ts'
import type { Finish } from './view.ts'

const RULE = 'example-refused'

/** @param checker null where the input has faults of its own; @param finish null where the result has, or there is none */
export function checkExamples (sheet: Sheet, checker: Checker | null, finish: Finish | null, report: Reporter): void {
  for (const [index, example] of (sheet.examples ?? []).entries()) {
    const at = `/examples/${index}`
    const fault = checker?.check(example.arguments) ?? null
    if (fault !== null) report.fault(`${at}/arguments${fault.pointer}`, RULE, `the input schema refuses this example: ${fault.message}`)
    if (example.result === undefined) continue
    if (sheet.result === undefined) report.faultAtKey(`${at}/result`, RULE, 'the sheet has no result')
    else if (finish !== null) checkResult(example.result, `${at}/result`, finish, report)
  }
}

function checkResult (result: Json, pointer: string, finish: Finish, report: Reporter): void {
  try {
    if (canonicalize(finish(result).result) === canonicalize(result)) return
    report.fault(pointer, RULE, 'the example shows what the schema of the result does not')
  } catch (error) {
    report.fault(pointer, RULE, `the schema of the result refuses this example: ${error instanceof Error ? error.message : 'it cannot be checked'}`)
  }
}
