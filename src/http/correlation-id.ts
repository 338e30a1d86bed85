// The name under which an operator finds a request: 128 random bits, made here and never taken from the client.
import { randomFillSync } from 'node:crypto'

const BYTES = 16
// Random bytes are taken in lots: asking for them one id at a time was 3 % of a call.
const lot = Buffer.alloc(BYTES * 256)
let taken = lot.length

export function newCorrelationId (): string {
  if (taken === lot.length) {
    randomFillSync(lot)
    taken = 0
  }
  taken += BYTES
  return `cor_${lot.toString('hex', taken - BYTES, taken)}`
}
