// What a process finds when it starts: chains of earlier processes, and of others that run now. It states the head of each in its own chain, with
// what is torn after it, so that nothing can be cut off a chain once another one has followed. The files of others are never written.
import { createHash } from 'node:crypto'
import { readdir, readFile, stat, writeFile, open } from 'node:fs/promises'
import { join } from 'node:path'
import { segmentName } from './audit-chain.ts'
import { NO_HASH, readRow, type ReadRow, type Sealed } from './audit-row.ts'

export interface Segments {
  readonly writer: string
  /** Numbers, in order; a whole chain has all from 1 on. */
  readonly segments: readonly number[]
  readonly hasCheckpoints: boolean
}

export interface FoundChain {
  readonly sealed: Sealed
  /** Its last row says that its process ended in order. */
  readonly closed: boolean
  /** Remembers that this state has been stated; called when the row that states it is durable. */
  readonly remember: () => Promise<void>
}

const SEGMENT = /^([0-9]{8}T[0-9]{9}Z-[0-9a-f]{16})\.([0-9]{6})\.jsonl$/
const CHECKPOINTS = /^([0-9]{8}T[0-9]{9}Z-[0-9a-f]{16})\.checkpoints$/

/** The writers of a folder, by name, which is by time of start. */
export async function listWriters (folder: string): Promise<readonly Segments[]> {
  const found = new Map<string, { segments: number[], hasCheckpoints: boolean }>()
  const of = (writer: string) => {
    const known = found.get(writer) ?? { segments: [], hasCheckpoints: false }
    found.set(writer, known)
    return known
  }
  for (const name of await readdir(folder)) {
    const segment = SEGMENT.exec(name)
    if (segment !== null) of(segment[1]!).segments.push(Number(segment[2]))
    const checkpoints = CHECKPOINTS.exec(name)
    if (checkpoints !== null) of(checkpoints[1]!).hasCheckpoints = true
  }
  return [...found]
    .map(([writer, { segments, hasCheckpoints }]) => ({ writer, segments: segments.sort((a, b) => a - b), hasCheckpoints }))
    .sort((a, b) => a.writer < b.writer ? -1 : 1)
}

/** The chains of this folder whose state nobody has stated yet. */
export async function findChains (folder: string): Promise<readonly FoundChain[]> {
  const found: FoundChain[] = []
  for (const { writer, segments } of await listWriters(folder)) {
    const segment = segments.at(-1)
    if (segment === undefined) continue
    const path = join(folder, segmentName(writer, segment))
    const { size } = await stat(path)
    const state = JSON.stringify({ segment, size })
    // No evidence, only a note to ourselves: without it every start would state every chain anew.
    const notePath = join(folder, `${writer}.stated`)
    if (await readFile(notePath, 'utf8').catch(() => '') === state) continue
    const { sealed, closed } = await lastState(folder, writer, segment)
    found.push({ sealed, closed, remember: () => writeFile(notePath, state, { mode: 0o600 }) })
  }
  return found
}

async function lastState (folder: string, writer: string, segment: number): Promise<{ sealed: Sealed, closed: boolean }> {
  const bytes = await readFile(join(folder, segmentName(writer, segment)))
  const last = lastRow(bytes, writer)
  const torn = bytes.subarray(last?.end ?? 0)
  // A segment that was begun and holds no whole row yet: the head is in the one before.
  const row = last?.row ?? (segment > 1 ? await lastRowOf(join(folder, segmentName(writer, segment - 1)), writer) : null)
  return {
    sealed: {
      bytes: last?.end ?? 0,
      head: row?.hash ?? NO_HASH,
      segment,
      seq: row?.seq ?? 0,
      torn_bytes: torn.length,
      torn_sha256: createHash('sha256').update(torn).digest('hex'),
      writer,
    },
    closed: torn.length === 0 && row?.event === 'audit.closed',
  }
}

async function lastRowOf (path: string, writer: string): Promise<ReadRow | null> {
  const file = await open(path, 'r').catch(() => null)
  if (file === null) return null
  try {
    return lastRow(await file.readFile(), writer)?.row ?? null
  } finally {
    await file.close()
  }
}

/** The last whole row, and where it ends. */
function lastRow (bytes: Buffer, writer: string): { readonly row: ReadRow, readonly end: number } | null {
  let end = bytes.lastIndexOf(0x0a)
  while (end !== -1) {
    const start = end === 0 ? 0 : bytes.lastIndexOf(0x0a, end - 1) + 1
    const row = readRow(bytes.toString('latin1', start, end))
    if (typeof row !== 'string' && row.writer === writer) return { row, end: end + 1 }
    end = start - 1
  }
  return null
}

