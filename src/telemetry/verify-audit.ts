// Verifies an audit folder offline: every row of every chain, the checkpoints, what later writers stated about earlier ones, and that each write that
// was about to leave has an end. Reads only.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readChain, type ChainEnd } from './audit-chain-reader.ts'
import { AttemptsSeen } from './audit-attempts.ts'
import { checkpointsName } from './audit-chain.ts'
import { CHECKPOINT_PUBLIC_FILE, publicKeyId, readNotes, type Checkpoint, type ReadNote } from './audit-checkpoint.ts'
import type { ReadRow, Sealed } from './audit-row.ts'
import { listWriters, type Segments } from './audit-seal.ts'

export type AuditFindingKind =
  /** A row is not what was written. */
  | 'broken'
  /** Rows are missing in the middle. */
  | 'gap'
  /** Rows are missing at the end: a checkpoint or a later writer has seen more. */
  | 'truncated'
  /** The last line is half a row and no later writer has stated it: the process died a moment ago, or somebody cut. */
  | 'torn'
  /** Neither closed nor stated by a writer that came after. */
  | 'unsealed'
  /** All of a chain is gone. */
  | 'missing_writer'
  | 'no_checkpoint' | 'bad_checkpoint' | 'unknown_key'
  | 'intent_without_result' | 'result_twice'

export interface AuditFinding {
  readonly kind: AuditFindingKind
  readonly writer: string | null
  /** The first seq that is concerned. */
  readonly seq: number | null
  readonly file: string | null
  readonly attemptId: string | null
  readonly message: string
}

export interface AuditReport {
  readonly writers: ReadonlyArray<{
    readonly writer: string
    readonly rows: number
    readonly state: 'closed' | 'recovered' | 'open'
    readonly firstTime: string | null
    readonly lastTime: string | null
    /** Rows up to this one cannot have been cut off or changed, if the key is right. */
    readonly checkpointedSeq: number
  }>
  readonly rows: number
  readonly findings: readonly AuditFinding[]
  /** `folder`: the public key came from the audited folder itself, so whoever can write there can sign. */
  readonly trust: 'key' | 'folder'
}

export interface VerifyOptions {
  /** PEM of the public key, kept elsewhere. */
  readonly publicKeyFile?: string
  /** Checkpoints kept elsewhere: the only proof against a folder that was rolled back whole. */
  readonly checkpointsFile?: string
}

/** There is nothing to verify, or it cannot be read. */
export class AuditUnreadable extends Error {
  override readonly name = 'AuditUnreadable'
}

/** @throws AuditUnreadable */
export async function verifyAudit (folder: string, options: VerifyOptions = {}): Promise<AuditReport> {
  const publicKeyPem = await read(options.publicKeyFile ?? join(folder, CHECKPOINT_PUBLIC_FILE), 'the public key')
  const writers = await listWriters(folder).catch(error => { throw unreadable(`the folder ${folder}`, error) })
  if (writers.length === 0) throw new AuditUnreadable(`the folder ${folder} holds no audit`)
  const verification = new Verification(folder, publicKeyPem)
  for (const writer of writers) await verification.chain(writer)
  if (options.checkpointsFile !== undefined) verification.kept(await read(options.checkpointsFile, 'the checkpoints file'), options.checkpointsFile)
  await verification.statements()
  verification.attempts()
  return verification.report(options.publicKeyFile === undefined ? 'folder' : 'key')
}

async function read (path: string, what: string): Promise<string> {
  return readFile(path, 'utf8').catch(error => { throw unreadable(`${what} ${path}`, error) })
}

function unreadable (what: string, error: unknown): AuditUnreadable {
  return new AuditUnreadable(`${what} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`)
}

interface Verified {
  readonly writer: string
  readonly end: ChainEnd
  checkpointedSeq: number
  /** Its own file holds a checkpoint, good or not. */
  readonly signed: boolean
  /** By the writers that came after. */
  readonly stated: Array<{ readonly sealed: Sealed, readonly by: string }>
}

class Verification {
  readonly #folder: string
  readonly #publicKeyPem: string
  readonly #keyId: string
  readonly #findings: AuditFinding[] = []
  readonly #chains = new Map<string, Verified>()
  readonly #statements: Array<{ readonly sealed: Sealed, readonly by: string }> = []
  readonly #attempts = new AttemptsSeen()

  constructor (folder: string, publicKeyPem: string) {
    this.#folder = folder
    this.#publicKeyPem = publicKeyPem
    try {
      this.#keyId = publicKeyId(publicKeyPem)
    } catch {
      throw new AuditUnreadable('the public key is no Ed25519 key in PEM')
    }
  }

  async chain (of: Segments): Promise<void> {
    const { writer } = of
    const text = of.hasCheckpoints ? await readFile(join(this.#folder, checkpointsName(writer)), 'utf8') : ''
    const checkpoints = this.#checkpoints(text, checkpointsName(writer), writer)
    const wanted = new Map(checkpoints.map(({ size, head }) => [size, head]))
    const end = await readChain(this.#folder, of, row => this.#row(row, wanted))
    this.#chains.set(writer, { writer, end, checkpointedSeq: 0, signed: text !== '', stated: [] })
    if (end.fault !== null) this.#find(end.fault.kind, writer, end.fault.seq, end.fault.file, end.fault.message)
    this.#compare(checkpoints)
  }

  /** Checkpoints from elsewhere, about any writer. */
  kept (text: string, file: string): void {
    this.#compare(this.#checkpoints(text, file, null))
  }

  /** What writers stated about each other, and what they ought to have. */
  async statements (): Promise<void> {
    for (const { sealed, by } of this.#statements) {
      const chain = this.#chains.get(sealed.writer)
      if (chain === undefined) this.#find('missing_writer', sealed.writer, 1, null, `the chain that ${by} found at its start is gone`)
      else await this.#stated(chain, sealed, by)
    }
    for (const chain of this.#chains.values()) this.#ending(chain)
  }

  attempts (): void {
    for (const { attemptId, writer, seq, last } of this.#attempts.open()) {
      const message = `attempt ${attemptId} was about to leave and has no end; it was last seen ${last}`
      this.#find('intent_without_result', writer, seq, null, message, attemptId)
    }
    for (const { attemptId, writer, seq } of this.#attempts.twice()) {
      this.#find('result_twice', writer, seq, null, `attempt ${attemptId} has more than one end`, attemptId)
    }
  }

  report (trust: AuditReport['trust']): AuditReport {
    const writers = [...this.#chains.values()].map(({ writer, end, checkpointedSeq, stated }) => ({
      writer, rows: end.rows, state: end.closed ? 'closed' as const : stated.length > 0 ? 'recovered' as const : 'open' as const,
      firstTime: end.firstTime, lastTime: end.lastTime, checkpointedSeq,
    }))
    return { writers, rows: writers.reduce((sum, { rows }) => sum + rows, 0), findings: this.#findings, trust }
  }

  #row (row: ReadRow, wanted: Map<number, string>): string | null {
    const head = wanted.get(row.seq)
    if (head !== undefined && head !== row.hash) return 'is not the row that a checkpoint was made of'
    if (row.event === 'audit.opened' && row.key_ids?.sig !== this.#keyId) {
      this.#find('unknown_key', row.writer, row.seq, null, `the chain was opened with the key ${row.key_ids?.sig ?? 'none'}`)
    }
    if (row.sealed !== undefined) this.#statements.push({ sealed: row.sealed, by: row.writer })
    this.#attempts.row(row)
    return null
  }

  /** @param writer null: of whomever they are */
  #checkpoints (text: string, file: string, writer: string | null): readonly Checkpoint[] {
    const { notes, torn } = readNotes(text, this.#publicKeyPem)
    if (torn) this.#find('bad_checkpoint', writer, null, file, 'ends in the middle of a checkpoint')
    const good: Checkpoint[] = []
    for (const note of notes) {
      const fault = faultOf(note, writer, good.at(-1) ?? null)
      if (fault === null && note.kind === 'good') good.push(note.checkpoint)
      else if (fault !== null) this.#find(fault.kind, writer, null, file, fault.message)
    }
    return good
  }

  #compare (checkpoints: readonly Checkpoint[]): void {
    for (const { writer, size } of checkpoints) {
      const chain = this.#chains.get(writer)
      if (chain === undefined) this.#find('missing_writer', writer, 1, null, `the chain that a checkpoint of ${size} rows was made of is gone`)
      else if (size <= chain.end.rows) chain.checkpointedSeq = Math.max(chain.checkpointedSeq, size)
      else if (chain.end.fault === null) {
        this.#find('truncated', writer, chain.end.rows + 1, null, `a checkpoint has seen ${size} rows, and ${chain.end.rows} are there`)
      }
    }
  }

  async #stated (chain: Verified, sealed: Sealed, by: string): Promise<void> {
    const { end, writer } = chain
    chain.stated.push({ sealed, by })
    if (end.fault !== null) return
    if (sealed.seq > end.rows) {
      this.#find('truncated', writer, end.rows + 1, null, `${by} found ${sealed.seq} rows at its start, and ${end.rows} are there`)
    } else if (sealed.seq > 0) {
      const head = sealed.seq === end.rows ? end.head : await end.hashAt(sealed.seq)
      if (head !== sealed.head) this.#find('broken', writer, sealed.seq, null, `is not the row that ${by} found at its start`)
    }
  }

  #ending ({ writer, end, stated, signed }: Verified): void {
    // A process that died before its first one has none; whoever came after has stated what it left.
    if (!signed && stated.length === 0) this.#find('no_checkpoint', writer, 1, checkpointsName(writer), 'holds no checkpoint')
    if (end.torn !== null) {
      const { bytes, file, segment, offset } = end.torn
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      const isSame = (sealed: Sealed): boolean =>
        sealed.segment === segment && sealed.bytes === offset && sealed.torn_bytes === bytes.length && sealed.torn_sha256 === sha256
      if (!stated.some(({ sealed }) => isSame(sealed))) {
        this.#find('torn', writer, end.rows + 1, file, `ends in ${bytes.length} bytes that are no row, and no later writer has stated them`)
      }
    }
    const { lastTime } = end
    if (end.closed || end.fault !== null || lastTime === null) return
    const followed = [...this.#chains.values()].some(other => other.writer !== writer && (other.end.firstTime ?? '') > lastTime)
    if (followed && !stated.some(({ sealed }) => sealed.seq === end.rows)) {
      this.#find('unsealed', writer, end.rows + 1, null, 'is neither closed nor stated by the writer that came after: rows may have been cut off')
    }
  }

  #find (
    kind: AuditFindingKind, writer: string | null, seq: number | null, file: string | null, message: string, attemptId: string | null = null,
  ): void {
    this.#findings.push({ kind, writer, seq, file, attemptId, message })
  }
}

interface NoteFault {
  readonly kind: 'bad_checkpoint' | 'unknown_key'
  readonly message: string
}

function faultOf (note: ReadNote, writer: string | null, before: Checkpoint | null): NoteFault | null {
  if (note.kind === 'bad') return { kind: 'bad_checkpoint', message: `a checkpoint ${note.reason}` }
  if (note.kind === 'unknown_key') return { kind: 'unknown_key', message: `a checkpoint is signed by the key ${note.keyId}` }
  if (writer === null) return null
  if (note.checkpoint.writer !== writer) return { kind: 'bad_checkpoint', message: 'a checkpoint is of another writer' }
  return before !== null && note.checkpoint.size <= before.size ? { kind: 'bad_checkpoint', message: 'the checkpoints are out of order' } : null
}
