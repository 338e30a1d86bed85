// Which numbers in JSON are kept exactly by a double: those whose decimal digits come back unchanged when the double is printed in its shortest
// form, and of the whole ones only the safe integers. 2.0 is the integer 2 and 1e3 is 1000; 9007199254740993, 1e400, 0.1000000000000000055 and -0
// are not kept.

const NUMBER = /^-?(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** A text that is no number at all is left to whoever parses it: true. */
export function isExactNumber (lexeme: string): boolean {
  // Up to 15 characters of nothing but digits: the usual case.
  if (lexeme.length <= 15 && isDigits(lexeme)) return true
  if (!NUMBER.test(lexeme)) return true
  const value = Number(lexeme)
  if (!Number.isFinite(value) || Object.is(value, -0)) return false
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return false
  return significance(lexeme) === significance(String(value))
}

function isDigits (text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x30 || code > 0x39) return false
  }
  return true
}

/** Digits without zeros at either end, and the power of ten of the last one: equal for equal magnitudes. */
function significance (lexeme: string): string {
  const match = NUMBER.exec(lexeme)!
  const fraction = match[2] ?? ''
  const digits = match[1]! + fraction
  // Loops and not /0+$/, which is quadratic on zeros that are not at the end.
  let from = 0
  while (from < digits.length && digits.charCodeAt(from) === 0x30) from++
  let to = digits.length
  while (to > from && digits.charCodeAt(to - 1) === 0x30) to--
  if (from === to) return '0'
  return `${digits.slice(from, to)}e${Number(match[3] ?? 0) - fraction.length + (digits.length - to)}`
}
