import { type AdapterCase, defineCase } from './adapter-case.js'
import { signed, signedOrder, signedOrderOf } from './case-deliveries.js'

const KIB = 1024
const DEFAULT_MAX_BYTES = KIB * KIB

/** Above the default limits of body parsers: 56 KiB, 100 kB; and a size that must not be a problem. */
const LARGE = [56 * KIB + 1, 100 * KIB + 1, 512 * KIB]

/** The size of a body, and the limit on it. */
export const sizeCases: readonly AdapterCase[] = [
  defineCase('size-small', 'MUST pass on a body of one byte, and an empty one.', async ({ mount }) => {
    const endpoint = await mount()
    await endpoint.expectAnswer('one byte, which is not an event', await signed('1'), 'unprocessable')
    await endpoint.expectAnswer('an empty body, which is signed', await signed(''), 'unprocessable')
  }),

  defineCase(
    'size-large',
    'MUST pass on bodies that are larger than body parsers accept.',
    async ({ mount }) => {
      const endpoint = await mount()
      for (const bytes of LARGE)
        await endpoint.expectHandledWhole(`a body of ${bytes} bytes`, await signedOrderOf(bytes))
    },
  ),

  defineCase('size-largest', 'MUST pass on a body of 1 MiB, the default limit.', async ({ mount }) => {
    const endpoint = await mount()
    await endpoint.expectHandledWhole('a body of 1 MiB', await signedOrderOf(DEFAULT_MAX_BYTES))
  }),

  defineCase(
    'size-too-large',
    'MUST refuse a body of more than 1 MiB, even if it is signed, and continue to serve.',
    async ({ mount }) => {
      const endpoint = await mount()
      await endpoint.expectAnswer(
        'a body of one byte more than 1 MiB',
        await signedOrderOf(DEFAULT_MAX_BYTES + 1),
        'too_large',
      )
      await endpoint.expectAnswer('an order after it', await signedOrder(), 'handled')
    },
  ),

  limiting('size-limit', 'MUST enforce maxBodyBytes to the byte.', 'x'),
  limiting('size-bytes', 'MUST count bytes, not characters.', 'é'),

  defineCase(
    'size-raised',
    'SHOULD pass on what a raised maxBodyBytes allows, whatever limit the framework has.',
    async ({ mount }) => {
      const endpoint = await mount({ maxBodyBytes: 2 * DEFAULT_MAX_BYTES })
      await endpoint.expectHandledWhole('a body of 1.25 MiB', await signedOrderOf(1.25 * DEFAULT_MAX_BYTES))
    },
  ),
]

/** @param character of which the bodies are made */
function limiting(id: string, name: string, character: string): AdapterCase {
  return defineCase(id, name, async ({ mount }) => {
    const maxBodyBytes = 1000
    const endpoint = await mount({ maxBodyBytes })
    for (const [bytes, outcome] of [
      [maxBodyBytes - 1, 'handled'],
      [maxBodyBytes, 'handled'],
      [maxBodyBytes + 1, 'too_large'],
    ] as const) {
      const delivery = await signedOrderOf(bytes, character)
      await endpoint.expectAnswer(`a body of ${bytes} bytes, made of ${character}`, delivery, outcome)
    }
  })
}
