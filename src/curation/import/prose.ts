// The words of a document as plain text. Whoever wrote them is not trusted: nothing of them ends a line, a comment or a quotation.
import { REVIEW_MARK } from '../../catalog/review.ts'

/** Without markup, on one line, cut at a word. */
export function oneLine (text: string, max: number): string {
  const plain = text
    .slice(0, 20_000)
    .replace(/<[^<>]{0,500}>/g, ' ')
    .replace(/!?\[([^[\]]{0,500})\]\([^()]{0,1000}\)/g, '$1')
    .replace(/[*_`#]{2,}|`/g, '')
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029\s]+/gu, ' ')
    .toWellFormed()
    .replaceAll(REVIEW_MARK, 'TODO (review)')
    .trim()
  if (plain.length <= max) return plain
  const cut = plain.slice(0, max)
  const end = Math.max(cut.lastIndexOf('. ') + 1, cut.lastIndexOf(' ', max - 1))
  return `${cut.slice(0, end > max / 2 ? end : max).trimEnd().toWellFormed()}${cut.charAt(end - 1) === '.' ? '' : '…'}`
}
