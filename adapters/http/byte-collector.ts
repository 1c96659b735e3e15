import { checkChunk, checkLength } from '../../src/internal.js'

/** The number of chunks that are kept uncopied. An ordinary body has no more, and is copied once or not at all. */
const FEW = 32

/** A chunk of at least this size is kept uncopied: the object around it costs little beside its bytes. */
const LARGE_BYTES = 4096

const MAX_BLOCK_BYTES = 65_536

const EMPTY = new Uint8Array()

/**
 * Collects the chunks of a body. The sender decides how many there are, and each is an object of some 200 bytes: if there are many, the
 * small ones are copied into blocks, so that a body of n bytes holds hardly more than n bytes, and 2 n while it is put together.
 */
export class ByteCollector {
  readonly #parts: Uint8Array[] = []
  #length = 0
  /** Chunks are copied into this block; those from `#start` to `#end` are not yet in `#parts`. */
  #block = EMPTY
  #start = 0
  #end = 0

  constructor(private readonly maxBytes: number) {}

  /** How many bytes were added. */
  get length(): number {
    return this.#length
  }

  /** Adds a chunk, whose memory must not be written to later; throws unless it is bytes, and within the limit. */
  add(chunk: unknown): void {
    checkChunk(chunk)
    checkLength(this.#length + chunk.length, this.maxBytes)
    this.#length += chunk.length
    const isKept = this.#parts.length < FEW || chunk.length >= LARGE_BYTES
    if (!isKept || isView(chunk)) {
      this.#pack(chunk)
    } else if (chunk.length > 0) {
      this.#closeBlock()
      this.#parts.push(chunk)
    }
  }

  /** All bytes, in memory of exactly their length. */
  join(): Uint8Array {
    this.#closeBlock()
    const [first = EMPTY] = this.#parts
    // Its memory is its own: the first block is as large as its first chunk.
    if (first.length === this.#length) return first
    const whole = new Uint8Array(this.#length)
    let offset = 0
    for (const part of this.#parts) {
      whole.set(part, offset)
      offset += part.length
    }
    return whole
  }

  /** Lets go of all bytes: the listeners of a stream outlive the reading of it. */
  clear(): void {
    this.#parts.length = 0
    this.#block = EMPTY
    this.#start = 0
    this.#end = 0
  }

  #pack(chunk: Uint8Array): void {
    const room = this.#block.length - this.#end
    if (chunk.length > room) {
      this.#append(chunk.subarray(0, room))
      this.#openBlock(chunk.length - room)
      this.#append(chunk.subarray(room))
    } else {
      this.#append(chunk)
    }
  }

  #append(bytes: Uint8Array): void {
    this.#block.set(bytes, this.#end)
    this.#end += bytes.length
  }

  /** Blocks grow with the body. Its declared length is not believed: a stranger could have 1 MiB set aside by one header. */
  #openBlock(bytes: number): void {
    this.#closeBlock()
    this.#block = new Uint8Array(Math.max(bytes, Math.min(this.#length, MAX_BLOCK_BYTES)))
    this.#start = 0
    this.#end = 0
  }

  #closeBlock(): void {
    if (this.#end > this.#start) this.#parts.push(this.#block.subarray(this.#start, this.#end))
    this.#start = this.#end
  }
}

/**
 * Whether a chunk would keep more memory than its bytes, such as 64 KiB of a connection's other frames for a single byte; and show it to
 * a handler that takes its `buffer`.
 */
function isView(chunk: Uint8Array): boolean {
  return chunk.byteLength !== chunk.buffer.byteLength
}
