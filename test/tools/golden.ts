// The forms of the bundled actions, as files: `node test/tools/golden.ts` writes them anew, and the test compares. A change of a form is then seen in
// the difference, by whoever reviews it.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BUNDLED } from '../../src/commands/demo/sheets.ts'
import { loadCatalog } from '../../src/catalog/load.ts'
import { formOf, FORMATS, type Format } from '../../src/tools/forms.ts'
import { toolOf } from '../../src/tools/tool.ts'

const fileOf = (format: Format): string => join(import.meta.dirname, 'golden', `${format}.json`)

export async function formsOfBundled (): Promise<ReadonlyMap<Format, string>> {
  const { actions } = await loadCatalog(BUNDLED)
  return new Map(FORMATS.map(format => {
    const forms = [...actions.values()].map(action => formOf(toolOf(action), format))
    return [format, `${JSON.stringify(forms, null, 2)}\n`]
  }))
}

export const golden = (format: Format): string => readFileSync(fileOf(format), 'utf8')

if (import.meta.main) {
  for (const [format, text] of await formsOfBundled()) writeFileSync(fileOf(format), text)
}
