import { type AdapterCase, test } from './adapter-case.js'
import { signed, signedOrder, signedOrderOf } from './case-deliveries.js'

const KIB = 1024
const DEFAULT_MAX_BYTES = KIB * KIB

/** Above the default limits of body parsers: 56 KiB, 100 kB; and a size that must not be a problem. */
const LARGE = [56 * KIB + 1, 100 * KIB + 1, 512 * KIB]

/** The characters that the bodies are made of. */
const LIMITED = {
  'size-limit: MUST enforce maxBodyBytes to the byte.': 'x',
  'size-bytes: MUST count bytes, not characters.': 'é',
}

/** The size of a body, and the limit on it. */
export const sizeCases: readonly AdapterCase[] = [
  test('size-small: MUST pass on a body of one byte, and an empty one.', async (runner) => {
    const endpoint = await runner.mount()
    await endpoint.expectAnswer('one byte, which is not an event', await signed('1'), 'unprocessable')
    await endpoint.expectAnswer('an empty body, which is signed', await signed(''), 'unprocessable')
  }),

  test('size-large: MUST pass on bodies that are larger than body parsers accept.', async (runner) => {
    const endpoint = await runner.mount()
    for (const bytes of LARGE)
      await endpoint.expectHandledWhole(`a body of ${bytes} bytes`, await signedOrderOf(bytes))
  }),

  test('size-largest: MUST pass on a body of 1 MiB, the default limit.', async (runner) => {
    const endpoint = await runner.mount()
    await endpoint.expectHandledWhole('a body of 1 MiB', await signedOrderOf(DEFAULT_MAX_BYTES))
  }),

  test('size-too-large: MUST refuse a body of more than 1 MiB, even if it is signed, and continue to serve.', async (runner) => {
    const endpoint = await runner.mount()
    await endpoint.expectAnswer(
      'a body of one byte more than 1 MiB',
      await signedOrderOf(DEFAULT_MAX_BYTES + 1),
      'too_large',
    )
    await endpoint.expectAnswer('an order after it', await signedOrder(), 'handled')
  }),

  ...Object.entries(LIMITED).map(([title, character]) =>
    test(title, async (runner) => {
      const maxBodyBytes = 1000
      const endpoint = await runner.mount({ maxBodyBytes })
      for (const bytes of [maxBodyBytes - 1, maxBodyBytes, maxBodyBytes + 1]) {
        const delivery = await signedOrderOf(bytes, character)
        const expected = bytes > maxBodyBytes ? 'too_large' : 'handled'
        await endpoint.expectAnswer(`a body of ${bytes} bytes, made of ${character}`, delivery, expected)
      }
    }),
  ),

  test('size-raised: SHOULD pass on what a raised maxBodyBytes allows, whatever limit the framework has.', async (runner) => {
    const endpoint = await runner.mount({ maxBodyBytes: 2 * DEFAULT_MAX_BYTES })
    await endpoint.expectHandledWhole('a body of 1.25 MiB', await signedOrderOf(1.25 * DEFAULT_MAX_BYTES))
  }),
]
