// The chain of one writer: rows are numbered when they are told, and written and synced in groups, so that all who wait at one moment share one
// fsync. Every byte goes to a position of its own, and what has not been synced is kept: after a fault the same bytes are written again to the same
// place, because after a failed fsync nobody can say which of them the disk has.
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Checkpoint, CheckpointSigner } from './audit-checkpoint.ts'
import { NO_HASH, writeRow, type RowFields } from './audit-row.ts'
import type { AuditFault } from './metrics.ts'

/** What the chain needs of a FileHandle. */
export interface AuditFile {
  write (buffer: Buffer, offset: number, length: number, position: number): Promise<{ readonly bytesWritten: number }>
  datasync (): Promise<void>
  close (): Promise<void>
}

export interface ChainOptions {
  readonly folder: string
  readonly writer: string
  readonly signer: CheckpointSigner
  readonly epochMs: () => number
  /** Opens a file that must not be there yet, 0600. */
  readonly openFile: (path: string) => Promise<AuditFile>
  /** A segment that has grown beyond this is followed by the next; so is one of yesterday (UTC). */
  readonly segmentBytesMax: number
  readonly onSynced: (rows: number, durationMs: number) => void
  readonly onFault: (what: AuditFault, error: unknown) => void
  /** A signed note is on the disk. */
  readonly onCheckpoint: (checkpoint: Checkpoint, note: string) => void
}

/** Rows nobody waits for are on the disk after at most this and the time of one fsync. */
const LAZY_MS = 100
const LAZY_ROWS = 512
const RETRY_MS = 1_000
const CHECKPOINT_MS = 60_000
const CHECKPOINT_ROWS = 1_000
const DAY_MS = 86_400_000

interface Queued {
  readonly fields: RowFields
  readonly seq: number
  readonly timeMs: number
}

/** Rows as bytes, in the order of the file. */
interface Chunk {
  readonly bytes: Buffer
  readonly rows: number
  readonly lastSeq: number
  readonly lastHash: string
}

interface Waiter {
  readonly seq: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export const segmentName = (writer: string, segment: number): string => `${writer}.${String(segment).padStart(6, '0')}.jsonl`
export const checkpointsName = (writer: string): string => `${writer}.checkpoints`

export class AuditChain {
  readonly #options: ChainOptions
  #file: AuditFile
  #checkpoints: AuditFile
  #segment = 1
  #segmentDay: number
  /** Length of the segment that is durable. */
  #durableBytes = 0
  /** Length of `#unsynced` that was handed to the file. */
  #writtenBytes = 0
  #unsynced: Chunk[] = []
  #queue: Queued[] = []
  #waiters: Waiter[] = []
  #lastSeq = 0
  #builtHash = NO_HASH
  #syncedSeq = 0
  #syncedHash = NO_HASH
  #turning = false
  #lazyTimer: NodeJS.Timeout | null = null
  #checkpointTimer: NodeJS.Timeout
  #checkpointBytes = 0
  #checkpointedSeq = -1
  #checkpointedAtMs = -Infinity
  #checkpointing: Promise<void> = Promise.resolve()

  private constructor (options: ChainOptions, file: AuditFile, checkpoints: AuditFile) {
    this.#options = options
    this.#file = file
    this.#checkpoints = checkpoints
    this.#segmentDay = Math.floor(options.epochMs() / DAY_MS)
    this.#checkpointTimer = setInterval(() => { void this.checkpoint() }, CHECKPOINT_MS).unref()
  }

  /** @throws the error of the disk */
  static async open (options: ChainOptions): Promise<AuditChain> {
    const file = await options.openFile(join(options.folder, segmentName(options.writer, 1)))
    const checkpoints = await options.openFile(join(options.folder, checkpointsName(options.writer)))
    await syncFolder(options.folder)
    return new AuditChain(options, file, checkpoints)
  }

  /** Rows that are not durable yet. */
  waiting (): number {
    return this.#lastSeq - this.#syncedSeq
  }

  /** Numbers the row; it is durable some time later. @returns its seq */
  add (fields: RowFields, timeMs = this.#options.epochMs()): number {
    this.#lastSeq += 1
    this.#queue.push({ fields, seq: this.#lastSeq, timeMs })
    if (this.#queue.length >= LAZY_ROWS) void this.#turn()
    else this.#turnWithin(LAZY_MS)
    return this.#lastSeq
  }

  /** Resolves when all that was added so far is durable. @throws the error of the disk; the rows are tried again later all the same */
  sync (): Promise<void> {
    if (this.#syncedSeq === this.#lastSeq) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#waiters.push({ seq: this.#lastSeq, resolve, reject })
      void this.#turn()
    })
  }

  /** Signs the head that is durable, where it has moved. Never throws. */
  checkpoint (): Promise<void> {
    this.#checkpointing = this.#checkpointing.then(() => this.#writeCheckpoint())
    return this.#checkpointing
  }

  /** Syncs and signs what there is, as far as the disk lets it. */
  async close (): Promise<void> {
    clearInterval(this.#checkpointTimer)
    try {
      await this.sync()
      await this.checkpoint()
    } catch {
      // Told by onFault.
    } finally {
      if (this.#lazyTimer !== null) clearTimeout(this.#lazyTimer)
      await Promise.allSettled([this.#file.close(), this.#checkpoints.close()])
    }
  }

  #turnWithin (ms: number): void {
    this.#lazyTimer ??= setTimeout(() => {
      this.#lazyTimer = null
      void this.#turn()
    }, ms).unref()
  }

  /** Batches, one after the other, as long as somebody waits or much is queued; one at a time. Never throws. */
  async #turn (): Promise<void> {
    if (this.#turning) return
    this.#turning = true
    try {
      do await this.#batch()
      while (this.#waiters.length > 0 || this.#queue.length >= LAZY_ROWS)
    } finally {
      this.#turning = false
    }
    if (this.waiting() > 0) this.#turnWithin(this.#unsynced.length > 0 ? RETRY_MS : LAZY_MS)
    const isDue = this.#syncedSeq - this.#checkpointedSeq >= CHECKPOINT_ROWS || performance.now() - this.#checkpointedAtMs >= CHECKPOINT_MS
    if (isDue && this.#syncedSeq > this.#checkpointedSeq) void this.checkpoint()
  }

  async #batch (): Promise<void> {
    const startedAtMs = performance.now()
    await this.#rotateIfDue()
    this.#build()
    const tried = this.#unsynced.at(-1)?.lastSeq ?? this.#syncedSeq
    let doing: AuditFault = 'write'
    try {
      await this.#write()
      doing = 'sync'
      if (this.#unsynced.length > 0) await this.#file.datasync()
    } catch (error) {
      this.#writtenBytes = 0
      this.#options.onFault(doing, error)
      this.#answer(tried, waiter => waiter.reject(error))
      return
    }
    this.#durable(performance.now() - startedAtMs)
    this.#answer(this.#syncedSeq, waiter => waiter.resolve())
  }

  /** What was told since the last time, chained and as bytes. */
  #build (): void {
    if (this.#queue.length === 0) return
    const queued = this.#queue
    this.#queue = []
    let text = ''
    for (const { fields, seq, timeMs } of queued) {
      const row = writeRow(fields, { writer: this.#options.writer, seq, prev: this.#builtHash, timeMs })
      this.#builtHash = row.hash
      text += `${row.line}\n`
    }
    this.#unsynced.push({ bytes: Buffer.from(text, 'latin1'), rows: queued.length, lastSeq: queued.at(-1)!.seq, lastHash: this.#builtHash })
  }

  async #write (): Promise<void> {
    let start = 0
    for (const { bytes } of this.#unsynced) {
      while (this.#writtenBytes < start + bytes.length) {
        const from = this.#writtenBytes - start
        const { bytesWritten } = await this.#file.write(bytes, from, bytes.length - from, this.#durableBytes + this.#writtenBytes)
        if (bytesWritten === 0) throw new Error('nothing was written')
        this.#writtenBytes += bytesWritten
      }
      start += bytes.length
    }
  }

  #durable (durationMs: number): void {
    const rows = this.#unsynced.reduce((sum, chunk) => sum + chunk.rows, 0)
    const last = this.#unsynced.at(-1)
    if (last === undefined) return
    this.#durableBytes += this.#writtenBytes
    this.#writtenBytes = 0
    this.#syncedSeq = last.lastSeq
    this.#syncedHash = last.lastHash
    this.#unsynced = []
    this.#options.onSynced(rows, durationMs)
  }

  #answer (uptoSeq: number, answer: (waiter: Waiter) => void): void {
    const answered = this.#waiters.filter(waiter => waiter.seq <= uptoSeq)
    this.#waiters = this.#waiters.filter(waiter => waiter.seq > uptoSeq)
    answered.forEach(answer)
  }

  /** Only between batches, so that a segment that is followed by another is whole. */
  async #rotateIfDue (): Promise<void> {
    const day = Math.floor(this.#options.epochMs() / DAY_MS)
    if (this.#unsynced.length > 0 || this.#durableBytes === 0) return
    if (this.#durableBytes < this.#options.segmentBytesMax && day === this.#segmentDay) return
    try {
      const next = await this.#options.openFile(join(this.#options.folder, segmentName(this.#options.writer, this.#segment + 1)))
      await syncFolder(this.#options.folder)
      const full = this.#file
      this.#file = next
      this.#segment += 1
      this.#segmentDay = day
      this.#durableBytes = 0
      await full.close()
    } catch (error) {
      // The segment in use goes on growing.
      this.#options.onFault('write', error)
    }
  }

  async #writeCheckpoint (): Promise<void> {
    const size = this.#syncedSeq
    if (size <= this.#checkpointedSeq) return
    const { writer, signer, epochMs } = this.#options
    const checkpoint: Checkpoint = { writer, size, head: this.#syncedHash, time: new Date(epochMs()).toISOString() }
    const note = Buffer.from(signer.sign(checkpoint))
    try {
      let written = 0
      while (written < note.length) {
        const { bytesWritten } = await this.#checkpoints.write(note, written, note.length - written, this.#checkpointBytes + written)
        if (bytesWritten === 0) throw new Error('nothing was written')
        written += bytesWritten
      }
      await this.#checkpoints.datasync()
      this.#checkpointBytes += note.length
      this.#checkpointedSeq = size
      this.#checkpointedAtMs = performance.now()
      this.#options.onCheckpoint(checkpoint, note.toString())
    } catch (error) {
      this.#options.onFault('checkpoint', error)
    }
  }
}

/** A name in a folder is durable only when the folder is. */
async function syncFolder (path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
