// One state of the sheets and documents of a platform team, read whole: what was compiled, and the texts that it was compiled from.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CatalogFaults, isObject, type Catalog, type Json, type JsonObject } from '../../catalog/catalog.ts'
import { loadCatalog, type LoadOptions } from '../../catalog/load.ts'
import type { Operation } from '../../catalog/openapi/operation.ts'
import { readYaml, YamlFile } from '../../catalog/yaml-file.ts'

export interface Text {
  readonly file: string
  readonly value: JsonObject
  /** As it lies there, comments and spaces included. */
  readonly bytes: string
}

export interface Snapshot {
  readonly catalog: Catalog
  /** By id of the action. */
  readonly sheets: ReadonlyMap<string, Text>
  /** By name of the upstream. */
  readonly upstreams: ReadonlyMap<string, Text>
  readonly policy: Text
}

/** @throws CatalogFaults */
export async function readSnapshot (folders: LoadOptions): Promise<Snapshot> {
  const catalog = await loadCatalog(folders)
  const { actionsFolder } = folders
  const sheets = new Map<string, Text>()
  const upstreams = new Map<string, Text>()
  for (const name of [...catalog.upstreams.keys()].sort()) {
    upstreams.set(name, await read(actionsFolder, `${name}/upstream.yaml`))
    for (const file of (await readdir(join(actionsFolder, name))).sort()) {
      const id = /^(.+\.v\d+)\.yaml$/.exec(file)?.[1]
      if (id !== undefined && catalog.actions.has(id)) sheets.set(id, await read(actionsFolder, `${name}/${file}`))
    }
  }
  return { catalog, sheets, upstreams, policy: await read(actionsFolder, 'policy.yaml') }
}

async function read (folder: string, file: string): Promise<Text> {
  const bytes = await readFile(join(folder, file))
  const parsed = readYaml(file, bytes)
  if (!(parsed instanceof YamlFile)) throw new CatalogFaults(parsed)
  return { file, value: asObject(parsed.value), bytes: bytes.toString('utf8') }
}

const asObject = (value: Json): JsonObject => isObject(value) ? value : {}

/** What an action rests on, by what it is for: `request`, `reads/customer`, `lookup`. */
export function operationsOf (snapshot: Snapshot, id: string): ReadonlyMap<string, Operation> {
  const action = snapshot.catalog.actions.get(id)
  if (action === undefined) return new Map()
  return new Map([
    ['request', action.request.operation],
    ...action.reads.map(read => [`reads/${read.name}`, read.request.operation] as const),
    ...action.lookup === null ? [] : [['lookup', action.lookup.request.operation] as const],
  ])
}
