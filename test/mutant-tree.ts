// A copy of the tree in which mutants are made, one after the other: a mutant never touches the code that it is made from.
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Edit } from './mutants-table.ts'

const ROOT = join(import.meta.dirname, '..')
const COPIED = ['src', 'test', 'actions', 'openapi', 'package.json', 'tsconfig.json']

export class Tree {
  readonly folder = mkdtempSync(join(tmpdir(), 'aval-mutants-'))

  constructor () {
    for (const name of COPIED) cpSync(join(ROOT, name), join(this.folder, name), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(this.folder, 'node_modules'))
  }

  /** What is done between the edits and their undoing. */
  async with<T> (edits: readonly Edit[], work: () => Promise<T>): Promise<T> {
    const before = new Map<string, string>()
    try {
      for (const { file, search, replacement } of edits) {
        const path = join(this.folder, file)
        const text = readFileSync(path, 'utf8')
        if (!before.has(path)) before.set(path, text)
        writeFileSync(path, text.replace(search, () => replacement))
      }
      return await work()
    } finally {
      for (const [path, text] of before) writeFileSync(path, text)
    }
  }

  remove (): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** The text to replace does not stand in the code exactly once. */
export const isStale = ({ file, search }: Edit): boolean => readFileSync(join(ROOT, file), 'utf8').split(search).length !== 2

/** Each job takes what is left, with a tree of its own. */
export async function inTrees<T> (all: readonly T[], atOnce: number, work: (tree: Tree, one: T) => Promise<void>): Promise<void> {
  const left = [...all]
  await Promise.all(Array.from({ length: Math.min(atOnce, all.length) }, async () => {
    const tree = new Tree()
    try {
      for (let one = left.shift(); one !== undefined; one = left.shift()) await work(tree, one)
    } finally {
      tree.remove()
    }
  }))
}
