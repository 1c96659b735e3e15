import type { Delivery, WebhookOptions } from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../../../support/deliveries.js'
import { begin } from '../../../support/delivering.js'
import { deferred, never } from '../../../support/promises.js'
import { receiving } from '../../../support/receiving.js'
import { schemaOf } from '../../../support/schema-of.js'
import { receivingWith, scriptedInbox } from '../../../support/scripted-inbox.js'
import { jump } from '../../../support/time-jumps.js'
import { advance, sleep, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

const handled = { on: { 'order.created': () => {} } }

describe('whatever a delivery waits for,', () => {
  interface Wait {
    readonly options?: Partial<WebhookOptions>
    readonly body?: (bytes: Uint8Array) => Promise<Uint8Array>
    readonly outcome: string
  }

  type Step = readonly [what: string, wait: (takes: () => Promise<void>) => Wait]

  /** Steps that take this many seconds and then have this result. */
  const BEFORE_HANDLER: readonly Step[] = [
    ['its body', (takes) => ({ body: (bytes) => takes().then(() => bytes), outcome: 'incomplete' })],
    [
      'the secret function',
      (takes) => ({ options: { secret: () => takes().then(() => SECRET) }, outcome: 'timed_out' }),
    ],
    [
      'a schema',
      (takes) => ({
        options: { schemas: { 'order.created': schemaOf((value) => takes().then(() => ({ value }))) } },
        outcome: 'timed_out',
      }),
    ],
  ]

  const STEPS: readonly Step[] = [
    ...BEFORE_HANDLER,
    ['its handler', (takes) => ({ options: { on: { 'order.created': takes } }, outcome: 'timed_out' })],
  ]

  async function send(wait: Wait) {
    const received = receiving({ ...handled, ...wait.options })
    const { header, body } = await sign(orderCreated())
    const read: Delivery['body'] =
      wait.body === undefined
        ? body
        : Object.assign(() => (wait.body as NonNullable<Wait['body']>)(body), { cancel: () => {} })
    const seen: { outcome?: string } = {}
    const answer = received.receiver.receive({ header, body: read, request: null }).then((outcome) => {
      seen.outcome = outcome.outcome
    })
    return { ...received, answer, seen }
  }

  test.each(STEPS)(
    '%s, it is answered at the deadline though the clock of the machine is set',
    async (_, wait) => {
      for (const to of [Date.now() + 86_400_000, 0]) {
        const { outcome, ...step } = wait(() => never())
        const { seen, receiver } = await send({ ...step, outcome })
        await advance(5)
        vi.setSystemTime(to)
        await advance(4.999)
        expect(seen).toEqual({})
        await advance(0.001)
        expect(seen).toEqual({ outcome })
        vi.setSystemTime(Date.UTC(2026, 4, 17))
        await advance(290)
        await receiver.drain()
      }
    },
  )
})

describe('where the event loop is blocked', () => {
  test('by the handler, past the deadline, the delivery is answered at once, and no timer is set to below 0', async () => {
    const set = vi.spyOn(globalThis, 'setTimeout')
    const handler = () => {
      jump(100)
      return never()
    }
    const options = { timeoutSeconds: 10, maxRunSeconds: 300, leaseSeconds: 60 }
    const { answered, codes } = await begin({}, { ...options, on: { 'order.created': handler } })
    await advance(0.001)
    expect(answered()).toMatchObject({ code: 'timed_out' })
    expect(set.mock.calls.map(([, ms]) => ms).filter((ms = 0) => !(ms >= 0))).toEqual([])
    set.mockRestore()
    expect(codes()).toEqual(['timed_out'])
    await advance(200)
    expect(codes()).toEqual(['timed_out', 'given_up'])
  })

  test.each([
    ['the deadline comes first', { timeoutSeconds: 10, maxRunSeconds: 20 }, ['timed_out', 'given_up']],
    [
      'the deadline comes first, of two at one time',
      { timeoutSeconds: 10, maxRunSeconds: 10 },
      ['timed_out', 'given_up'],
    ],
    [
      'the end of the run comes first, and is the end',
      { timeoutSeconds: 20, maxRunSeconds: 10 },
      ['given_up'],
    ],
  ])('past both limits of a delivery, %s', async (_, limits, expected) => {
    const handler = () => {
      const { promise } = deferred()
      setTimeout(() => jump(100), 1)
      return promise
    }
    const { answered, codes, receiver } = await begin({}, { ...limits, on: { 'order.created': handler } })
    await advance(0.001)
    await advance(20)
    expect(answered()).toMatchObject({ code: expected[0] })
    expect(codes().sort()).toEqual([...expected].sort())
    await receiver.drain()
  })

  test('for less than half a millisecond, no alarm is early by a whole one', async () => {
    const handler = () => {
      jump(0.000_4)
      return never()
    }
    const { answered } = await begin(
      {},
      { timeoutSeconds: 10, maxRunSeconds: 20, on: { 'order.created': handler } },
    )
    await advance(9.999)
    expect(answered()).toBeUndefined()
    await advance(0.001)
    expect(answered()).toMatchObject({ code: 'timed_out' })
    await advance(11)
  })
})

test('a timer that fires a moment before the clock says so is believed: no handler is started any more', async () => {
  const handler = vi.fn()
  const { inbox, ends } = scriptedInbox(async (_, work) => {
    // Set after the timer of the deadline, for the same time.
    await sleep(0.001)
    await sleep(9.999)
    return work({})
  })
  const { send } = receivingWith(inbox, { on: { 'order.created': handler } })
  const outcome = send(orderCreated())
  await advance(0)
  // Timers count whole milliseconds, and the clock fractions of them.
  jump(-0.0003)
  await advance(10)
  expect(await outcome).toMatchObject({ outcome: 'unavailable', code: 'store_unavailable' })
  expect(handler).not.toHaveBeenCalled()
  expect(ends).toEqual([{ rejected: expect.objectContaining({ code: 'store_unavailable' }) }])
})
