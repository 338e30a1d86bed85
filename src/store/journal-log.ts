// The files under the journal of a replica: lines with a checksum each, in numbered segments. Lines are written and synced in groups, so that all who
// wait at one moment share one fsync. After a fault of the disk nobody can say which bytes of a segment it has: that segment is left as it is, and the
// next one begins with everything that still matters.
import { close, fdatasync, mkdirSync, open as openFile, readdirSync, readFileSync, rmSync, statSync, write } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'

/** What the log needs of a file. */
export interface LogFile {
  write (bytes: Buffer): Promise<void>
  sync (): Promise<void>
  close (): Promise<void>
}

export interface LogOptions {
  readonly folder: string
  /** What a new segment begins with: all that must still be known when every older one is gone. */
  snapshot (): readonly string[]
  onSynced (lines: number, durationMs: number): void
  onFault (error: unknown): void
  /** A segment that has grown beyond this is followed by the next. */
  readonly segmentBytesMax?: number
  /** Older segments are removed, the oldest first, where all of them together are larger than this or where one is older. */
  readonly bytesMax?: number
  readonly ageMsMax?: number
  /** Opens a file that must not be there yet, 0600. */
  create? (path: string): Promise<LogFile>
}

const SEGMENT_BYTES_MAX = 16 * 1024 * 1024
const BYTES_MAX = 512 * 1024 * 1024
/** A settled attempt is kept by the store for a week; its line here for a day. */
const AGE_MS_MAX = 24 * 3_600_000
/** Lines that nobody waits for are on their way to the disk after this. */
const LAZY_MS = 20
/** Where nobody waits at all, they are synced together after this; the death of the process loses none that is written. */
const LAZY_SYNC_MS = 1_000
/** Such lines, while the disk takes none; more are dropped. */
const LAZY_MAX = 10_000

const SEGMENT = /^[0-9]{8}\.journal$/
const segmentName = (number: number): string => `${String(number).padStart(8, '0')}.journal`

/** Ends what a new segment begins with: a segment without it was torn before it was whole, and stands on the one before. */
export const SNAPSHOT_END = '{"t":"whole"}'

interface Queued {
  readonly text: string
  readonly waiter: Waiter | null
}

interface Waiter {
  /** `written`: the death of the process does not lose it any more; `synced`: nor does that of the machine. */
  readonly until: 'written' | 'synced'
  resolve (): void
  reject (error: unknown): void
}

export class JournalLog {
  readonly #options: LogOptions
  #file: LogFile | null = null
  #fileBytes = 0
  #syncedAtMs = -Infinity
  #nextNumber: number
  #queue: Queued[] = []
  #turning: Promise<void> | null = null
  #lazyTimer: NodeJS.Timeout | null = null

  private constructor (options: LogOptions, nextNumber: number) {
    this.#options = options
    this.#nextNumber = nextNumber
  }

  /** Nothing is written before the first line is. The folder must be there. */
  static open (options: LogOptions): JournalLog {
    const last = segmentsOf(options.folder).at(-1)
    return new JournalLog(options, last === undefined ? 1 : Number(last.slice(0, 8)) + 1)
  }

  /** On the disk some time later; after a fault it is tried again. */
  append (text: string): void {
    if (this.#queue.length >= LAZY_MAX) return
    this.#queue.push({ text, waiter: null })
    this.#lazyTimer ??= setTimeout(() => { void this.#turn() }, LAZY_MS).unref()
  }

  /** Resolves when the death of this process does not lose the line any more, or the disk has told of its own fault; then it is tried again. */
  write (text: string): Promise<void> {
    return new Promise(resolve => {
      this.#queue.push({ text, waiter: { until: 'written', resolve, reject: () => resolve() } })
      void this.#turn()
    })
  }

  /** Resolves when the line, and all that was added before it, is on the disk. @throws the error of the disk */
  commit (text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ text, waiter: { until: 'synced', resolve, reject } })
      void this.#turn()
    })
  }

  /** Writes what there is, as far as the disk lets it. */
  async close (): Promise<void> {
    await this.#turning
    await this.#turn()
    if (this.#lazyTimer !== null) clearTimeout(this.#lazyTimer)
    await this.#file?.close().catch(() => undefined)
    this.#file = null
  }

  #turn (): Promise<void> {
    this.#turning ??= this.#batches()
    return this.#turning
  }

  /** Batch after batch as long as somebody waits. Never throws. */
  async #batches (): Promise<void> {
    // Whoever asks in this turn of the event loop shares the first batch.
    await null
    if (this.#lazyTimer !== null) clearTimeout(this.#lazyTimer)
    this.#lazyTimer = null
    do await this.#batch()
    while (this.#queue.some(({ waiter }) => waiter !== null))
    // In the same breath: whoever asks from here on begins a turn of its own.
    this.#turning = null
    if (this.#queue.length > 0) this.#lazyTimer ??= setTimeout(() => { void this.#turn() }, LAZY_MS).unref()
  }

  async #batch (): Promise<void> {
    const batch = this.#queue
    this.#queue = []
    if (batch.length === 0) return
    const startedAtMs = performance.now()
    try {
      const file = await this.#segment()
      const bytes = Buffer.from(batch.map(({ text }) => lineOf(text)).join(''))
      await file.write(bytes)
      this.#fileBytes += bytes.length
      for (const { waiter } of batch) if (waiter?.until === 'written') waiter.resolve()
      if (batch.every(({ waiter }) => waiter?.until !== 'synced') && startedAtMs - this.#syncedAtMs < LAZY_SYNC_MS) return
      await file.sync()
      this.#syncedAtMs = performance.now()
    } catch (error) {
      await this.#file?.close().catch(() => undefined)
      this.#file = null
      this.#queue.unshift(...batch.flatMap(({ text, waiter }) => waiter?.until === 'synced' ? [] : [{ text, waiter: null }]))
      this.#options.onFault(error)
      for (const { waiter } of batch) waiter?.reject(error)
      return
    }
    this.#options.onSynced(batch.length, performance.now() - startedAtMs)
    for (const { waiter } of batch) waiter?.resolve()
  }

  /** The segment in use, or the next one. */
  async #segment (): Promise<LogFile> {
    const { folder, snapshot, segmentBytesMax = SEGMENT_BYTES_MAX, create = createFile } = this.#options
    if (this.#file !== null && this.#fileBytes < segmentBytesMax) return this.#file
    const file = await create(join(folder, segmentName(this.#nextNumber++)))
    try {
      const bytes = Buffer.from([...snapshot(), SNAPSHOT_END].map(lineOf).join(''))
      await file.write(bytes)
      await file.sync()
      await syncFolder(folder)
    } catch (error) {
      await file.close().catch(() => undefined)
      throw error
    }
    await this.#file?.close().catch(() => undefined)
    this.#file = file
    this.#fileBytes = 0
    this.#prune()
    return file
  }

  #prune (): void {
    const { folder, bytesMax = BYTES_MAX, ageMsMax = AGE_MS_MAX } = this.#options
    // The segment in use stays, whatever it holds.
    const older = segmentsOf(folder).slice(0, -1).reverse()
    let bytes = 0
    for (const name of older) {
      const { size, mtimeMs } = statSync(join(folder, name))
      bytes += size
      if (bytes > bytesMax || Date.now() - mtimeMs > ageMsMax) rmSync(join(folder, name))
    }
  }
}

/** Names of the segments, the oldest first. */
export const segmentsOf = (folder: string): readonly string[] => readdirSync(folder).filter(name => SEGMENT.test(name)).sort()

/** The whole lines of one segment. What was torn by a crash, or is not what was written, is passed over. */
export function readSegment (folder: string, name: string): readonly string[] {
  const lines: string[] = []
  for (const line of readFileSync(join(folder, name), 'utf8').split('\n')) {
    const text = line.slice(9)
    if (line[8] === ' ' && line.slice(0, 8) === checksumOf(text)) lines.push(text)
  }
  return lines
}

const checksumOf = (text: string): string => crc32(text).toString(16).padStart(8, '0')
const lineOf = (text: string): string => `${checksumOf(text)} ${text}\n`

/** Made for the owner alone. */
export function makeJournalFolder (path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
}

const [openAsync, writeAsync, syncAsync, closeAsync] = [promisify(openFile), promisify(write), promisify(fdatasync), promisify(close)]

async function createFile (path: string): Promise<LogFile> {
  const descriptor = await openAsync(path, 'wx', 0o600)
  return {
    async write (bytes) {
      for (let from = 0; from < bytes.length;) {
        const { bytesWritten } = await writeAsync(descriptor, bytes, from, bytes.length - from, null)
        if (bytesWritten === 0) throw new Error('nothing was written')
        from += bytesWritten
      }
    },
    sync: () => syncAsync(descriptor),
    close: () => closeAsync(descriptor),
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
