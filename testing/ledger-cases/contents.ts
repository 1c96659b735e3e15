import type { EventRecord, FailedDelivery } from '../../src/index.js'
import { PRINTABLE } from '../store-cases/keys.js'
import { encode } from '../store-cases/steps.js'
import { isSameBytes } from './differences.js'
import { type LedgerCase, type LedgerCaseRunner, test } from './ledger-case.js'

/** Each byte, in an order that has no valid UTF-8 in it, and NUL. */
function someBytes(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => 255 - ((index * 7 + (index >> 8)) % 256))
}

const TEXTS = ['kind', 'account', 'eventId', 'orderId'] as const

/** What is kept of a delivery, apart from its counts and dates. */
function keptOf(failed: FailedDelivery): object {
  const { namespace, account, kind, eventId, orderId, rawBody, signedAt, secretIndex } = failed
  const { code, message, group } = failed
  const failure = { code, message, group }
  return {
    namespace,
    account,
    kind,
    eventId,
    orderId,
    rawBody,
    size: rawBody.length,
    signedAt,
    secretIndex,
    failure,
  }
}

/** Keeps a delivery, and compares what `get` and `list` return of it. */
async function keepExactly(
  runner: LedgerCaseRunner,
  name: string,
  given: Parameters<LedgerCaseRunner['delivery']>[1],
): Promise<EventRecord> {
  const failed = await runner.keep(name, given)
  const found = await runner.get(name)
  runner.compare('get', { ...found, receivedAt: undefined }, keptOf(failed))
  const [listed] = await runner.call('list with bodies', ({ ledger }) =>
    ledger.list({ namespace: runner.namespace, bodies: true }),
  )
  if (!isSameBytes(listed?.rawBody ?? encode('none'), failed.rawBody)) {
    runner.fail(`list: expected the ${failed.rawBody.length} bytes that were kept, but it returned others`)
  }
  return found
}

const BODIES: Readonly<Record<string, () => Uint8Array>> = {
  'bytes-none: MUST keep an empty body unchanged.': () => new Uint8Array(),
  'bytes-any: MUST keep bytes that are no UTF-8, and NUL unchanged.': () => someBytes(1_000),
  'bytes-large: MUST keep a body of 1 MiB unchanged.': () => someBytes(2 ** 20),
  'bytes-view: MUST keep the bytes of a view into a larger buffer unchanged.': () =>
    someBytes(64).subarray(8, 24),
}

/** The parts of a text around what a backend may replace. */
const partsOf = (text: string): string[] => text.split(/[\0\ud800-\udfff]/)

/** The contents, unchanged. */
export const contentCases: readonly LedgerCase[] = [
  ...Object.entries(BODIES).map(([title, rawBody]) =>
    test(title, async (runner) => {
      await runner.keep('1')
      await keepExactly(runner, '1', { rawBody: rawBody() })
    }),
  ),

  test('bytes-own: MUST NOT change what is kept with a buffer of the caller, or one that was returned.', async (runner) => {
    const rawBody = someBytes(32)
    await runner.keep('1', { rawBody })
    rawBody.fill(0)
    for (let round = 0; round < 2; round++) {
      const found = await runner.get('1')
      runner.compare('get', found.rawBody && { rawBody: found.rawBody }, { rawBody: someBytes(32) })
      found.rawBody?.fill(0)
    }
  }),

  test('text-none: MUST return no account, event id and order id if there are none, and an empty kind and message.', async (runner) => {
    const none = { account: undefined, eventId: undefined, orderId: undefined, kind: '', message: '' }
    await keepExactly(runner, '1', none)
    const { account, eventId, orderId } = await runner.get('1')
    runner.compare('get', { account, eventId, orderId, receivedAt: 0 }, { receivedAt: 0 })
  }),

  test('text-any: MUST keep text of any language unchanged.', async (runner) => {
    const text = 'Größe, 東京, 🎟️, "quoted" \'s\\ %_ $1 :a ?\n\t'
    await keepExactly(runner, '1', { kind: text, eventId: text, orderId: text, account: text, message: text })
    for (const field of TEXTS) await runner.list({ [field]: text }, ['1'])
    await runner.call('discard', ({ ledger }) => ledger.discard(`${runner.namespace}/1`, { reason: text }))
    runner.compare('get', { reason: (await runner.get('1')).reason }, { reason: text })
  }),

  test('text-long: MUST keep a message of 1,000 characters, and other texts of 255, in any language.', async (runner) => {
    for (const letter of ['a', 'ß', '東']) {
      const short = letter.repeat(255)
      const texts = { kind: short, eventId: short, orderId: short, account: short }
      await keepExactly(runner, `${letter.codePointAt(0)}`, { ...texts, message: letter.repeat(1_000) })
      await runner.call('forget', (store) => store.forget(`${runner.namespace}/${letter.codePointAt(0)}`))
    }
  }),

  test('text-odd: MUST keep a delivery whose text has a NUL or half a surrogate pair, which may be replaced.', async (runner) => {
    for (const [index, odd] of ['\0', '\ud83c', '\udf9f'].entries()) {
      const text = `before ${odd} after`
      const texts = { kind: text, eventId: text, orderId: text, account: text, message: text }
      await runner.keep(`${index}`, { ...texts, rawBody: encode(text) })
      const { failure, ...found } = await runner.get(`${index}`)
      for (const field of [...TEXTS, 'message'] as const) {
        const kept = field === 'message' ? failure?.message : found[field]
        if (partsOf(text).every((part) => String(kept).includes(part))) continue
        runner.fail(`expected the ${field} to have 'before ' and ' after', but it is '${kept}'`)
      }
      await runner.list({ kind: text, eventId: text, orderId: text, account: text }, [`${index}`])
      await runner.call('forget', (store) => store.forget(`${runner.namespace}/${index}`))
    }
  }),

  test('keys: MUST hold keys of 255 characters of printable ASCII apart, in case and in spaces.', async (runner) => {
    const long = 'k'.repeat(255 - runner.namespace.length - 2)
    const names = ['a', 'A', 'a ', ' a', 'a/a', PRINTABLE.join(''), `${long}1`, `${long}2`]
    for (const name of names) await runner.keep(name, { message: name })
    for (const name of names) {
      const { key, failure } = await runner.get(name)
      const expected = { key: `${runner.namespace}/${name}`, count: 1, message: name }
      runner.compare('get', { ...failure, key }, expected)
    }
  }),
]
