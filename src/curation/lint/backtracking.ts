// Whether an engine that backtracks needs more than linear time for a pattern. The broker's own engine does not backtrack, but what a contract shows
// is run by whoever reads it. Decided on the automaton of the pattern: a state that one text leads back to on two ways doubles the work with every
// round (exponential); two states that one text leads from, between and back to multiplies it by the length (polynomial).
import { meet, patternTree, type PatternTree, type Ranges } from './pattern-tree.ts'

/** null: linear, or not understood. */
export function backtracking (source: string): 'exponential' | 'polynomial' | null {
  const tree = patternTree(source)
  if (tree === null) return null
  const automaton = new Automaton()
  const start = automaton.state()
  automaton.build(tree, start)
  const steps = automaton.steps()
  if (steps.size > STATES_MAX) return null
  const search = new Search(steps)
  if (search.isExponential()) return 'exponential'
  return steps.size <= TRIPLES_MAX && search.isPolynomial() ? 'polynomial' : null
}

const STATES_MAX = 400
/** Steps that the whole search may take: what is still unknown then stays so. */
const STEPS_MAX = 2_000_000
const TRIPLES_MAX = 60
/** A longer repeat is taken for an endless one: to whoever waits it is. */
const UNROLLED_MAX = 4

interface Step { readonly ranges: Ranges, readonly to: number }

class Automaton {
  readonly #characters: Array<Array<Step>> = []
  readonly #empty: Array<Array<number>> = []

  state (): number {
    this.#characters.push([])
    this.#empty.push([])
    return this.#characters.length - 1
  }

  /** Adds what the tree takes behind a state; returns the state behind it. */
  build (tree: PatternTree, from: number): number {
    switch (tree.kind) {
      case 'set': {
        const to = this.state()
        this.#characters[from]!.push({ ranges: tree.ranges, to })
        return to
      }
      case 'sequence': return tree.parts.reduce((state, part) => this.build(part, state), from)
      case 'choice': {
        const to = this.state()
        for (const option of tree.options) this.#empty[this.build(option, this.#branch(from))]!.push(to)
        return to
      }
      case 'repeat': return this.#repeat(tree.part, tree.min, tree.max, from)
      default: return from
    }
  }

  #branch (from: number): number {
    const state = this.state()
    this.#empty[from]!.push(state)
    return state
  }

  #repeat (part: PatternTree, min: number, max: number, from: number): number {
    let state = from
    for (let times = 0; times < Math.min(min, UNROLLED_MAX); times++) state = this.build(part, state)
    if (max <= UNROLLED_MAX) {
      const end = this.state()
      this.#empty[state]!.push(end)
      for (let times = min; times < max; times++) {
        state = this.build(part, state)
        this.#empty[state]!.push(end)
      }
      return end
    }
    const round = this.#branch(state)
    this.#empty[this.build(part, round)]!.push(round)
    return this.#branch(round)
  }

  /** Character steps alone, by the states that they start from; empty steps are followed. */
  steps (): ReadonlyMap<number, readonly Step[]> {
    const sources = new Set([0, ...this.#characters.flatMap(steps => steps.map(({ to }) => to))])
    return new Map([...sources].map(source => [source, this.#closure(source).flatMap(state => this.#characters[state]!)]))
  }

  /** A state that is reached on two empty ways stands there twice: both are tried. No step is taken twice on one way. */
  #closure (source: number): readonly number[] {
    const reached: number[] = []
    const visit = (state: number, taken: readonly string[]): void => {
      if (reached.length > STATES_MAX) return
      reached.push(state)
      for (const [index, next] of this.#empty[state]!.entries()) {
        const step = `${state} ${index}`
        if (!taken.includes(step)) visit(next, [...taken, step])
      }
    }
    visit(source, [])
    return reached
  }
}

class Search {
  readonly #steps: ReadonlyMap<number, readonly Step[]>
  #left = STEPS_MAX

  constructor (steps: ReadonlyMap<number, readonly Step[]>) {
    this.#steps = steps
  }

  /** Some text leads from a state back to it on two ways: they part somewhere on the loop, and the state where they part is on it too. */
  isExponential (): boolean {
    for (const [pivot, here] of this.#steps) {
      for (const [index, one] of here.entries()) {
        for (const other of here.slice(index + 1)) {
          if (!meet(one.ranges, other.ranges)) continue
          if ((one.to === pivot && other.to === pivot) || this.#reaches([one.to, other.to], [pivot, pivot])) return true
        }
      }
    }
    return false
  }

  /** Some text leads from one state to itself, from it to another, and from that one to itself. */
  isPolynomial (): boolean {
    const states = [...this.#steps.keys()].filter(state => this.#steps.get(state)!.length > 0)
    return states.some(one => states.some(other => one !== other && this.#reaches([one, one, other], [one, other, other])))
  }

  /** Whether one text, of a character or more, leads each of the states to its goal. */
  #reaches (from: readonly number[], goals: readonly number[]): boolean {
    const seen = new Set<string>()
    const queue = [from]
    for (let at = 0; at < queue.length; at++) {
      for (const next of this.#together(queue[at]!)) {
        if (--this.#left < 0) return false
        if (next.every((state, index) => state === goals[index])) return true
        const key = next.join(' ')
        if (seen.has(key)) continue
        seen.add(key)
        queue.push(next)
      }
    }
    return false
  }

  /** Where the states can be after one character that all of them take. */
  * #together (states: readonly number[]): Generator<readonly number[]> {
    const [first = [], second = [], third] = states.map(state => this.#steps.get(state)!)
    for (const a of first) {
      for (const b of second) {
        if (!meet(a.ranges, b.ranges)) continue
        if (third === undefined) yield [a.to, b.to]
        else for (const c of third) if (meet(b.ranges, c.ranges) && meet(a.ranges, c.ranges)) yield [a.to, b.to, c.to]
      }
    }
  }
}
