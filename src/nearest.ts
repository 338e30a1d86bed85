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

/** Levenshtein: how many letters to insert, delete or change. */
function editDistance (from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const change = previous[column - 1]! + (from[row - 1] === to[column - 1] ? 0 : 1)
      current.push(Math.min(change, previous[column]! + 1, current[column - 1]! + 1))
    }
    previous = current
  }
  return previous[to.length]!
}
