import { PRINTABLE } from '../store-cases/keys.js'
import { writing } from './ends.js'
import { type InboxCase, test } from './inbox-case.js'

const MINUTE_MS = 60_000
/** The longest retention that a receiver has. */
const CENTURY_MS = 100 * 365 * 24 * 60 * MINUTE_MS
/** After a namespace of 36 characters. */
const LONG = '/'.repeat(218)

const KEYS: Readonly<Record<string, readonly string[]>> = {
  'key-long: MUST keep keys apart that differ in the last of 255 characters.': [LONG, `${LONG}1`, `${LONG}2`],
  'key-case: MUST keep keys apart that differ in upper and lower case.': ['/order', '/Order', '/ORDER'],
  'key-spaces: MUST keep keys apart that differ in the spaces after them.': ['', ' ', '  '],
  'key-ascii: MUST keep keys apart that differ in any character of printable ASCII.': [
    ...PRINTABLE.map((one) => `${one}x`),
    PRINTABLE.join(''),
  ],
}

/** The records of events, and the optional members. */
export const recordCases: readonly InboxCase[] = [
  ...Object.entries(KEYS).map(([title, keys]) =>
    test(title, async (runner) => {
      for (const [index, key] of keys.entries()) await runner.deliver(key, writing(`${index}`), 'handled')
      for (const key of keys) await runner.deliver(key, runner.mustNotRun, 'duplicate')
      await runner.expectEffects(...keys.map((_, index) => `${index}`))
    }),
  ),

  test('retained-long: MUST accept a retention of 100 years.', async (runner) => {
    await runner.deliver('1', writing('a'), 'handled', { retainMs: CENTURY_MS })
    await runner.deliver('1', runner.mustNotRun, 'duplicate', { retainMs: CENTURY_MS })
  }),

  test('retained [advance]: MUST keep each record for its own retention.', async (runner) => {
    await runner.deliver('long', writing('long'), 'handled', { retainMs: CENTURY_MS })
    await runner.deliver('short', writing('short'), 'handled', { retainMs: 2 * MINUTE_MS })
    await runner.harness.advance(MINUTE_MS)
    await runner.deliver('short', runner.mustNotRun, 'duplicate', { retainMs: 2 * MINUTE_MS })
    await runner.harness.advance(CENTURY_MS / 2)
    await runner.deliver('long', runner.mustNotRun, 'duplicate', { retainMs: CENTURY_MS })
    // A record that is over may still be there.
    await runner.deliver('short', writing('again'), ['handled', 'duplicate'], { retainMs: 2 * MINUTE_MS })
    await runner.harness.advance(MINUTE_MS)
    await runner.deliver('short', runner.mustNotRun, 'duplicate')
  }),

  test('check: MUST resolve check() while the database can be used, if it has one.', async (runner) => {
    try {
      await runner.inbox.check?.()
    } catch (error) {
      runner.fail(`check() was rejected: ${String(error)}`)
    }
  }),

  test('connections: MUST report the size of its pool, if it reports one.', async (runner) => {
    for (const connections of [1, 3]) {
      const { inbox } = await runner.open(connections)
      const max = inbox.connections?.max
      if (inbox.connections === undefined || max === connections) continue
      runner.fail(
        `expected connections.max to be ${connections}, as create() was asked for, but it is ${String(max)}`,
      )
    }
  }),
]
