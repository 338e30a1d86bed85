// How long the longest text is that a pattern takes, in code points as maxLength counts them.
import { patternTree, type PatternTree } from './pattern-tree.ts'

const LENGTH_MAX = 10_000

/** null where there is none, where it is not held at both ends, or where the pattern is not understood. */
export function longestMatch (source: string): number | null {
  const tree = patternTree(source)
  if (tree === null || !isHeld(tree)) return null
  const length = lengthOf(tree)
  return length <= LENGTH_MAX ? length : null
}

function isHeld (tree: PatternTree): boolean {
  if (tree.kind === 'choice') return tree.options.every(isHeld)
  return tree.kind === 'sequence' && tree.parts[0]?.kind === 'start' && tree.parts.at(-1)?.kind === 'end'
}

function lengthOf (tree: PatternTree): number {
  switch (tree.kind) {
    case 'set': return 1
    case 'sequence': return tree.parts.reduce((sum, part) => sum + lengthOf(part), 0)
    case 'choice': return Math.max(...tree.options.map(lengthOf))
    case 'repeat': return tree.max === 0 ? 0 : lengthOf(tree.part) === 0 ? 0 : lengthOf(tree.part) * tree.max
    default: return 0
  }
}
