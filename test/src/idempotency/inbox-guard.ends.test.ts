import { answerTo, Discard, RetryLater, StoreError } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { BOOM, REFUSED } from '../../support/delivering.js'
import { SOON } from '../../support/retry-after.js'
import {
  failingWith,
  hangingAfterWork,
  type OnceScript,
  receivingWith,
  returning,
  saying,
  scriptedInbox,
} from '../../support/scripted-inbox.js'
import { advance, sleep, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

const DISCARD = new Discard('free')
const LATER = new RetryLater({ afterSeconds: 77 })

/** The ways a handler ends, and the error, if any, that its work rejects with. */
const HANDLERS = {
  returned: [() => {}, undefined],
  'thrown Discard': [() => Promise.reject(DISCARD), DISCARD],
  failed: [() => Promise.reject(BOOM), BOOM],
  'thrown RetryLater': [() => Promise.reject(LATER), LATER],
} as const satisfies Record<string, readonly [() => unknown, unknown]>

/** Does the work and passes on its result, as an inbox that does not know `Discard`. */
const rollingBack: OnceScript = (_, work) => work({})

/** The rejection of a status that nobody awaits would end the process; here it fails the run of the tests. */
const notAwaiting: OnceScript = async (_, work) => ({ status: work({}).then(() => 'handled') })

const HANDLED = { outcome: 'handled' }
const DUPLICATE = { outcome: 'duplicate' }
const IN_FLIGHT = { outcome: 'in_flight', code: 'in_flight', retryAfterSeconds: 5 }
const DISCARDED = { outcome: 'discarded', error: DISCARD }
const FAILED = { outcome: 'failed', code: 'handler_failed', error: BOOM }
const RETRY_LATER = { outcome: 'retry_later', code: 'retry_later', retryAfterSeconds: 77, error: LATER }
const UNAVAILABLE = {
  outcome: 'unavailable',
  code: 'store_unavailable',
  retryAfterSeconds: SOON,
  error: expect.objectContaining({ cause: REFUSED }),
}
const MISBEHAVED = {
  outcome: 'unavailable',
  code: 'store_misbehaved',
  retryAfterSeconds: SOON,
  error: expect.objectContaining({ code: 'store_misbehaved' }),
}

const UNCONFIRMED = { outcome: 'unavailable', code: 'store_unavailable', retryAfterSeconds: SOON }

const ENDS: readonly [
  handler: keyof typeof HANDLERS,
  inbox: string,
  once: OnceScript,
  outcome: { readonly outcome: string; readonly error?: unknown },
][] = [
  ['returned', 'says handled', saying('handled'), HANDLED],
  ['returned', 'says duplicate, as SQLite does at its commit', saying('duplicate'), DUPLICATE],
  ['returned', 'says in_flight', saying('in_flight'), IN_FLIGHT],
  ['returned', 'says discarded', saying('discarded'), MISBEHAVED],
  ['failed', 'says its status before its work has ended', notAwaiting, FAILED],
  ['returned', 'says a word outside the contract', returning({ status: 'Handled' }), MISBEHAVED],
  ['returned', 'fails at the commit', failingWith(REFUSED), UNAVAILABLE],
  ['thrown Discard', 'says discarded', saying('discarded'), DISCARDED],
  ['thrown Discard', 'says in_flight, as it may after the roll-back', saying('in_flight'), IN_FLIGHT],
  ['thrown Discard', 'says handled', saying('handled'), MISBEHAVED],
  [
    'thrown Discard',
    'passes on the Discard',
    rollingBack,
    { ...UNAVAILABLE, error: expect.objectContaining({ cause: DISCARD }) },
  ],
  ['failed', 'rolls back', rollingBack, FAILED],
  ['failed', 'fails to roll back', failingWith(REFUSED), FAILED],
  ['failed', 'says in_flight', saying('in_flight'), IN_FLIGHT],
  ['failed', 'says handled all the same', saying('handled'), { ...MISBEHAVED, error: { cause: BOOM } }],
  ['failed', 'says discarded', saying('discarded'), { ...MISBEHAVED, error: { cause: BOOM } }],
  ['thrown RetryLater', 'rolls back', rollingBack, RETRY_LATER],
  ['thrown RetryLater', 'says handled all the same', saying('handled'), MISBEHAVED],
]

describe('a transaction', () => {
  test.each(ENDS)(
    'whose handler has %s, and whose inbox %s, ends as is true',
    async (how, _, once, outcome) => {
      const [handler, error] = HANDLERS[how]
      const { inbox, ends } = scriptedInbox(once)
      const { send, records, reports } = receivingWith(inbox, { on: { 'order.created': handler } })
      const ended = await send(orderCreated())
      expect(ended).toMatchObject(outcome)
      expect(Object.keys(ended).sort()).toEqual(Object.keys(outcome).sort())
      expect(ends).toEqual([error === undefined ? 'resolved' : { rejected: error }])
      expect(records).toMatchObject([{ outcome: outcome.outcome, status: answerTo(ended).status }])
      const isFault = !['handled', 'duplicate', 'in_flight', 'discarded', 'retry_later'].includes(
        outcome.outcome,
      )
      expect(reports.map((report) => report.error)).toEqual(isFault ? [ended.error] : [])
    },
  )

  test.each<[string, object, unknown[]]>([
    ['handled', MISBEHAVED, [expect.objectContaining({ code: 'store_misbehaved' })]],
    ['discarded', MISBEHAVED, [expect.objectContaining({ code: 'store_misbehaved' })]],
    ['duplicate', DUPLICATE, []],
    ['in_flight', IN_FLIGHT, []],
  ])(
    'whose inbox says %s before the work is over: only an end is not believed, and aborts the handler',
    async (status, expected, faults) => {
      const signals: AbortSignal[] = []
      const { inbox } = scriptedInbox(async (_, work) => {
        void work({}).catch(() => {})
        return { status }
      })
      const handler = (_: unknown, { signal }: { signal: AbortSignal }) => {
        signals.push(signal)
        return sleep(1)
      }
      const { send, reports } = receivingWith(inbox, { on: { 'order.created': handler } })
      const outcome = send(orderCreated())
      await advance(1)
      expect(await outcome).toMatchObject(expected)
      expect(signals.map(({ aborted }) => aborted)).toEqual([faults.length > 0])
      expect(signals.filter(({ aborted }) => aborted).map(({ reason }) => reason)).toEqual(faults)
      expect(reports).toHaveLength(faults.length)
    },
  )

  test('whose handler failed with an error of the inbox is unavailable, and not the fault of the handler', async () => {
    const lost = new StoreError('store_unavailable', 'The connection was lost inside ctx.tx.')
    const { send, reports } = receivingWith(scriptedInbox(rollingBack).inbox, {
      on: { 'order.created': () => Promise.reject(lost) },
    })
    expect(await send(orderCreated())).toEqual({ ...UNAVAILABLE, error: lost })
    expect(reports.map(({ error }) => error)).toEqual([lost])
  })

  test.each([
    ['returned', UNCONFIRMED, ['store_unavailable']],
    ['thrown Discard', UNCONFIRMED, ['store_unavailable']],
    ['failed', FAILED, ['boom']],
    ['thrown RetryLater', RETRY_LATER, []],
  ] as const)(
    'whose handler has %s, and whose inbox hangs then, is waited for until the deadline, and for 30 s at most',
    async (how, expected, codes) => {
      for (const [timeoutSeconds, answeredAfter] of [
        [10, 10],
        [60, 30],
      ] as const) {
        const { inbox } = scriptedInbox(hangingAfterWork)
        const options = { timeoutSeconds, on: { 'order.created': HANDLERS[how][0] } }
        const { send, receiver, reports } = receivingWith(inbox, options)
        const seen = vi.fn()
        void send(orderCreated()).then(seen)
        await advance(answeredAfter - 0.001)
        expect(seen).not.toHaveBeenCalled()
        await advance(0.001)
        expect(seen).toHaveBeenCalledExactlyOnceWith(expect.objectContaining(expected))
        expect(reports.map(({ error }) => error.code ?? error.message)).toEqual(codes)
        const drained = receiver.drain()
        await advance(30 - answeredAfter)
        await drained
      }
    },
  )
})
