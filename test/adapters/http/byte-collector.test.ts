import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ByteCollector } from '../../../adapters/http/byte-collector.js'
import { heldBeyond, usedMemory } from '../../support/memory.js'

function collected(chunks: Iterable<Uint8Array>): ByteCollector {
  const collector = new ByteCollector(Number.POSITIVE_INFINITY)
  for (const chunk of chunks) collector.add(chunk)
  return collector
}

function* repeated(count: number, make: () => Uint8Array): Generator<Uint8Array> {
  for (let i = 0; i < count; i++) yield make()
}

const MIB = 1_048_576

describe('bytes in chunks', () => {
  // Sizes on both sides of each limit: few and many chunks, small and large ones, one block and several.
  const size = fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 400 }), fc.integer({ min: 4000, max: 4200 }))
  const cuts = fc.array(fc.tuple(size, fc.boolean()), { maxLength: 120 })

  test('are the same bytes, in memory of their own and of their length', () => {
    fc.assert(
      fc.property(cuts, (sizes) => {
        let next = 0
        const chunks = sizes.map(([length, isView]) => {
          const slab = new Uint8Array(length + (isView ? 100 : 0))
          return slab.subarray(0, length).map(() => next++)
        })
        const whole = collected(chunks).join()
        expect(whole.length).toBe(chunks.reduce((sum, { length }) => sum + length, 0))
        expect(Buffer.compare(whole, Buffer.concat(chunks))).toBe(0)
        expect(whole.buffer.byteLength).toBe(whole.length)
      }),
    )
  })

  test('are not copied if they came as one chunk with memory of its own', () => {
    const chunk = Uint8Array.of(1, 2, 3)
    expect(collected([chunk]).join()).toBe(chunk)
    expect(collected([Buffer.from('a view of the pool')]).join().buffer.byteLength).toBe(18)
  })

  test.each([
    ['a byte', () => new Uint8Array(1), MIB],
    ['100 bytes', () => new Uint8Array(100), MIB],
    ['4 KiB', () => new Uint8Array(4096), MIB],
    ['a byte of a slab of 64 KiB', () => new Uint8Array(65_536).subarray(7, 8), 1000],
    ['40 KB of a slab of 64 KiB', () => new Uint8Array(65_536).subarray(0, 40_000), MIB],
    ['4 KiB of a slab of 64 KiB', () => new Uint8Array(65_536).subarray(0, 4096), MIB],
  ])('of %s hold hardly more than their own size', { tags: ['slow'] }, async (_name, make, bytes) => {
    const before = usedMemory()
    const collector = collected(repeated(Math.floor(bytes / make().length), make))
    // 200 KB is what else the process may allocate meanwhile.
    const limit = 1.2 * bytes + 200_000
    expect(await heldBeyond(before, limit)).toBeLessThan(limit)
    expect(collector.join().length).toBe(collector.length)
  })

  test('can be let go of', { tags: ['slow'] }, async () => {
    const before = usedMemory()
    const collector = collected(repeated(16, () => new Uint8Array(MIB)))
    collector.clear()
    expect(await heldBeyond(before, MIB)).toBeLessThan(MIB)
    expect(collector.length).toBe(16 * MIB)
  })
})
