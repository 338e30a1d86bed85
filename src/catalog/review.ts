// The mark of what a person still has to judge. It stands in the text of a file, in a comment or in a value, and no file that holds one is loaded:
// what a draft proposes is in force only once somebody has looked at it.

/** Written by `aval import`, taken away by whoever has judged. */
export const REVIEW_MARK = 'TODO(review)'

/** In a file, from 1. */
export interface Position { readonly line: number, readonly column: number }

export interface ReviewMark {
  readonly at: Position
  readonly message: string
}

export function reviewMarks (text: string): readonly ReviewMark[] {
  if (!text.includes(REVIEW_MARK)) return []
  return text.split('\n').flatMap((line, index) => {
    const column = line.indexOf(REVIEW_MARK)
    if (column === -1) return []
    const question = line.slice(column + REVIEW_MARK.length).replace(/^[:\s]+/, '').trim()
    const message = `a person has to judge this and take the mark away${question === '' ? '' : `: ${question}`}`
    return [{ at: { line: index + 1, column: column + 1 }, message }]
  })
}
