// "Did you mean …": the one name of a few that a misspelt one is nearest to.

/** The nearest of `names` within a third of its length, or null. */
export function nearest (name: string, names: Iterable<string>): string | null {
  let best: string | null = null
  let bestDistance = Math.max(1, Math.floor(name.length / 3)) + 1
  for (const candidate of names) {
    if (candidate === name || Math.abs(candidate.length - name.length) >= bestDistance) continue
    const distance = distanceBetween(name.toLowerCase(), candidate.toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** `; did you mean "x"?`, or nothing. */
export function suggestion (name: string, names: Iterable<string>): string {
  const near = nearest(name, names)
  return near === null ? '' : `; did you mean "${near}"?`
}

/** Edits, with a swap of neighbours as one (optimal string alignment). */
function distanceBetween (one: string, other: string): number {
  let before: number[] = []
  let above = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 1; row <= one.length; row++) {
    const current = [row]
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1]
      let cost = Math.min(above[column]! + 1, current[column - 1]! + 1, above[column - 1]! + (same ? 0 : 1))
      const swapped = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      if (swapped) cost = Math.min(cost, before[column - 2]! + 1)
      current.push(cost)
    }
    before = above
    above = current
  }
  return above[other.length]!
}
