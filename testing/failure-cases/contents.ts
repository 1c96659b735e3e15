import type { FailedDelivery } from '../../src/index.js'
import { failureOf, isSameBytes } from './expected-failure.js'
import { deliveryMaker, encode } from './failed-delivery.js'
import { defineCase, type FailureCase } from './failure-case.js'

/** Each byte, in an order that has no valid UTF-8 in it, and NUL. */
function someBytes(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => 255 - ((index * 7 + (index >> 8)) % 256))
}

function bytesCase(id: string, which: string, rawBody: () => Uint8Array): FailureCase {
  return defineCase(id, `MUST keep ${which} unchanged.`, async (runner) => {
    const make = deliveryMaker(runner.namespace)
    await runner.keep(make('1'))
    const failed = make('1', { rawBody: rawBody() })
    await runner.keep(failed)
    await runner.get(failed.key, failureOf(failed, { attempts: 2 }))
    const [listed] = await runner.list({}, [failed.key])
    if (!isSameBytes(listed?.rawBody ?? encode('none'), failed.rawBody)) {
      runner.fail(`list: expected the ${failed.rawBody.length} bytes that were kept, but it returned others`)
    }
  })
}

const TEXTS = ['kind', 'eventId', 'orderId', 'account', 'message'] as const

/** The parts of a text around what a backend may replace. */
const partsOf = (text: string): string[] => text.split(/[\0\ud800-\udfff]/)

/** The contents, unchanged. */
export const contentCases: readonly FailureCase[] = [
  bytesCase('bytes-none', 'an empty body', () => new Uint8Array()),
  bytesCase('bytes-any', 'bytes that are no UTF-8, and NUL', () => someBytes(1_000)),
  bytesCase('bytes-large', 'a body of 1 MiB', () => someBytes(2 ** 20)),
  bytesCase('bytes-view', 'the bytes of a view into a larger buffer', () => someBytes(64).subarray(8, 24)),

  defineCase(
    'bytes-own',
    'MUST NOT change what is kept with a buffer of the caller, or one that was returned.',
    async (runner) => {
      const make = deliveryMaker(runner.namespace)
      const failed = make('1', { rawBody: someBytes(32) })
      const given = new Uint8Array(failed.rawBody)
      await runner.keep({ ...failed, rawBody: given })
      given.fill(0)
      await runner.get(failed.key, failureOf(failed))
      const found = await runner.found(failed.key)
      found.rawBody.fill(0)
      const [listed] = await runner.list({}, [failed.key])
      listed?.rawBody.fill(0)
      await runner.get(failed.key, failureOf(failed))
    },
  ),

  defineCase('text-any', 'MUST keep text of any language unchanged.', async (runner) => {
    const make = deliveryMaker(runner.namespace)
    const text = 'Größe, 東京, 🎟️, "quoted" \'s\\ %_ $1 :a ?\n\t'
    const failed = make('1', { kind: text, eventId: text, orderId: text, account: text, message: text })
    await runner.keep(failed)
    await runner.get(failed.key, failureOf(failed))
    for (const field of ['kind', 'eventId', 'orderId', 'account'] as const) {
      await runner.list({ [field]: text }, [failed.key])
    }
  }),

  defineCase(
    'text-long',
    'MUST keep a message of 1,000 characters, and other texts of 255, in any language.',
    async (runner) => {
      const make = deliveryMaker(runner.namespace)
      for (const letter of ['a', 'ß', '東']) {
        const short = letter.repeat(255)
        const failed = make(`${letter.codePointAt(0)}`, {
          kind: short,
          eventId: short,
          orderId: short,
          account: short,
          message: letter.repeat(1_000),
        })
        await runner.keep(failed)
        await runner.get(failed.key, failureOf(failed))
      }
    },
  ),

  defineCase(
    'text-odd',
    'MUST keep a delivery whose text has a NUL or half a surrogate pair, which may be replaced.',
    async (runner) => {
      const make = deliveryMaker(runner.namespace)
      for (const [name, odd] of [
        ['nul', '\0'],
        ['high', '\ud83c'],
        ['low', '\udf9f'],
      ] as const) {
        const text = `before ${odd} after`
        const texts = Object.fromEntries(TEXTS.map((field) => [field, text])) as Partial<FailedDelivery>
        const failed = make(name, { ...texts, rawBody: encode(text) })
        await runner.keep(failed, 'failing')
        const kept = await runner.found(failed.key)
        for (const field of TEXTS) {
          if (partsOf(text).every((part) => String(kept[field]).includes(part))) continue
          runner.fail(`expected the ${field} to have 'before ' and ' after', but it is '${kept[field]}'`)
        }
        await runner.get(failed.key, { ...failureOf(failed), ...textsOf(kept) })
        await runner.list({ eventId: text, kind: text, orderId: text, account: text }, [failed.key])
        await runner.delete(failed.key, true)
      }
    },
  ),
]

function textsOf(kept: Partial<FailedDelivery>): Partial<FailedDelivery> {
  return Object.fromEntries(TEXTS.map((field) => [field, kept[field]]))
}
