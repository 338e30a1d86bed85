// More actions than are listed at once: reads of the bundled shop that differ in their name alone.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BUNDLED } from '../../src/commands/demo/sheets.ts'
import type { Site } from '../support/broker.ts'

const READ = readFileSync(join(BUNDLED.actionsFolder, 'shop/get_customer.v1.yaml'), 'utf8')

export const READS: readonly string[] = Array.from({ length: 60 }, (_, index) => `read_number_${String(index).padStart(2, '0')}`)

/** Beside the bundled ones; nobody is granted them by it. */
export function addReads (site: Site): void {
  for (const name of READS) {
    const sheet = READ.replace('action: get_customer', `action: ${name}`).replace(/^title: .*$/m, `title: ${name.replaceAll('_', ' ')}`)
    writeFileSync(join(site.folder, `actions/shop/${name}.v1.yaml`), sheet)
  }
}
