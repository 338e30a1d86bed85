// The known word that a misspelt one was most likely meant to be.

/** null where nothing is near enough to be worth saying. */
export function nearest (word: string, known: Iterable<string>): string | null {
  let best: string | null = null
  // A third of the letters may be wrong: AVAL_AUDIANCE finds AVAL_AUDIENCE, AVAL_X finds nothing.
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1
  for (const candidate of known) {
    const distance = editDistance(word, candidate)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** How many letters to insert, delete, change, or swap with their neighbour. */
function editDistance (from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index)
  let beforePrevious: readonly number[] = []
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const change = previous[column - 1]! + (from[row - 1] === to[column - 1] ? 0 : 1)
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      current.push(Math.min(change, previous[column]! + 1, current[column - 1]! + 1, swapped ? beforePrevious[column - 2]! + 1 : Infinity))
    }
    beforePrevious = previous
    previous = current
  }
  return previous[to.length]!
}
