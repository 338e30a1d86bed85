// One file of the folder, read and parsed: plain data, and where in the text each part of it stands.
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { DocumentFault } from './fault.ts'
import type { DocumentFaultCode, Position } from './fault.ts'
import { readJson } from './json-pieces.ts'
import { offsetOf, positionAt } from './json-text.ts'
import { parsePointer } from './pointer.ts'
import { parseYamlAside } from './yaml-aside.ts'
import { parseYaml, yamlLocator } from './yaml-text.ts'
import type { YamlRead } from './yaml-text.ts'

const JSON_BYTES_MAX = 64 * 1024 * 1024
// Reading YAML costs about 0.5 s and 80 MB a megabyte; who has a larger document keeps it as JSON.
const YAML_BYTES_MAX = 8 * 1024 * 1024
const START: Position = { line: 1, column: 1 }

export interface Source {
  /** Relative to the folder, with forward slashes. */
  readonly file: string
  readonly root: unknown
  position (pointer: string): Position
}

export function faultAt (source: Source, pointer: string, code: DocumentFaultCode, message: string): DocumentFault {
  return new DocumentFault(code, message, source.file, pointer, source.position(pointer))
}

/** @throws DocumentFault where the file leaves the folder, is too large or is not UTF-8 */
function readText (folder: string, file: string): string {
  const fault = (code: DocumentFaultCode, message: string): DocumentFault => new DocumentFault(code, message, file, '', START)
  let bytes: Buffer
  try {
    const root = realpathSync(folder)
    const path = realpathSync(join(root, file))
    if (!path.startsWith(root.endsWith(sep) ? root : root + sep)) {
      throw fault('document-escapes-folder', 'The file is a link that leaves the folder of documents.')
    }
    const stats = statSync(path)
    if (!stats.isFile()) throw fault('document-unreadable', 'This is not a plain file.')
    if (stats.size > JSON_BYTES_MAX) throw fault('document-too-large', `The file has more than ${JSON_BYTES_MAX} bytes.`)
    bytes = readFileSync(path)
  } catch (error) {
    if (error instanceof DocumentFault) throw error
    throw fault('document-unreadable', `The file cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'}).`)
  }
  // No text of either kind holds a NUL; UTF-16 does.
  if (bytes.includes(0)) throw fault('encoding-invalid', 'The file is not UTF-8 text.')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw fault('encoding-invalid', 'The file is not UTF-8 text.')
  }
}

function jsonSource (file: string, text: string, data: unknown): Source {
  return { file, root: data, position: pointer => positionAt(text, offsetOf(text, parsePointer(pointer) ?? [])) }
}

/** Where JSON.parse stops reading it. */
function endOfJson (text: string): number {
  try {
    JSON.parse(text)
    return text.length
  } catch (error) {
    return Number(/at position (\d+)/.exec((error as Error).message)?.[1] ?? text.length)
  }
}

function * readYaml (file: string, text: string): Reading {
  if (text.length > YAML_BYTES_MAX) {
    const message = `YAML of more than ${YAML_BYTES_MAX} characters is not read; keep the document as JSON.`
    throw new DocumentFault('document-too-large', message, file, '', START)
  }
  const result = (yield text) ?? parseYaml(text)
  if ('complaint' in result) {
    throw new DocumentFault(result.complaint.code, result.complaint.message, file, '', result.complaint.position)
  }
  // The positions cost as much memory as the data tenfold, and are needed only where something is wrong: parsed again then.
  let locate: ((tokens: readonly string[]) => Position) | undefined
  return {
    file,
    root: result.data,
    position: pointer => {
      locate ??= yamlLocator(text)
      return locate(parsePointer(pointer) ?? [])
    },
  }
}

/** Yields nothing where others may have their turn, or a YAML text, which whoever runs it may have read elsewhere. */
type Reading = Generator<string | undefined, Source, YamlRead | undefined>

/** JSON where it looks like JSON, else YAML. @throws DocumentFault */
function * reading (folder: string, file: string): Reading {
  const text = readText(folder, file)
  yield
  if (/^\s*[{[]/.test(text)) {
    const json = yield * readJson(text)
    if (json.kind === 'read') {
      if (json.duplicate === null) return jsonSource(file, text, json.data)
      throw new DocumentFault('duplicate-key', 'An object names this key twice.', file, '', positionAt(text, json.duplicate.offset))
    }
    // Flow-style YAML starts like JSON too.
    if (file.endsWith('.json')) throw new DocumentFault('json-invalid', 'The file is not JSON.', file, '', positionAt(text, endOfJson(text)))
  }
  return yield * readYaml(file, text)
}

/** @throws DocumentFault */
export function readSource (folder: string, file: string): Source {
  const steps = reading(folder, file)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** The same in short steps, with `breathe` between them. @throws DocumentFault */
export async function readSourceInSteps (folder: string, file: string, breathe: () => Promise<void>): Promise<Source> {
  const steps = reading(folder, file)
  let yaml: YamlRead | undefined
  for (;;) {
    const step = steps.next(yaml)
    if (step.done === true) return step.value
    yaml = step.value === undefined ? undefined : await parseYamlAside(step.value)
    await breathe()
  }
}
