// I17: no credential and no token stands in anything that a run leaves behind, and no tenant's write comes with another one's.
import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Evidence } from '../evidence.ts'
import { violation, type Violation } from '../violation.ts'

/** Where they must stand. */
const THEIR_PLACE = /^(credentials\/|secrets\.json$|jwks\.json$|actions\/|openapi\/)/
const TOKEN = /eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}/

export function secretsStay (evidence: Evidence): readonly Violation[] {
  return [...inFiles(evidence), ...ofOthers(evidence)]
}

function inFiles ({ folder, secrets }: Evidence): readonly Violation[] {
  const words = secrets === null ? [] : Object.entries(secrets.credentials).concat([['the key of the HMACs', secrets.avalKey]])
  const needles = words.flatMap(([name, secret]) => [
    secret, Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  ].map(needle => ({ name, needle })))
  return globSync('**/*', { cwd: folder }).filter(name => !THEIR_PLACE.test(name) && statSync(join(folder, name)).isFile()).flatMap(name => {
    const text = readFileSync(join(folder, name), 'latin1')
    const found = needles.filter(({ needle }) => text.includes(needle)).map(one => one.name)
    if (!name.endsWith('.key') && TOKEN.test(text)) found.push('an access token')
    return found.map(what => violation('I17', `${what} stands in ${name}`, {}, { file: name }))
  })
}

function ofOthers (evidence: Evidence): readonly Violation[] {
  return evidence.arrivals.flatMap(arrival => {
    const record = arrival.attempt === null ? undefined : evidence.records.get(arrival.attempt)
    if (record === undefined || record.owner.tenant === arrival.tenant) return []
    return [violation('I17', `it came with the credential of ${arrival.tenant}`, { attempt: record.id }, arrival, record)]
  })
}
