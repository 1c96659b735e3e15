import type { InboxCaseRunner, Receiving } from './case-runner.js'
import { writing } from './ends.js'
import { caseNeeding, defineCase, type InboxCase } from './inbox-case.js'

const MINUTE_MS = 60_000
/** The longest retention that a receiver has. */
const CENTURY_MS = 100 * 365 * 24 * 60 * MINUTE_MS
/** After a namespace of 36 characters. */
const LONG = '/'.repeat(218)
const PRINTABLE = Array.from({ length: 95 }, (_, index) => String.fromCharCode(0x20 + index))

const keepApart =
  (...keys: readonly string[]) =>
  async (runner: InboxCaseRunner, inbox: Receiving): Promise<void> => {
    for (const [index, key] of keys.entries()) await inbox.deliver(key, writing(`${index}`), 'handled')
    for (const key of keys) await inbox.deliver(key, runner.mustNotRun, 'duplicate')
    await runner.expectEffects(...keys.map((_, index) => `${index}`))
  }

/** The records of events. */
export const recordCases: readonly InboxCase[] = [
  defineCase(
    'key-long',
    'MUST keep keys of 255 characters apart that differ in the last one.',
    keepApart(LONG, `${LONG}1`, `${LONG}2`),
  ),

  defineCase(
    'key-case',
    'MUST keep keys apart that differ in upper and lower case.',
    keepApart('/order', '/Order', '/ORDER'),
  ),

  defineCase(
    'key-spaces',
    'MUST keep keys apart that differ in the spaces after them.',
    keepApart('', ' ', '  '),
  ),

  defineCase(
    'key-ascii',
    'MUST keep keys apart that differ in any character of printable ASCII.',
    keepApart(...PRINTABLE.map((one) => `${one}x`), PRINTABLE.join('')),
  ),

  defineCase('retained-long', 'MUST accept a retention of 100 years.', async (runner, inbox) => {
    await inbox.deliver('1', writing('a'), 'handled', CENTURY_MS)
    await inbox.deliver('1', runner.mustNotRun, 'duplicate', CENTURY_MS)
  }),

  caseNeeding(
    'advance',
    'retained',
    'MUST keep each record for its own retention.',
    async (runner, inbox, advance) => {
      await inbox.deliver('long', writing('long'), 'handled', CENTURY_MS)
      await inbox.deliver('short', writing('short'), 'handled', 2 * MINUTE_MS)
      await advance(MINUTE_MS)
      await inbox.deliver('short', runner.mustNotRun, 'duplicate', 2 * MINUTE_MS)
      await advance(CENTURY_MS / 2)
      await inbox.deliver('long', runner.mustNotRun, 'duplicate', CENTURY_MS)
      // A record that is over may still be there.
      await inbox.deliver('short', writing('again'), ['handled', 'duplicate'], 2 * MINUTE_MS)
      await advance(MINUTE_MS)
      await inbox.deliver('short', runner.mustNotRun, 'duplicate')
    },
  ),
]
