// How far a long command has come: one line on stderr that is written over, where that is a terminal; nothing anywhere else.
import type { Ask } from './command.ts'
import { escapeForTerminal } from '../telemetry/visible.ts'

const EVERY_MS = 100

export type Progress = (done: number, all: number, about: string) => void

export function progressOf (ask: Pick<Ask, 'env'>): Progress {
  if (process.stderr.isTTY !== true || ask.env['TERM'] === 'dumb') return () => {}
  let lastMs = 0
  return (done, all, about) => {
    const over = done >= all
    if (!over && performance.now() - lastMs < EVERY_MS) return
    lastMs = performance.now()
    process.stderr.write(`\r\x1b[K${over ? '' : `${done}/${all} ${escapeForTerminal(about)}`}`)
  }
}
