// All operations of a document, each with what makes it hard to draw a bounded action from it.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Document } from '../../catalog/openapi/documents.ts'
import { DocumentFault } from '../../catalog/openapi/fault.ts'
import { draftSheet } from './draft.ts'

export interface Surveyed {
  readonly id: string | null
  readonly method: string
  readonly path: string
  /** What makes it hard, in a few words each; empty where nothing does. */
  readonly hard: readonly string[]
  /** Why it cannot be drafted at all, with its place in the document. */
  readonly fault: string | null
}

/** @param progress told now and then how many are done */
export async function surveyOperations (document: Document, progress: (done: number, all: number) => void): Promise<readonly Surveyed[]> {
  const entries = document.operations()
  const surveyed: Surveyed[] = []
  for (const entry of entries) {
    surveyed.push({ ...entry, ...judged(() => draftSheet({ document, entry, upstream: 'x', effect: null, extra: [], taken: new Set() }).hard) })
    if (surveyed.length % 50 !== 0 && surveyed.length < entries.length) continue
    progress(surveyed.length, entries.length)
    await nextTurn()
  }
  return surveyed
}

function judged (draft: () => readonly string[]): Pick<Surveyed, 'hard' | 'fault'> {
  try {
    return { hard: draft(), fault: null }
  } catch (error) {
    if (!(error instanceof DocumentFault)) throw error
    return { hard: [], fault: placed(error) }
  }
}

/** `file:line:column code message` */
export const placed = (fault: DocumentFault): string => `${fault.file}:${fault.line}:${fault.column} ${fault.code} ${fault.message}`
