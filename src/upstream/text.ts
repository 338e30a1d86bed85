// Values as text, exactly: what cannot be written without changing it is refused, and the refusal never repeats it.
import type { Json } from '../catalog/catalog.ts'
import { Refusal } from '../errors.ts'

/** @param internal what it concerned, for operators only */
export function refuse (rule: string, message: string, internal: string): Refusal {
  return Refusal.of('INVALID_ARGUMENTS', { rule, message, internal })
}

/** Digits and a point, never an exponent. */
export function numberText (value: number, internal: string): string {
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    throw refuse('number', 'A number cannot be sent exactly.', internal)
  }
  // String(-0) is '0'; larger than a safe integer is never a fraction, so an exponent is always negative.
  const [, sign = '', whole = '', fraction = '', exponent] = /^(-?)(\d+)(?:\.(\d+))?(?:e-(\d+))?$/.exec(String(value)) ?? []
  return exponent === undefined ? String(value) : `${sign}0.${'0'.repeat(Number(exponent) - 1)}${whole}${fraction}`
}

export function wellFormed (text: string, internal: string): string {
  if (!text.isWellFormed()) throw refuse('text', 'A text is not well-formed Unicode.', internal)
  return text
}

/** A string, number or boolean as text. */
export function scalarText (value: Json, internal: string): string {
  switch (typeof value) {
    case 'string': return wellFormed(value, internal)
    case 'number': return numberText(value, internal)
    case 'boolean': return String(value)
    default:
      if (value === null) throw refuse('null', 'null cannot be sent in this place.', internal)
      throw refuse('type', 'A list or an object cannot be sent in this place.', internal)
  }
}

/** Whether a number in it would be written with an exponent. @throws Refusal for what JSON cannot carry exactly */
function inspect (value: Json, internal: string): boolean {
  if (typeof value === 'number') {
    numberText(value, internal)
    return String(value).includes('e')
  }
  if (typeof value === 'string') wellFormed(value, internal)
  if (typeof value !== 'object' || value === null) return false
  let exponents = false
  for (const [key, item] of Object.entries(value)) {
    wellFormed(key, internal)
    if (inspect(item, internal)) exponents = true
  }
  return exponents
}

const rawJson = (JSON as unknown as { rawJSON (text: string): unknown }).rawJSON

export function jsonText (value: Json, internal: string): string {
  if (!inspect(value, internal)) return JSON.stringify(value)
  return JSON.stringify(value, (_, item: unknown) => typeof item === 'number' ? rawJson(numberText(item, internal)) : item)
}

/** Bytes of a base64 text (RFC 4648 §4, padded, nothing left over), the only way for JSON to carry them. */
export function base64Bytes (value: Json, internal: string): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'base64') : undefined
  if (bytes === undefined || bytes.toString('base64') !== value) throw refuse('base64', 'Bytes must be given as padded base64.', internal)
  return bytes
}
