// The libraries whose judgement a report or a lock rests on, with the versions that are really installed: another version may judge otherwise.
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'

const PACKAGES = ['@marcbachmann/cel-js', 'ajv', 'ajv-formats', 'canonicalize', 're2js', 'undici', 'yaml'] as const

/** By name, `node` and `aval` among them. */
export function judges (): { readonly [name: string]: string } {
  const installed = PACKAGES.map((name): [string, string] => [name, versionAt(findPackageJSON(name, import.meta.url))])
  return Object.fromEntries([['aval', versionAt(findPackageJSON('..', import.meta.url))], ['node', process.versions.node], ...installed])
}

function versionAt (path: string | undefined): string {
  if (path === undefined) return 'unknown'
  const { version } = JSON.parse(readFileSync(path, 'utf8')) as { readonly version?: string }
  return version ?? 'unknown'
}
