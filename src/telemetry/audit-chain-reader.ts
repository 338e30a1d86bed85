// Reads the chain of one writer, segment after segment and row after row, up to its end or its first fault. Memory stays flat whatever the size.
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { segmentName } from './audit-chain.ts'
import { NO_HASH, readRow, type ReadRow } from './audit-row.ts'
import type { Segments } from './audit-seal.ts'

export interface ChainEnd {
  /** In order, from seq 1. */
  readonly rows: number
  readonly head: string
  readonly closed: boolean
  readonly firstTime: string | null
  readonly lastTime: string | null
  /** What follows the last row and is none; only at the very end of a chain. */
  readonly torn: { readonly bytes: Buffer, readonly segment: number, readonly offset: number, readonly file: string } | null
  /** Why reading stopped before the end. */
  readonly fault: ChainFault | null
  /** The hash of an earlier row, read again. */
  readonly hashAt: (seq: number) => Promise<string | null>
}

export interface ChainFault {
  readonly kind: 'broken' | 'gap'
  readonly seq: number
  readonly file: string
  readonly message: string
}

/** A torn tail is small; what is larger and no row was not torn by a crash. */
const TAIL_MAX = 64 * 1024 * 1024

interface Line {
  readonly text: string
  readonly offset: number
}

/** @param onRow looks at each row that stands in order; what it answers is what is wrong with it */
export async function readChain (folder: string, { writer, segments }: Segments, onRow: (row: ReadRow) => string | null): Promise<ChainEnd> {
  const state: State = { writer, rows: 0, head: NO_HASH, closed: false, firstTime: null, lastTime: null, torn: null, fault: null }
  for (const [index, segment] of segments.entries()) {
    if (segment !== index + 1) state.fault = { kind: 'gap', seq: state.rows + 1, file: segmentName(writer, index + 1), message: 'is not there' }
    else await readSegment(folder, segment, segment === segments.at(-1), state, onRow)
    if (state.fault !== null || state.torn !== null) break
  }
  return { ...state, hashAt: seq => hashAt(folder, writer, segments, seq) }
}

interface State extends Pick<ChainEnd, 'torn' | 'fault'> {
  readonly writer: string
  rows: number
  head: string
  closed: boolean
  firstTime: string | null
  lastTime: string | null
  torn: ChainEnd['torn']
  fault: ChainFault | null
}

async function readSegment (folder: string, segment: number, isLast: boolean, state: State, onRow: (row: ReadRow) => string | null): Promise<void> {
  const file = segmentName(state.writer, segment)
  const path = join(folder, file)
  const lines = linesOf(path)
  try {
    for (;;) {
      const step = await lines.next()
      const { text, offset } = step.value
      const row = step.done === true ? 'is half a row' : readRow(text)
      if (step.done === true && text === '') return
      if (typeof row === 'string' && isLast && !state.closed) {
        // At the very end of a chain, bytes that are no row may be what a crash left; with a row after them they are not.
        const bytes = await tail(path, offset)
        if (!holdsRow(bytes, state.writer)) {
          state.torn = { bytes, offset, segment, file }
          return
        }
      }
      state.fault = faultOfRow(row, state, file) ?? (typeof row === 'string' ? null : remark(onRow(row), row, file))
      if (state.fault !== null || typeof row === 'string') return
      state.rows = row.seq
      state.head = row.hash
      state.closed = row.event === 'audit.closed'
      state.firstTime ??= row.time
      state.lastTime = row.time
    }
  } finally {
    // A chain that is at fault is not read to its end, and its file would stay open.
    await lines.return({ text: '', offset: 0 })
  }
}

/** The hash of a row that was in order when it was read before. */
async function hashAt (folder: string, writer: string, segments: readonly number[], seq: number): Promise<string | null> {
  for (const segment of segments) {
    for await (const { text } of linesOf(join(folder, segmentName(writer, segment)))) {
      const row = readRow(text)
      if (typeof row !== 'string' && row.seq === seq) return row.hash
    }
  }
  return null
}

function holdsRow (bytes: Buffer, writer: string): boolean {
  return bytes.toString('latin1').split('\n').slice(0, -1).some(line => {
    const row = readRow(line)
    return typeof row !== 'string' && row.writer === writer
  })
}

function faultOfRow (row: ReadRow | string, state: State, file: string): ChainFault | null {
  const seq = state.rows + 1
  const broken = (message: string): ChainFault => ({ kind: 'broken', seq, file, message })
  if (typeof row === 'string') return broken(row)
  if (row.writer !== state.writer) return broken('is a row of another writer')
  if (row.seq !== seq) return { kind: 'gap', seq, file, message: `stands where row ${row.seq} is` }
  if (row.prev !== state.head) return broken('does not follow from the row before')
  if (state.closed) return broken('follows the end of its chain')
  return null
}

function remark (message: string | null, row: ReadRow, file: string): ChainFault | null {
  return message === null ? null : { kind: 'broken', seq: row.seq, file, message }
}

/** Yields whole lines without their line feed; returns what stands after the last one. */
async function * linesOf (path: string): AsyncGenerator<Line, Line> {
  let rest = ''
  let offset = 0
  // Each byte is one character: what is no row stays exactly what it is.
  for await (const chunk of createReadStream(path, { encoding: 'latin1', highWaterMark: 1024 * 1024 }) as AsyncIterable<string>) {
    rest += chunk
    let start = 0
    for (let end = rest.indexOf('\n', start); end !== -1; end = rest.indexOf('\n', start)) {
      yield { text: rest.slice(start, end), offset: offset + start }
      start = end + 1
    }
    offset += start
    rest = rest.slice(start)
  }
  return { text: rest, offset }
}

async function tail (path: string, offset: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of createReadStream(path, { start: offset, end: offset + TAIL_MAX }) as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}
