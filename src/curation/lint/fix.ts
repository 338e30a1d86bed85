// `--fix`: repairs that need no judgement, written into the sheets. What needs a decision is left to whoever makes it.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { LoadProgress } from '../../catalog/load.ts'
import { editText } from './edit-text.ts'
import { lintFolder, type LintFolder } from './lint.ts'
import { openFindings, type Report } from './report.ts'

/** One repair may be what another waits for. */
const ROUNDS_MAX = 4

/** Writes all repairs and judges what is there then. @returns with the names of the files that were changed */
export async function fixFolder (options: LintFolder, progress?: LoadProgress): Promise<{ readonly report: Report, readonly changed: readonly string[] }> {
  const changed = new Set<string>()
  let report = await lintFolder(options, progress)
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const written = await writeFixes(report, options)
    if (written.length === 0) break
    for (const file of written) changed.add(file)
    report = await lintFolder(options, progress)
  }
  return { report, changed: [...changed].sort() }
}

async function writeFixes (report: Report, options: LintFolder): Promise<readonly string[]> {
  const written: string[] = []
  for (const file of new Set(openFindings(report).filter(({ fix }) => fix !== null).map(finding => finding.file))) {
    const edits = openFindings(report).flatMap(({ file: where, fix }) => where === file && fix !== null ? [fix] : [])
    const path = join(options.actionsFolder, file.slice(options.shownAs === '' || options.shownAs === '.' ? 0 : options.shownAs.length + 1))
    const before = await readFile(path, 'utf8')
    const after = editText(before, edits)
    if (after === before) continue
    await writeFile(path, after)
    written.push(file)
  }
  return written
}
