// HMAC-SHA256 (RFC 2104) made of one-shot hashes: `createHmac` sets up a context and a stream for each text, which costs three times what the hashing does,
// and every call has several names made.
import { hash } from 'node:crypto'

const BLOCK_BYTES = 64
const DIGEST_BYTES = 32
/** Longer texts get a buffer of their own. */
const ROOM_BYTES = 8_192

export class Hmac {
  /** The padded key, and behind it whatever was hashed last. */
  readonly #inner = Buffer.alloc(BLOCK_BYTES + ROOM_BYTES)
  readonly #outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES)

  /** @param key any length; as RFC 2104 §2 says, one that is longer than a block is hashed first */
  constructor (key: Buffer) {
    const block = key.length > BLOCK_BYTES ? hash('sha256', key, 'buffer') : key
    for (let at = 0; at < BLOCK_BYTES; at++) {
      const byte = at < block.length ? block[at]! : 0
      this.#inner[at] = byte ^ 0x36
      this.#outer[at] = byte ^ 0x5c
    }
  }

  /** @returns 64 hexadecimal digits */
  hex (text: string): string {
    // One digest a character: a string is had for less than a buffer.
    this.#outer.write(hash('sha256', this.#padded(text), 'binary'), BLOCK_BYTES, 'latin1')
    return hash('sha256', this.#outer, 'hex')
  }

  #padded (text: string): Buffer {
    // No UTF-16 unit takes more than three bytes of UTF-8.
    if (text.length * 3 <= ROOM_BYTES) return this.#inner.subarray(0, BLOCK_BYTES + this.#inner.write(text, BLOCK_BYTES))
    return Buffer.concat([this.#inner.subarray(0, BLOCK_BYTES), Buffer.from(text)])
  }
}
