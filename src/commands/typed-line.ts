// What a person types, one line of it. Nothing is read before it is asked for.
import { createInterface } from 'node:readline'

/** What is piped in was written by a program. */
export const isTypedByAPerson = (): boolean => process.stdin.isTTY === true

/** null: the input ended. Control characters are no part of what was typed. */
export async function typedLine (): Promise<string | null> {
  const lines = createInterface({ input: process.stdin, terminal: false })
  try {
    for await (const line of lines) return line.replace(/\r$/, '')
    return null
  } finally {
    lines.close()
    process.stdin.pause()
  }
}
