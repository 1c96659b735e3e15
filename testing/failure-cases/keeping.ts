import type { FailedDelivery } from '../../src/index.js'
import { failureOf } from './expected-failure.js'
import { at, deliveryMaker, encode, withoutOptional } from './failed-delivery.js'
import { defineCase, type FailureCase } from './failure-case.js'

/** Differs from the default of the cases in each field. */
const CHANGED: Partial<FailedDelivery> = {
  account: 'acct_2',
  kind: 'event.cancelled',
  eventId: 'evt_2',
  orderId: 'ord_2',
  rawBody: encode('{"type":"event.cancelled"}'),
  secretIndex: 1,
  code: 'retry_later',
  message: 'The handler asked for a later retry.',
  group: 'fedcba9876543210',
}

/** The failure of one key. */
export const keepingCases: readonly FailureCase[] = [
  defineCase('keep-new', 'MUST keep a delivery with all its fields, as one attempt.', async (runner) => {
    const failed = deliveryMaker(runner.namespace)('1')
    await runner.keep(failed, 'failing')
    await runner.get(failed.key, failureOf(failed))
  }),

  defineCase(
    'keep-absent',
    'MUST return no account, event id and order id if there are none, and an empty kind and message.',
    async (runner) => {
      const failed = withoutOptional(deliveryMaker(runner.namespace)('1', { kind: '', message: '' }))
      await runner.keep(failed, 'failing')
      await runner.get(failed.key, failureOf(failed))
    },
  ),

  defineCase('keep-again', 'MUST count a further attempt, and take the rest from it.', async (runner) => {
    const make = deliveryMaker(runner.namespace)
    await runner.keep(make('1'), 'failing')
    const again = make('1', { ...CHANGED, failedAt: at(5) })
    await runner.keep(again, 'failing')
    await runner.get(again.key, failureOf(again, { attempts: 2, firstAt: at(0) }))
    const third = withoutOptional(make('1', { failedAt: at(9) }))
    await runner.keep(third, 'failing')
    await runner.get(third.key, failureOf(third, { attempts: 3, firstAt: at(0) }))
  }),

  defineCase(
    'keep-dates',
    'MUST NOT move firstAt or lastAt back for an attempt that is kept late.',
    async (runner) => {
      const make = deliveryMaker(runner.namespace)
      await runner.keep(make('1', { failedAt: at(5) }), 'failing')
      const late = make('1', { ...CHANGED, failedAt: at(2) })
      await runner.keep(late, 'failing')
      await runner.get(late.key, failureOf(late, { attempts: 2, firstAt: at(5), lastAt: at(5) }))
    },
  ),

  defineCase(
    'keep-replays',
    'MUST count the replays, and return the date of the one kept last.',
    async (runner) => {
      const make = deliveryMaker(runner.namespace)
      const replay = make('1', { isReplay: true, failedAt: at(5) })
      await runner.keep(make('1'), 'failing')
      await runner.keep(replay, 'failing')
      const counted = { attempts: 2, replays: 1, firstAt: at(0), lastReplayedAt: at(5) }
      await runner.get(replay.key, failureOf(replay, counted))
      const delivery = make('1', { failedAt: at(7) })
      await runner.keep(delivery, 'failing')
      await runner.get(delivery.key, failureOf(delivery, { ...counted, attempts: 3 }))
      const second = make('1', { isReplay: true, failedAt: at(9) })
      await runner.keep(second, 'failing')
      const all = { attempts: 4, replays: 2, firstAt: at(0), lastReplayedAt: at(9) }
      await runner.get(second.key, failureOf(second, all))
      await runner.keep(make('1', { failedAt: at(12) }), 'failing')
      // Earlier than the delivery and the replay before it.
      const late = make('1', { isReplay: true, failedAt: at(8) })
      await runner.keep(late, 'failing')
      await runner.get(
        late.key,
        failureOf(late, { ...all, attempts: 6, replays: 3, lastAt: at(12), lastReplayedAt: at(8) }),
      )
    },
  ),

  defineCase('keep-replay-new', 'MUST count the replay of a failure that is gone.', async (runner) => {
    const replay = deliveryMaker(runner.namespace)('1', { isReplay: true })
    await runner.keep(replay, 'failing')
    await runner.get(replay.key, failureOf(replay, { replays: 1, lastReplayedAt: at(0) }))
  }),

  defineCase('delete', 'MUST delete one failure, and return whether there was one.', async (runner) => {
    const make = deliveryMaker(runner.namespace)
    const [one, other] = [make('1'), make('2')]
    await runner.get(one.key, undefined)
    await runner.delete(one.key, false)
    await runner.keep(one)
    await runner.keep(other)
    await runner.keep(one)
    await runner.delete(one.key, true)
    await runner.get(one.key, undefined)
    await runner.delete(one.key, false)
    await runner.get(other.key, failureOf(other))
    await runner.keep(one, 'failing')
    await runner.get(one.key, failureOf(one))
  }),

  defineCase(
    'keys',
    'MUST hold keys of 255 characters of printable ASCII apart, in case and in spaces.',
    async (runner) => {
      const make = deliveryMaker(runner.namespace)
      const ascii = String.fromCharCode(...Array.from({ length: 95 }, (_, index) => 32 + index))
      const long = 'k'.repeat(255 - runner.namespace.length - 2)
      const names = ['a', 'A', 'a ', ' a', 'a/a', ascii, `${long}1`, `${long}2`]
      const all = names.map((name, index) => make(name, { message: `Message ${index}` }))
      for (const failed of all) await runner.keep(failed, 'failing')
      for (const failed of all) await runner.get(failed.key, failureOf(failed))
    },
  ),
]

/** Whether the event waits for a replay. */
export const parkingCases: readonly FailureCase[] = [
  defineCase('park-attempts', 'MUST park an event that reaches the number of attempts.', async (runner) => {
    const make = deliveryMaker(runner.namespace)
    const failed = make('1', { parkAfter: { attempts: 3 } })
    await runner.keep(failed, 'failing')
    await runner.keep(failed, 'failing')
    await runner.keep({ ...failed, isReplay: true }, 'parked')
    await runner.get(
      failed.key,
      failureOf(failed, { state: 'parked', attempts: 3, replays: 1, lastReplayedAt: at(0) }),
    )
    await runner.keep(make('2', { parkAfter: { attempts: 1 } }), 'parked')
  }),

  defineCase(
    'park-time',
    'MUST park an event that fails so long after its first failure.',
    async (runner) => {
      const make = deliveryMaker(runner.namespace)
      const parkAfter = { ms: 60 * 60_000 }
      await runner.keep(make('1', { parkAfter }), 'failing')
      await runner.keep(make('1', { parkAfter, failedAt: at(60 - 1 / 60_000) }), 'failing')
      const last = make('1', { parkAfter, failedAt: at(60) })
      await runner.keep(last, 'parked')
      await runner.get(last.key, failureOf(last, { state: 'parked', attempts: 3, firstAt: at(0) }))
    },
  ),

  defineCase('park-both', 'MUST park by attempts or by time, whichever is first.', async (runner) => {
    const make = deliveryMaker(runner.namespace)
    const parkAfter = { attempts: 3, ms: 60 * 60_000 }
    await runner.keep(make('1', { parkAfter }), 'failing')
    await runner.keep(make('1', { parkAfter, failedAt: at(61) }), 'parked')
    for (const state of ['failing', 'failing', 'parked'] as const) {
      await runner.keep(make('2', { parkAfter }), state)
    }
  }),

  defineCase('park-never', 'MUST NOT park an event without a limit.', async (runner) => {
    const make = deliveryMaker(runner.namespace)
    for (const [name, parkAfter] of [
      ['1', undefined],
      ['2', {}],
    ] as const) {
      for (const minutes of [0, 600, 1200]) {
        const failed = make(name, { failedAt: at(minutes), ...(parkAfter && { parkAfter }) })
        await runner.keep(failed, 'failing')
      }
    }
  }),

  // A deploy changes `parkAfter` while events fail.
  defineCase(
    'park-limits',
    'MUST park by the limits that come with each attempt, whether lower or higher than before.',
    async (runner) => {
      const make = deliveryMaker(runner.namespace)
      for (let attempt = 1; attempt <= 5; attempt++) await runner.keep(make('1'), 'failing')
      // It is above this limit already.
      await runner.keep(make('1', { parkAfter: { attempts: 3 } }), 'parked')
      await runner.keep(make('2', { parkAfter: { attempts: 2 } }), 'failing')
      await runner.keep(make('2', { parkAfter: { attempts: 4 } }), 'failing')
      await runner.keep(make('2'), 'failing')
      await runner.keep(make('2', { parkAfter: { attempts: 5 } }), 'failing')
    },
  ),

  defineCase(
    'park-late',
    'MUST park by the time from firstAt to lastAt, also at an attempt that is kept late.',
    async (runner) => {
      const make = deliveryMaker(runner.namespace)
      await runner.keep(make('1'), 'failing')
      await runner.keep(make('1', { failedAt: at(61) }), 'failing')
      const late = make('1', { failedAt: at(5), parkAfter: { ms: 60 * 60_000 } })
      await runner.keep(late, 'parked')
      await runner.get(
        late.key,
        failureOf(late, { state: 'parked', attempts: 3, firstAt: at(0), lastAt: at(61) }),
      )
    },
  ),

  defineCase('park-stays', 'MUST keep what is parked so, whatever fails later.', async (runner) => {
    const make = deliveryMaker(runner.namespace)
    await runner.keep(make('1', { parkAfter: { attempts: 1 } }), 'parked')
    await runner.keep(make('1'), 'parked')
    await runner.keep(make('1', { parkAfter: { attempts: 9 } }), 'parked')
    const last = make('1', { failedAt: at(3), isReplay: true })
    await runner.keep(last, 'parked')
    await runner.get(
      last.key,
      failureOf(last, {
        state: 'parked',
        attempts: 4,
        replays: 1,
        firstAt: at(0),
        lastReplayedAt: at(3),
      }),
    )
    await runner.delete(last.key, true)
    await runner.keep(make('1'), 'failing')
  }),
]
